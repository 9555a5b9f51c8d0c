// Package apitest starts the service for tests.
package apitest

import (
	"context"
	"testing"

	"herald/services/idp"
	"herald/shared/boot"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/search"
	"herald/shared/testkit"
)

// Kit is the database server of a package's tests.
var Kit = testkit.New("idp", idp.Migrations)

// World is a running service and its callers.
type World struct {
	testing.TB
	Ground  boot.Ground
	Service *boot.Service
	idpv1.IdpsClient
	// InA and InB are contexts of the owners of two organizations, org-a and org-b.
	InA, InB context.Context
}

// Config is the configuration of a service that sends no requests to a directory.
var Config = idp.Config{Limit: search.Limit{MaxLimit: 1000}, Authority: "https://login.example.com"}

// New returns a world for one test.
func New(t testing.TB) *World {
	t.Helper()
	return NewOn(t, testkit.Ground(t))
}

// NewOn returns a world with the log and the clock of g.
func NewOn(t testing.TB, g boot.Ground) *World {
	t.Helper()
	return NewAt(t, g, Config)
}

// NewAt returns a world with other settings.
func NewAt(t testing.TB, g boot.Ground, c idp.Config) *World {
	t.Helper()
	w := &World{TB: t, Ground: g, Service: Kit.Open(t, g)}
	if err := idp.New(t.Context(), w.Service, c); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, w.Service)
	w.IdpsClient = idpv1.NewIdpsClient(testkit.Calls(t, g, "gateway"))
	w.InA, w.InB = w.As("org-a", "ORG_OWNER"), w.As("org-b", "ORG_OWNER")
	return w
}

// As returns the context of a caller with roles in an organization.
func (w *World) As(orgID string, roles ...string) context.Context {
	return testkit.Member(w.Context(), w.Ground, "user-"+orgID, orgID, roles...)
}

// Directory creates a provider and returns its id.
func (w *World) Directory(ctx context.Context, name string) string {
	w.Helper()
	r, err := w.CreateDirectoryIdp(ctx, &idpv1.CreateDirectoryIdpRequest{
		Name: name, ClientId: "herald", ClientSecret: "of " + name,
	})
	if err != nil {
		w.Fatal(err)
	}
	return r.Id
}

// Get reads a provider of org-a.
func (w *World) Get(id string) *idpv1.Idp {
	w.Helper()
	r, err := w.GetIdp(w.InA, &idpv1.IdpRequest{Id: id})
	if err != nil {
		w.Fatal(err)
	}
	return r.Idp
}

// SecretOf opens a provider's client secret.
func (w *World) SecretOf(id string) string {
	w.Helper()
	var sealed []byte
	if err := w.Service.DB.QueryRow(w.Context(), `select client_secret from idps where id = $1`, id).
		Scan(&sealed); err != nil {
		w.Fatal(err)
	}
	plain, err := w.Ground.Keys.Open(sealed, idp.Sealed[0], id)
	if err != nil {
		w.Fatal(err)
	}
	return string(plain)
}

// Rows returns the number of rows that match a condition.
func (w *World) Rows(sql string, args ...any) int {
	w.Helper()
	return testkit.Rows(w, w.Service.DB, sql, args...)
}
