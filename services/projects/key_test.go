package projects_test

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

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

func TestAppKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project(w.inA, "Shop")
	app, err := w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "API", AuthMethodType: 2})
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.AddAppKey(w.inA, &projectsv1.AddAppKeyRequest{
		ProjectId: p, AppId: app.AppId, Type: heraldv1.KeyType_KEY_TYPE_JSON,
	})
	if err != nil {
		t.Fatal(err)
	}
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
	if kept := w.publicKey(made.KeyId); !private.PublicKey.Equal(kept) || private.N.BitLen() != 2048 {
		t.Error("what is kept is not the public key of the file")
	}
	got, err := w.GetAppKey(w.inA, &projectsv1.GetAppKeyRequest{ProjectId: p, AppId: app.AppId, KeyId: made.KeyId})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got.Key, &heraldv1.Key{Id: made.KeyId, Details: made.Details, Type: heraldv1.KeyType_KEY_TYPE_JSON,
		ExpirationDate: timestamppb.New(forever)})
	if made.Details.CreationDate == nil || made.Details.ResourceOwner != "org-a" {
		t.Errorf("%v", made.Details)
	}
}

func TestAppKeysOfOnesOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project(w.inA, "Shop")
	app, err := w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "API", AuthMethodType: 2})
	if err != nil {
		t.Fatal(err)
	}
	events := w.rows("events")
	made, err := w.AddAppKey(w.inA, &projectsv1.AddAppKeyRequest{
		ProjectId: p, AppId: app.AppId, Type: heraldv1.KeyType_KEY_TYPE_JSON,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.GetAppKey(w.inA, &projectsv1.GetAppKeyRequest{ProjectId: p, AppId: app.AppId, KeyId: made.KeyId})
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour).Add(123456789).UTC()
	own, err := w.AddAppKey(w.inA, &projectsv1.AddAppKeyRequest{ProjectId: p, AppId: app.AppId, PublicKey: publicKey,
		ExpirationDate: timestamppb.New(until)})
	if err != nil {
		t.Fatal(err)
	}
	if f := fileOf(t, own.KeyDetails); f.Key != "" || strings.Contains(string(own.KeyDetails), `"key"`) ||
		f.KeyID != own.KeyId || !f.ExpirationDate.Equal(until.Truncate(time.Microsecond)) {
		t.Errorf("%+v", f)
	}
	block, _ := pem.Decode(publicKey)
	if der, err := x509.MarshalPKIXPublicKey(w.publicKey(own.KeyId)); err != nil || string(der) != string(block.Bytes) {
		t.Errorf("another key is kept: %v", err)
	}
	list, err := w.SearchAppKeys(w.inA, &projectsv1.SearchAppKeysRequest{ProjectId: p, AppId: app.AppId})
	if err != nil || !slices.Equal(keyIDs(list), []string{own.KeyId, made.KeyId}) || list.Details.TotalResult != 2 ||
		list.Details.ProcessedSequence != own.Details.Sequence {
		t.Fatalf("%v, %v", list, err)
	}
	same(t, list.Result[1], got.Key)
	list, err = w.SearchAppKeys(w.inA, &projectsv1.SearchAppKeysRequest{
		ProjectId: p, AppId: app.AppId, Query: &heraldv1.ListQuery{Asc: true, Offset: 1, Limit: 5},
	})
	if err != nil || !slices.Equal(keyIDs(list), []string{own.KeyId}) || list.Details.TotalResult != 2 {
		t.Errorf("%v, %v", list, err)
	}
	_, err = w.SearchAppKeys(w.inA, &projectsv1.SearchAppKeysRequest{
		ProjectId: p, AppId: app.AppId, Query: &heraldv1.ListQuery{Limit: 1001},
	})
	refused(t, err, "LIMIT_EXCEEDED", "1000")

	// Adding and removing keys does not change the application.
	if now := w.app(p, app.AppId); !proto.Equal(now.Details, app.Details) {
		t.Errorf("%v became %v", app.Details, now.Details)
	}
	if w.rows(`events where name = 'key_added' and aggregate = 'application' and aggregate_id = $1 and data = `+
		`jsonb_build_object('projectId', $2::text, 'keyId', $3::text)`, app.AppId, p, own.KeyId) != 1 ||
		w.rows("events") != events+2 {
		t.Error("the events are not those of two keys")
	}
}

