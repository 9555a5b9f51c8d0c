// Package testworld starts the service for tests.
package testworld

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
	testkit.World
	idpv1.IdpsClient
	// InA and InB are contexts of the owners of two organizations, org-a and org-b.
	InA, InB context.Context
}

// Config is the configuration of a service that sends no requests to a directory.
var Config = idp.Config{Limit: search.Limit{MaxLimit: 1000}, Authority: "https://login.example.com"}

// New returns a world for one test.
func New(t testing.TB) *World {
	t.Helper()
	return NewOn(t, testkit.Ground(t), Config)
}

// NewOn returns a world with the log and the clock of g, and with other settings.
func NewOn(t testing.TB, g boot.Ground, c idp.Config) *World {
	t.Helper()
	return Of(Kit.Start(t, g, func(s *boot.Service) error { return idp.New(t.Context(), s, c) }))
}

// Of returns a running service with its callers.
func Of(w testkit.World) *World {
	w.Helper()
	return &World{
		World: w, IdpsClient: idpv1.NewIdpsClient(testkit.Calls(w, w.Ground, "gateway")),
		InA: w.As("org-a", "ORG_OWNER"), InB: w.As("org-b", "ORG_OWNER"),
	}
}

// Directory creates an active provider and returns its id.
func (w *World) Directory(ctx context.Context, name string) string {
	w.Helper()
	r, err := w.CreateDirectoryIdp(ctx, &idpv1.CreateDirectoryIdpRequest{
		Name: name, ClientId: "herald", ClientSecret: "of " + name,
	})
	w.Must(r, err)
	w.Must(w.ReactivateIdp(ctx, &idpv1.IdpRequest{Id: r.Id}))
	return r.Id
}

// Get reads a provider of org-a.
func (w *World) Get(id string) *idpv1.Idp {
	w.Helper()
	r, err := w.GetIdp(w.InA, &idpv1.IdpRequest{Id: id})
	w.Must(r, err)
	return r.Idp
}

// SecretOf opens a provider's client secret.
func (w *World) SecretOf(id string) string {
	w.Helper()
	var sealed []byte
	row := w.Service.DB.QueryRow(w.Context(), `select client_secret from idps where id = $1`, id)
	w.Must(nil, row.Scan(&sealed))
	plain, err := w.Ground.Keys.Open(sealed, idp.Sealed[0], id)
	w.Must(plain, err)
	return string(plain)
}
