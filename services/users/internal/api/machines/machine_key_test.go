package machines_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/testworld"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

var forever = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// keyFile is the content of a key file.
type keyFile struct {
	Type, KeyID, Key, UserID string
	ExpirationDate           time.Time
}

func keyFileOf(t testing.TB, details []byte) (f keyFile) {
	t.Helper()
	if err := json.Unmarshal(details, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func getKey(ctx context.Context, w *testworld.World, userID, keyID string) (*heraldv1.Key, error) {
	r, err := w.Gateway.GetMachineKey(ctx, &usersv1.GetMachineKeyRequest{UserId: userID, KeyId: keyID})
	return r.GetKey(), err
}

// storedKey returns the stored public key in PEM.
func storedKey(w *testworld.World, id string) []byte {
	w.Helper()
	var der []byte
	w.Must(nil, w.Service.DB.QueryRow(w.Context(), "select public_key from machine_keys where id = $1", id).
		Scan(&der))
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func TestMachineKeys(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Machine(w.Admin, "ci")
	before := w.User(id)
	made, err := w.Gateway.AddMachineKey(w.Admin, &usersv1.AddMachineKeyRequest{
		UserId: id, Type: heraldv1.KeyType_KEY_TYPE_JSON,
	})
	if err != nil {
		t.Fatal(err)
	}
	f := keyFileOf(t, made.KeyDetails)
	if !strings.HasPrefix(f.Key, "-----BEGIN RSA PRIVATE KEY-----\n") {
		t.Error("no private key in the file")
	}
	f.Key = ""
	if f != (keyFile{Type: "serviceaccount", KeyID: made.KeyId, UserID: id, ExpirationDate: forever}) {
		t.Errorf("%+v", f)
	}
	got, err := getKey(w.Admin, w, id, made.KeyId)
	if err != nil || made.Details.CreationDate == nil || made.Details.ResourceOwner != w.OrgID {
		t.Errorf("%v, %v", made, err)
	}
	testkit.Equal(t, got, &heraldv1.Key{
		Id: made.KeyId, Details: made.Details, Type: heraldv1.KeyType_KEY_TYPE_JSON,
		ExpirationDate: timestamppb.New(forever),
	})
	// A new key does not change the user.
	testkit.Equal(t, w.User(id), before)
}

// The file for a key of the caller's own pair has no private key. Lists and the history have the newest key first.
func TestOwnMachineKeys(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Machine(w.Admin, "ci")
	made, err := w.AddKey(w.Admin, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour).Add(123456789).UTC()
	own, err := w.Gateway.AddMachineKey(w.Admin, &usersv1.AddMachineKeyRequest{UserId: id,
		PublicKey: testworld.PublicKey, ExpirationDate: timestamppb.New(until)})
	if err != nil {
		t.Fatal(err)
	}
	if f := keyFileOf(t, own.KeyDetails); strings.Contains(string(own.KeyDetails), `"key"`) ||
		f.KeyID != own.KeyId || !f.ExpirationDate.Equal(until.Truncate(time.Microsecond)) {
		t.Errorf("%+v", f)
	}
	if string(storedKey(w, own.KeyId)) != string(testworld.PublicKey) {
		t.Error("another key is kept than that of the caller's own")
	}
	list, err := w.Gateway.SearchMachineKeys(w.Admin, &usersv1.SearchMachineKeysRequest{UserId: id})
	if err != nil {
		t.Fatal(err)
	}
	key := func(id string, details *heraldv1.ObjectDetails, expiry time.Time) *heraldv1.Key {
		return &heraldv1.Key{Id: id, Details: details, Type: heraldv1.KeyType_KEY_TYPE_JSON,
			ExpirationDate: timestamppb.New(expiry)}
	}
	testkit.Equal(t, list, &usersv1.SearchMachineKeysResponse{
		Result: []*heraldv1.Key{
			key(own.KeyId, own.Details, until.Truncate(time.Microsecond)), key(made.KeyId, made.Details, forever),
		},
		Details: &heraldv1.ListDetails{TotalResult: 2, ProcessedSequence: own.Details.Sequence,
			ViewTimestamp: list.Details.ViewTimestamp},
	})
	list, err = w.Gateway.SearchMachineKeys(w.Admin, &usersv1.SearchMachineKeysRequest{
		UserId: id, Query: &heraldv1.ListQuery{Asc: true, Offset: 1, Limit: 5},
	})
	if err != nil || len(list.Result) != 1 || list.Result[0].Id != own.KeyId || list.Details.TotalResult != 2 {
		t.Errorf("%v, %v", list, err)
	}
	history, err := w.Gateway.SearchUserChanges(w.Admin, &usersv1.SearchUserChangesRequest{UserId: id})
	added := "machine_key.added by " + w.AdminID
	if want := []string{added, added, "machine.created by " + w.AdminID}; err != nil ||
		!slices.Equal(testworld.EventTypes(history), want) ||
		history.Result[0].ObjectId != own.KeyId {
		t.Errorf("%v, %v", history, err)
	}
}

// OpenSSL verifies a signature by the key file with the stored public key, and with no other.
func TestMachineKeySigns(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Machine(w.Admin, "ci")
	made, err := w.AddKey(w.Admin, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := keyFileOf(t, made.KeyDetails)
	block, rest := pem.Decode([]byte(f.Key))
	if block == nil || len(rest) > 0 {
		t.Fatal("the key is not in PEM")
	}
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil || private.N.BitLen() != 2048 {
		t.Fatalf("not 2048 bits: %v", err)
	}
	jwt := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":"RS256","kid":%q}`, f.KeyID)) + "." +
		base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"iss":%q,"sub":%q}`, f.UserID, f.UserID))
	digest := sha256.Sum256([]byte(jwt))
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	stored := storedKey(w, made.KeyId)
	if out, ok := verified(t, stored, jwt, signature); !ok {
		t.Errorf("OpenSSL does not verify what the key file signs: %s", out)
	}
	if _, ok := verified(t, stored, jwt+"x", signature); ok {
		t.Error("OpenSSL verifies another text")
	}
	if other, err := w.AddKey(w.Admin, id, nil); err != nil {
		t.Error(err)
	} else if _, ok := verified(t, storedKey(w, other.KeyId), jwt, signature); ok {
		t.Error("another key verifies it too")
	}
}

// verified reports whether OpenSSL accepts a signature (RS256) as the key's.
func verified(t *testing.T, publicKey []byte, text string, signature []byte) (out string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string][]byte{"key.pem": publicKey, "text": []byte(text), "sig": signature} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "openssl", "dgst", "-sha256", "-verify", "key.pem", "-signature", "sig",
		"text")
	c.Dir = dir
	output, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatalf("openssl: %v", err)
	}
	if ok = strings.Contains(string(output), "Verified OK"); ok != (err == nil) ||
		!ok && !strings.Contains(string(output), "Verification failure") {
		t.Fatalf("openssl: %v: %s", err, output)
	}
	return string(output), ok
}

// An expired key can be read until it is removed, which succeeds once.
func TestRemoveMachineKey(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Machine(w.Admin, "ci")
	own, err := w.Gateway.AddMachineKey(w.Admin, &usersv1.AddMachineKeyRequest{UserId: id,
		PublicKey: testworld.PublicKey, ExpirationDate: timestamppb.New(w.Ground.Now().Add(time.Hour))})
	if err != nil {
		t.Fatal(err)
	}
	w.Advance(2 * time.Hour)
	w.SignIn()
	w.Must(getKey(w.Admin, w, id, own.KeyId))
	testkit.Once(t, 20, func(int) error {
		details, err := w.RemoveKey(w.Admin, id, own.KeyId)
		if err == nil && (details.Sequence <= own.Details.Sequence || details.CreationDate != nil) {
			t.Errorf("%v", details)
		}
		return err
	}, "MACHINE_KEY_NOT_FOUND")
	_, err = getKey(w.Admin, w, id, own.KeyId)
	testkit.Refused(t, err, "MACHINE_KEY_NOT_FOUND")
	if w.Rows("events where aggregate = 'machine_key' and name = 'removed' and aggregate_id = $1", own.KeyId) != 1 {
		t.Error("the removal is not one event")
	}
}

func TestMachineKeysRefused(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, other := w.Machine(w.Admin, "ci"), w.Machine(w.Admin, "cd")
	asleep, person := w.Machine(w.Admin, "asleep"), w.Person(w.Admin, "mini")
	kept, err := w.AddKey(w.Admin, asleep, testworld.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	w.Must(w.Moves()["deactivated"](w.Admin, asleep))
	before := w.Rows("events")
	for label, c := range map[string]struct {
		request *usersv1.AddMachineKeyRequest
		id      string
		path    string
	}{
		"past": {&usersv1.AddMachineKeyRequest{ExpirationDate: timestamppb.New(time.Now().Add(-time.Second))},
			"EXPIRATION_DATE_PAST", "expirationDate"},
		"no time": {&usersv1.AddMachineKeyRequest{ExpirationDate: &timestamppb.Timestamp{Seconds: 1 << 60}},
			"INVALID_ARGUMENT", "expirationDate"},
		"no key": {&usersv1.AddMachineKeyRequest{PublicKey: []byte("x")}, "PUBLIC_KEY_INVALID", "publicKey"},
		"long key": {&usersv1.AddMachineKeyRequest{PublicKey: make([]byte, 16385)},
			"INVALID_ARGUMENT", "publicKey"},
		"unknown type": {&usersv1.AddMachineKeyRequest{Type: 2}, "INVALID_ARGUMENT", "type"},
	} {
		t.Run(label, func(t *testing.T) {
			c.request.UserId = id
			_, err := w.Gateway.AddMachineKey(w.Admin, c.request)
			testkit.Refused(t, err, c.id, c.path)
			if f := fault.From(err); f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Path != c.path {
				t.Errorf("%+v", f)
			}
		})
	}
	for _, key := range [][]byte{nil, testworld.PublicKey} {
		for userID, want := range map[string]string{
			person: "USER_NOT_MACHINE", asleep: "USER_NOT_ACTIVE", "nobody": "USER_NOT_FOUND",
		} {
			_, err := w.AddKey(w.Admin, userID, key)
			testkit.Refused(t, err, want)
		}
	}
	if w.Rows("events") != before || w.Rows("machine_keys") != 1 {
		t.Error("something was written")
	}

	// A key is found only with its user's id, whatever the user's state.
	for _, userID := range []string{other, person, "nobody"} {
		_, err = getKey(w.Admin, w, userID, kept.KeyId)
		testkit.Refused(t, err, "MACHINE_KEY_NOT_FOUND")
		_, err = w.RemoveKey(w.Admin, userID, kept.KeyId)
		testkit.Refused(t, err, "MACHINE_KEY_NOT_FOUND")
	}
	_, err = w.Gateway.SearchMachineKeys(w.Admin, &usersv1.SearchMachineKeysRequest{UserId: "nobody"})
	testkit.Refused(t, err, "USER_NOT_FOUND")
	_, err = w.Gateway.SearchMachineKeys(w.Admin, &usersv1.SearchMachineKeysRequest{
		UserId: id, Query: &heraldv1.ListQuery{Limit: 1001},
	})
	testkit.Refused(t, err, "LIMIT_EXCEEDED", "1000")
	_, err = getKey(w.Admin, w, asleep, kept.KeyId)
	if err == nil {
		_, err = w.RemoveKey(w.Admin, asleep, kept.KeyId)
	}
	if err != nil {
		t.Error(err)
	}
}

// After a deactivation and reactivation a machine still has its keys and its secret. A removed
// machine's keys are removed.
func TestMachineKeepsItsKeysUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Machine(w.Admin, "ci")
	key, err := w.AddKey(w.Admin, id, testworld.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	set, err := w.SetSecret(w.Admin, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, move := range []string{"deactivated", "reactivated", "locked", "unlocked"} {
		w.Must(w.Moves()[move](w.Admin, id))
	}
	if _, err := getKey(w.Admin, w, id, key.KeyId); err != nil || secretRows(w, id, set.ClientSecret) != 1 {
		t.Errorf("after all moves: %v", err)
	}
	w.Must(w.Moves()["removed"](w.Admin, id))
	_, err = getKey(w.Admin, w, id, key.KeyId)
	testkit.Refused(t, err, "MACHINE_KEY_NOT_FOUND")
	if w.Rows("machine_keys") != 0 || w.Rows(`events e join events c on c.id = e.data->>'cause'
		where c.name = 'removed' and c.aggregate = 'user' and e.name = 'removed' and e.aggregate = 'machine_key'
			and e.aggregate_id = $1 and e.history_id = $2`, key.KeyId, id) != 1 {
		t.Error("the key did not go along")
	}
}

// Of many keys that are added at once each is stored.
func TestMachineKeysAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Machine(w.Admin, "ci")
	if n := testkit.Race(t, 20, func(int) error {
		_, err := w.AddKey(w.Admin, id, testworld.PublicKey)
		return err
	}); n != 20 || w.Rows("machine_keys where user_id = $1", id) != 20 ||
		w.Rows("events where aggregate = 'machine_key' and history_id = $1", id) != 20 {
		t.Errorf("%d of 20 keys", n)
	}
	// More calls for key pairs than can wait: each gets a pair or OVERLOADED.
	n := testkit.Race(t, 24, func(int) error {
		_, err := w.AddKey(w.Admin, id, nil)
		return err
	}, "OVERLOADED", "DEADLINE_EXCEEDED")
	if n == 0 || w.Rows("machine_keys where user_id = $1", id) < 20+n {
		t.Errorf("%d of 24 pairs", n)
	}
}
