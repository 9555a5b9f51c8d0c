package apps_test

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/projects/internal/testworld"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// publicKey is a caller's own.
var publicKey = testkit.PublicKey()

// file is the key file of an application.
type file struct {
	Type, KeyID, Key, AppID, ClientID string
	ExpirationDate                    time.Time
}

func fileOf(t testing.TB, details []byte) (f file) {
	t.Helper()
	if err := json.Unmarshal(details, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// addKey adds a key to an application; a public key is the caller's own.
func (w shop) addKey(appID string, public []byte, expires *timestamppb.Timestamp) *projectsv1.AddAppKeyResponse {
	w.Helper()
	r, err := w.AddAppKey(w.InA, &projectsv1.AddAppKeyRequest{
		ProjectId: w.id, AppId: appID, Type: heraldv1.KeyType_KEY_TYPE_JSON, PublicKey: public, ExpirationDate: expires,
	})
	w.Must(r, err)
	return r
}

// key reads a key.
func (w shop) key(appID, id string) *heraldv1.Key {
	w.Helper()
	r, err := w.GetAppKey(w.InA, &projectsv1.GetAppKeyRequest{ProjectId: w.id, AppId: appID, KeyId: id})
	w.Must(r, err)
	return r.Key
}

func TestMadeKeyIsInItsFileOnly(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	app := w.apiApp("API", privateKey)
	made := w.addKey(app.AppId, nil, nil)
	f := fileOf(t, made.KeyDetails)
	block, _ := pem.Decode([]byte(f.Key))
	if block == nil || !strings.HasPrefix(f.Key, "-----BEGIN RSA PRIVATE KEY-----\n") {
		t.Fatal("no private key in the file")
	}
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	f.Key = ""
	forever := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	if f != (file{
		Type: "application", KeyID: made.KeyId, AppID: app.AppId, ClientID: app.ClientId, ExpirationDate: forever,
	}) {
		t.Errorf("%+v", f)
	}
	if kept := stored(w, made.KeyId); !private.PublicKey.Equal(kept) || private.N.BitLen() != 2048 {
		t.Error("what is kept is not the public key of the file")
	}
	testkit.Equal(t, w.key(app.AppId, made.KeyId), &heraldv1.Key{Id: made.KeyId, Details: made.Details,
		Type: heraldv1.KeyType_KEY_TYPE_JSON, ExpirationDate: timestamppb.New(forever)})
	if made.Details.CreationDate == nil || made.Details.ResourceOwner != "org-a" {
		t.Errorf("%v", made.Details)
	}
}

func TestOwnKeyIsKeptAsItIs(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	app := w.apiApp("API", privateKey)
	until := time.Now().Add(time.Hour).Add(123456789).UTC()
	own := w.addKey(app.AppId, publicKey, timestamppb.New(until))
	if f := fileOf(t, own.KeyDetails); f.Key != "" || strings.Contains(string(own.KeyDetails), `"key"`) ||
		f.KeyID != own.KeyId || !f.ExpirationDate.Equal(until.Truncate(time.Microsecond)) {
		t.Errorf("%+v", f)
	}
	block, _ := pem.Decode(publicKey)
	if der, err := x509.MarshalPKIXPublicKey(stored(w, own.KeyId)); err != nil || string(der) != string(block.Bytes) {
		t.Errorf("another key is kept: %v", err)
	}
}

// Adding keys does not change the application.
func TestKeysAreListed(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	app := w.apiApp("API", privateKey)
	events := w.Rows("events")
	made := w.addKey(app.AppId, publicKey, nil)
	own := w.addKey(app.AppId, publicKey, nil)
	testworld.Found(t, []string{own.KeyId, made.KeyId}, func(q *heraldv1.ListQuery) (
		ids []string, details *heraldv1.ListDetails, err error,
	) {
		list, err := w.SearchAppKeys(w.InA,
			&projectsv1.SearchAppKeysRequest{ProjectId: w.id, AppId: app.AppId, Query: q})
		for _, k := range list.GetResult() {
			ids = append(ids, k.Id)
			testkit.Equal(t, k, w.key(app.AppId, k.Id))
		}
		if list.GetDetails().GetProcessedSequence() != own.Details.Sequence {
			t.Errorf("%v", list)
		}
		return ids, list.GetDetails(), err
	})
	_, err := w.SearchAppKeys(w.InA, &projectsv1.SearchAppKeysRequest{
		ProjectId: w.id, AppId: app.AppId, Query: &heraldv1.ListQuery{Limit: 1001},
	})
	refused(t, err, "LIMIT_EXCEEDED", "1000")
	testkit.Equal(t, w.App(w.id, app.AppId).Details, app.Details)
	w.Event(app.AppId, &projectsv1.ApplicationKeyAdded{ProjectId: w.id, KeyId: own.KeyId})
	if w.Rows("events") != events+2 {
		t.Error("the events are not those of two keys")
	}
}

func TestExpiredKeyIsReadUntilItIsRemovedOnce(t *testing.T) {
	t.Parallel()
	c := testworld.NewClocked(t)
	w := shop{c.World, c.Shop}
	app := w.apiApp("API", privateKey)
	own := w.addKey(app.AppId, publicKey, timestamppb.New(time.Now().Add(time.Hour)))
	c.Forward(2 * time.Hour)
	w.key(app.AppId, own.KeyId)
	once(t, 10, func(int) error {
		r, err := w.RemoveAppKey(w.InA, &projectsv1.RemoveAppKeyRequest{
			ProjectId: w.id, AppId: app.AppId, KeyId: own.KeyId,
		})
		if err == nil && (r.Details.Sequence <= own.Details.Sequence || r.Details.CreationDate != nil) {
			t.Errorf("%v", r)
		}
		return err
	}, "APP_KEY_NOT_FOUND")
	_, err := w.GetAppKey(w.InA, &projectsv1.GetAppKeyRequest{ProjectId: w.id, AppId: app.AppId, KeyId: own.KeyId})
	refused(t, err, "APP_KEY_NOT_FOUND")
	if w.Rows(`events where name = 'key_removed' and data->>'keyId' = $1`, own.KeyId) != 1 {
		t.Error("the removal is not one event")
	}
}

func TestKeysAreRemovedWithTheirApp(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	app := w.apiApp("API", privateKey)
	w.addKey(app.AppId, publicKey, nil)
	w.Must(w.RemoveApp(w.InA, &projectsv1.AppRequest{ProjectId: w.id, AppId: app.AppId}))
	if w.Rows("application_keys") != 0 {
		t.Error("a key is left of a removed application")
	}
}

// stored returns the public part of a key.
func stored(w shop, id string) *rsa.PublicKey {
	w.Helper()
	var der []byte
	if err := w.Service.DB.QueryRow(w.Context(), "select public_key from application_keys where id = $1", id).
		Scan(&der); err != nil {
		w.Fatal(err)
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		w.Fatal(err)
	}
	return key.(*rsa.PublicKey)
}

func TestWrongKeyIsRefused(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	app := w.WebApp(w.InA, w.id, "Web").AppId
	before := w.Rows("events")
	for label, c := range map[string]struct {
		request  *projectsv1.AddAppKeyRequest
		id, path string
	}{
		"past": {&projectsv1.AddAppKeyRequest{ExpirationDate: timestamppb.New(time.Now().Add(-time.Second))},
			"EXPIRATION_DATE_PAST", "expirationDate"},
		"no time": {&projectsv1.AddAppKeyRequest{ExpirationDate: &timestamppb.Timestamp{Seconds: 1 << 60}},
			"INVALID_ARGUMENT", "expirationDate"},
		"no key":       {&projectsv1.AddAppKeyRequest{PublicKey: []byte("x")}, "PUBLIC_KEY_INVALID", "publicKey"},
		"long key":     {&projectsv1.AddAppKeyRequest{PublicKey: make([]byte, 16385)}, "INVALID_ARGUMENT", "publicKey"},
		"unknown type": {&projectsv1.AddAppKeyRequest{Type: 2}, "INVALID_ARGUMENT", "type"},
	} {
		t.Run(label, func(t *testing.T) {
			c.request.ProjectId, c.request.AppId = w.id, app
			_, err := w.AddAppKey(w.InA, c.request)
			refused(t, err, c.id, c.path)
			if f := fault.From(err); f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Path != c.path {
				t.Errorf("%+v", f)
			}
		})
	}
	if w.Rows("events") != before || w.Rows("application_keys") != 0 {
		t.Error("something was written")
	}
}

func TestAppHasTwentyKeysAtMost(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	app := w.WebApp(w.InA, w.id, "Web").AppId
	var last string
	for range 20 {
		last = w.addKey(app, publicKey, nil).KeyId
	}
	tooMany := func() {
		t.Helper()
		_, err := w.AddAppKey(w.InA, &projectsv1.AddAppKeyRequest{ProjectId: w.id, AppId: app, PublicKey: publicKey})
		refused(t, err, "APP_KEY_LIMIT")
	}
	tooMany()
	w.Must(w.RemoveAppKey(w.InA, &projectsv1.RemoveAppKeyRequest{ProjectId: w.id, AppId: app, KeyId: last}))
	w.addKey(app, publicKey, nil)
	tooMany()
}

// More key pairs are requested at once than may wait. Each caller gets a pair or a fault to try again,
// with which nothing was written.
func TestKeysUnderLoadAreMadeOrRefused(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	apps := []string{w.WebApp(w.InA, w.id, "0").AppId, w.WebApp(w.InA, w.id, "1").AppId}
	n := race(t, 24, func(i int) error {
		_, err := w.AddAppKey(w.InA, &projectsv1.AddAppKeyRequest{ProjectId: w.id, AppId: apps[i%2]})
		return err
	}, "OVERLOADED", "DEADLINE_EXCEEDED")
	if n == 0 || w.Rows("application_keys") < n {
		t.Errorf("%d of 24 keys", n)
	}
}
