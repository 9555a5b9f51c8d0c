package rest

import (
	"errors"
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"

	"herald/gateway/internal/exchange"
	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
)

// Paths are the REST paths of all methods.
type Paths struct {
	mux       *http.ServeMux
	conflicts pathConflicts
}

// NewPaths returns Paths without a method.
func NewPaths() *Paths {
	p := &Paths{mux: http.NewServeMux(), conflicts: pathConflicts{words: map[string]bool{}}}
	p.mux.Handle("/", exchange.Handler(p.unmatched))
	return p
}

// Serve answers a request by the method at its path.
func (p *Paths) Serve(x *exchange.Exchange, r *http.Request) { p.mux.ServeHTTP(x, r) }

// Handle makes serve answer the requests to a REST path of a contract.
func (p *Paths) Handle(rule *annotations.HttpRule, serve exchange.Handler) error {
	verb, path, body := contract.Route(rule)
	if verb == "" || body != "" && body != "*" {
		return errors.New(`a REST path has GET, POST, PUT or DELETE, and body "*" or none`)
	}
	template := verb + " " + path
	p.conflicts.add(path)
	p.mux.Handle(template, exchange.Handler(func(x *exchange.Exchange, r *http.Request) {
		if p.conflicts.misread(path, r) {
			p.unmatched(x, r)
			return
		}
		x.Route, x.Form = template, exchange.AsJSON
		serve(x, r)
	}))
	return nil
}

// unmatched answers a request whose path or verb has no method.
func (p *Paths) unmatched(x *exchange.Exchange, r *http.Request) {
	if allowed := p.allowed(r); len(allowed) > 0 {
		x.WrongVerb(r, allowed...)
		return
	}
	switch {
	case r.URL.Path == "/" && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html"):
		http.Redirect(x, r, "/docs", http.StatusFound) // a browser, whose user knows only the address
	case exchange.IsGRPC(r): // gRPC paths are names of methods
		x.Fail(r, gatewayfault.ErrMethodUnknown)
	default:
		x.Fail(r, fault.ErrNotFound.Say("There is nothing at this path; the documents are at /docs"))
	}
}

// allowed returns the verbs with which the path of a request has a method.
func (p *Paths) allowed(r *http.Request) (allowed []string) {
	for _, verb := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := *r
		other.Method = verb
		_, pattern := p.mux.Handler(&other)
		_, path, isMethod := strings.Cut(pattern, " ")
		if !isMethod || p.conflicts.misread(path, r) {
			continue
		}
		if allowed = append(allowed, verb); verb == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	return allowed
}
