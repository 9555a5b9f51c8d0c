package idp_test

import (
	"context"
	"os"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/idp"
	"herald/shared/boot"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/testkit"
)

var kit = testkit.New("idp", idp.Migrations)

// refused and race are used by most tests.
var refused, race = testkit.Refused, testkit.Race

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// world is a running service and its callers.
type world struct {
	testing.TB
	ground  boot.Ground
	service *boot.Service
	idpv1.IdpsClient
	// inA and inB are contexts of the owners of two organizations, org-a and org-b.
	inA, inB context.Context
}

// config is that of a service that asks no directory.
var config = idp.Config{MaxLimit: 1000, Authority: "https://login.example.com"}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, testkit.Ground(t))
}

// newWorldOn returns a world with the log and the clock of g.
func newWorldOn(t testing.TB, g boot.Ground) *world {
	t.Helper()
	return newWorldAt(t, g, config)
}

func newWorldAt(t testing.TB, g boot.Ground, c idp.Config) *world {
	t.Helper()
	w := &world{TB: t, ground: g, service: kit.Open(t, g)}
	if err := idp.New(t.Context(), w.service, c); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, w.service)
	w.IdpsClient = idpv1.NewIdpsClient(testkit.Calls(t, g, "gateway"))
	w.inA, w.inB = w.as("org-a", "ORG_OWNER"), w.as("org-b", "ORG_OWNER")
	return w
}

// as returns the context of a caller with roles in an organization.
func (w *world) as(orgID string, roles ...string) context.Context {
	return testkit.Member(w.Context(), w.ground, "user-"+orgID, orgID, roles...)
}

// directory creates a provider and returns its id.
func (w *world) directory(ctx context.Context, name string) string {
	w.Helper()
	r, err := w.CreateDirectoryIdp(ctx, &idpv1.CreateDirectoryIdpRequest{
		Name: name, ClientId: "herald", ClientSecret: "of " + name,
	})
	if err != nil {
		w.Fatal(err)
	}
	return r.Id
}

// get reads a provider of org-a.
func (w *world) get(id string) *idpv1.Idp {
	w.Helper()
	r, err := w.GetIdp(w.inA, &idpv1.IdpRequest{Id: id})
	if err != nil {
		w.Fatal(err)
	}
	return r.Idp
}

// secretOf opens a provider's client secret.
func (w *world) secretOf(id string) string {
	w.Helper()
	var sealed []byte
	if err := w.service.DB.QueryRow(w.Context(), `select client_secret from idps where id = $1`, id).
		Scan(&sealed); err != nil {
		w.Fatal(err)
	}
	plain, err := w.ground.Keys.Open(sealed, idp.Sealed[0], id)
	if err != nil {
		w.Fatal(err)
	}
	return string(plain)
}

// rows returns the number of rows that match a condition.
func (w *world) rows(sql string, args ...any) int {
	w.Helper()
	return testkit.Rows(w, w.service.DB, sql, args...)
}

// same fails the test if two messages differ.
func same(t testing.TB, got, want proto.Message) {
	t.Helper()
	if !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
