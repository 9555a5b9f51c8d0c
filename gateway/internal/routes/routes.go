// Package routes finds the handler of a request: a method at its REST path or as a procedure, a page, a document or
// a probe.
package routes

import (
	"context"
	"fmt"
	"net/http"
	"regexp"

	"herald/gateway/internal/dispatch"
	"herald/gateway/internal/documents"
	"herald/gateway/internal/exchange"
	"herald/gateway/internal/forward"
	"herald/gateway/internal/rest"
	"herald/gateway/internal/upload"
	"herald/shared/boot"
	"herald/shared/contract"
	"herald/shared/quota"
)

// Table holds all routes. It never changes after New.
type Table struct {
	exact   map[string]*exchange.Route // by path: /herald.users.v1.Users/GetUser, /livez
	forward *forward.Forwarder
	rest    *rest.Paths
	// library serves the reference. grpcREST and plainREST serve REST; they differ in the form of faults,
	// so that a gRPC client gets "not found" as gRPC.
	library, grpcREST, plainREST *exchange.Route
}

// New returns the routes of all methods whose contracts are linked into the program. Imports end early when stopping
// ends, and have a quota of bytes on the disk. epoch is of the events that end shared answers.
func New(
	stopping context.Context, ground boot.Ground, d *dispatch.Dispatcher, epoch func() uint64, bytes quota.Quota,
) (*Table, error) {
	t := &Table{exact: map[string]*exchange.Route{}, rest: rest.NewPaths(), forward: forward.New(d, ground.Now, epoch)}
	methods, err := contract.AllMethods()
	if err != nil {
		return nil, err
	}
	uploads := upload.New(stopping, d, ground.Log, bytes)
	for _, m := range methods {
		if err := t.mountMethod(m, d, uploads); err != nil {
			return nil, fmt.Errorf("contract of %s: %w", m.FullName(), err)
		}
	}
	t.mountTools(methods, ground.Health)
	return t, t.mountREST(ground.PublicURL)
}

// Find returns the route of a request, by path and media type alone.
func (t *Table) Find(r *http.Request) *exchange.Route {
	if !encodedSlash.MatchString(r.URL.RawPath) { // %2F is part of a name and separates nothing
		if route := t.exact[r.URL.Path]; route != nil {
			return route
		}
		if documents.Owns(r.URL.Path) {
			return t.library
		}
		if route := t.forward.Find(r); route != nil {
			return route
		}
	}
	if exchange.IsGRPC(r) {
		return t.grpcREST
	}
	return t.plainREST
}

var encodedSlash = regexp.MustCompile("(?i)%2f")
