package routes

import (
	"net/http"
	"net/url"
	"slices"

	"herald/gateway/internal/connect"
	"herald/gateway/internal/dispatch"
	"herald/gateway/internal/documents"
	"herald/gateway/internal/exchange"
	"herald/gateway/internal/forward"
	"herald/gateway/internal/rest"
	"herald/gateway/internal/upload"
	"herald/shared/boot"
	"herald/shared/contract"
)

// mountMethod adds the routes and pages of a method. A method without a REST path is not served on any protocol; a
// method with pages gets HTTP requests unchanged.
func (t *Table) mountMethod(c contract.Method, d *dispatch.Dispatcher, uploads *upload.Uploads) error {
	m, err := dispatch.NewMethod(c)
	if err != nil {
		return err
	}
	if err := t.forward.Mount(c, m); err != nil {
		return err
	}
	for _, rule := range c.Rules {
		serve, err := rest.Handler(d, m, rule)
		if err == nil && c.Streamed {
			serve, err = uploads.Handler(c, m)
		}
		if err != nil {
			return err
		}
		if err := t.rest.Handle(rule, serve); err != nil {
			return err
		}
	}
	if !c.Internal() {
		t.mountProcedure(m.Procedure, connect.Handler(d, m))
	}
	return nil
}

// mountProcedure answers gRPC, gRPC-Web and Connect at a path of its own.
func (t *Table) mountProcedure(path string, serve exchange.Handler) {
	t.exact[path] = &exchange.Route{
		Form: connect.WriteFault, Open: true, Serve: func(x *exchange.Exchange, r *http.Request) {
			if r.Method != http.MethodPost {
				x.WrongVerb(r, http.MethodPost)
				return
			}
			x.Route = path
			serve(x, r)
		},
	}
}

// mountTools adds the routes that tools use without a token: probes, health and reflection.
func (t *Table) mountTools(methods []contract.Method, health *boot.Health) {
	t.exact["/livez"] = &exchange.Route{Serve: probe(health.Live), Form: exchange.AsJSON}
	t.exact["/readyz"] = &exchange.Route{Serve: probe(health.Ready), Form: exchange.AsJSON}
	var services []string
	for _, m := range methods {
		if !m.Internal() {
			services = append(services, string(m.Parent().FullName()))
		}
	}
	slices.Sort(services)
	services = slices.Compact(services)
	t.mountProcedure(connect.HealthProcedure, connect.Health(services, health))
	for path, serve := range connect.Reflection(services) {
		t.mountProcedure(path, serve)
	}
}

// probe answers requests about whether the gateway is alive or ready.
func probe(h http.HandlerFunc) exchange.Handler {
	return func(x *exchange.Exchange, r *http.Request) {
		x.Quiet = true
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			x.WrongVerb(r, http.MethodGet, http.MethodHead)
			return
		}
		h(x, r)
	}
}

// mountREST adds the reference and the REST paths.
func (t *Table) mountREST(public *url.URL) error {
	library, err := documents.New(public)
	t.library = &exchange.Route{Serve: library.Serve, Form: forward.WritePage, Open: true}
	t.plainREST = &exchange.Route{Serve: t.rest.Serve, Form: exchange.AsJSON, Open: true}
	t.grpcREST = &exchange.Route{Serve: t.rest.Serve, Form: connect.WriteFault, Open: true}
	return err
}