// An expired key can be read until it is removed; it can be removed once.
func TestRemoveAppKey(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := newWorldOn(t, g)
	p := w.project(w.inA, "Shop")
	app, err := w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "API", AuthMethodType: 2})
	if err != nil {
		t.Fatal(err)
	}
	own, err := w.AddAppKey(w.inA, &projectsv1.AddAppKeyRequest{ProjectId: p, AppId: app.AppId, PublicKey: publicKey,
		ExpirationDate: timestamppb.New(g.Now().Add(time.Hour))})
	if err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(2 * time.Hour))
	w.inA = w.as("org-a", "ORG_OWNER")
	if _, err := w.GetAppKey(w.inA, &projectsv1.GetAppKeyRequest{ProjectId: p, AppId: app.AppId,
		KeyId: own.KeyId}); err != nil {
		t.Error(err)
	}
	if n := race(t, 10, func(int) error {
		r, err := w.RemoveAppKey(w.inA, &projectsv1.RemoveAppKeyRequest{
			ProjectId: p, AppId: app.AppId, KeyId: own.KeyId,
		})
		if err == nil && (r.Details.Sequence <= own.Details.Sequence || r.Details.CreationDate != nil) {
			t.Errorf("%v", r)
		}
		return err
	}, "APP_KEY_NOT_FOUND"); n != 1 {
		t.Errorf("%d of 10 removals succeeded", n)
	}
	_, err = w.GetAppKey(w.inA, &projectsv1.GetAppKeyRequest{ProjectId: p, AppId: app.AppId, KeyId: own.KeyId})
	refused(t, err, "APP_KEY_NOT_FOUND")
	if w.rows(`events where name = 'key_removed' and data->>'keyId' = $1`, own.KeyId) != 1 {
		t.Error("the removal is not one event")
	}
	if _, err := w.RemoveApp(w.inA, &projectsv1.AppRequest{ProjectId: p, AppId: app.AppId}); err != nil ||
		w.rows("application_keys") != 0 {
		t.Errorf("a key outlived its application: %v", err)
	}
}

// publicKey returns the stored part of a key.
func (w *world) publicKey(id string) *rsa.PublicKey {
	w.Helper()
	var der []byte
	if err := w.service.DB.QueryRow(w.Context(), "select public_key from application_keys where id = $1", id).
		Scan(&der); err != nil {
		w.Fatal(err)
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		w.Fatal(err)
	}
	return key.(*rsa.PublicKey)
}

func keyIDs(r *projectsv1.SearchAppKeysResponse) (ids []string) {
	for _, k := range r.GetResult() {
		ids = append(ids, k.Id)
	}
	return ids
}

func TestAppKeysRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project(w.inA, "Shop")
	app := w.webApp(w.inA, p, "Web").AppId
	before := w.rows("events")
	for label, c := range map[string]struct {
		request *projectsv1.AddAppKeyRequest
		id      string
		path    string
	}{
		"past": {&projectsv1.AddAppKeyRequest{ExpirationDate: timestamppb.New(time.Now().Add(-time.Second))},
			"EXPIRATION_DATE_PAST", "expirationDate"},
		"no time": {&projectsv1.AddAppKeyRequest{ExpirationDate: &timestamppb.Timestamp{Seconds: 1 << 60}},
			"INVALID_ARGUMENT", "expirationDate"},
		"no key":       {&projectsv1.AddAppKeyRequest{PublicKey: []byte("x")}, "PUBLIC_KEY_INVALID", "publicKey"},
		"long key":     {&projectsv1.AddAppKeyRequest{PublicKey: make([]byte, 16385)}, "INVALID_ARGUMENT", "publicKey"},
		"unknown type": {&projectsv1.AddAppKeyRequest{Type: 2}, "INVALID_ARGUMENT", "type"},
	} {
		c.request.ProjectId, c.request.AppId = p, app
		_, err := w.AddAppKey(w.inA, c.request)
		refused(t, err, c.id, c.path)
		if f := fault.From(err); f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Path != c.path {
			t.Errorf("%s: %+v", label, f)
		}
	}
	if w.rows("events") != before || w.rows("application_keys") != 0 {
		t.Error("something was written")
	}
	add := func() error {
		_, err := w.AddAppKey(w.inA, &projectsv1.AddAppKeyRequest{ProjectId: p, AppId: app, PublicKey: publicKey})
		return err
	}
	for n := range 20 {
		if err := add(); err != nil {
			t.Fatalf("the key after %d: %v", n, err)
		}
	}
	refused(t, add(), "APP_KEY_LIMIT")
	list, err := w.SearchAppKeys(w.inA, &projectsv1.SearchAppKeysRequest{ProjectId: p, AppId: app})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.RemoveAppKey(w.inA, &projectsv1.RemoveAppKeyRequest{ProjectId: p, AppId: app,
		KeyId: list.Result[7].Id}); err != nil {
		t.Fatal(err)
	}
	if err := add(); err != nil {
		t.Error(err)
	}
	refused(t, add(), "APP_KEY_LIMIT")
}

// More key pairs are requested at once than may wait. Each caller gets a pair or a fault to try again,
// with which nothing was written.
func TestAppKeysUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project(w.inA, "Shop")
	apps := make([]string, 2)
	for i := range apps {
		apps[i] = w.webApp(w.inA, p, fmt.Sprint(i)).AppId
	}
	n := race(t, 24, func(i int) error {
		_, err := w.AddAppKey(w.inA, &projectsv1.AddAppKeyRequest{ProjectId: p, AppId: apps[i%2]})
		return err
	}, "OVERLOADED", "DEADLINE_EXCEEDED")
	if n == 0 || w.rows("application_keys") < n {
		t.Errorf("%d of 24 keys", n)
	}
}
