package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"herald/gateway/authn"
	"herald/gateway/internal/documents"
	"herald/shared/boot"
	"herald/shared/contract"
	"herald/shared/rpc"
)

// edge is what stands behind the port.
type edge struct {
	log     *slog.Logger
	seconds *prometheus.HistogramVec
	tracer  trace.Tracer
	health  *boot.Health
	callers *authn.Authenticator
	calls   *rpc.Conn

	rest       *http.ServeMux
	procedures map[string]handler // by path: /herald.users.v1.Users/GetUser
	pages      []*page
	documents  documents.Library
}

// handler answers one kind of request.
type handler func(*exchange, *http.Request)

// ServeHTTP implements http.Handler, for the mux.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h(w.(*exchange), r) }

var traces = propagation.TraceContext{}

// ServeHTTP gives a request its id, its time and its trace, and writes one line
// about it when it is answered.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := requestID(r.Header)
	ctx := traces.Extract(rpc.WithRequestID(r.Context(), id), propagation.HeaderCarrier(r.Header))
	ctx, span := e.tracer.Start(ctx, "HTTP", trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, rpc.MaxDuration)
	defer cancel()
	x := &exchange{ResponseWriter: w, began: time.Now(), form: e.form(r)}
	r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	x.Header().Set("X-Request-Id", id)
	x.Header().Set("X-Content-Type-Options", "nosniff")
	x.Header().Set("Cache-Control", "no-store")
	traces.Inject(ctx, propagation.HeaderCarrier(x.Header()))
	defer x.end(e, r)
	e.route(x, r)
}

// route finds who answers. Until the token has been looked at, only path and method count.
func (e *edge) route(x *exchange, r *http.Request) {
	switch path := r.URL.Path; {
	case size(r) > maxHeaders:
		x.fail(r, ErrHeaders)
	case !clean(r.URL):
		x.fail(r, nothing(r, contract.ErrNotFound))
	case path == "/livez":
		x.quiet = true
		e.health.Live(x, r)
	case path == "/readyz":
		x.quiet = true
		e.health.Ready(x, r)
	case documents.Owns(path):
		e.read(x, r)
	default:
		if p := e.page(path); p != nil {
			x.route = p.prefix
			e.browse(x, r, p)
			return
		}
		e.api(x, r)
	}
}

// read answers with one of the documents of the reference, to everybody.
func (e *edge) read(x *exchange, r *http.Request) {
	if cross(x, r) {
		return
	}
	x.route = "/docs/"
	d, found := e.documents[r.URL.Path]
	switch {
	case found && r.Method != http.MethodGet && r.Method != http.MethodHead:
		x.form = asJSON
		x.wrongVerb(r, http.MethodGet, http.MethodHead)
	case found:
		x.route = r.URL.Path
		if err := d.Serve(x, r); err != nil {
			x.fail(r, err)
		}
	default:
		x.fail(r, contract.ErrNotFound.Say("There is nothing at this address"))
	}
}

func (e *edge) api(x *exchange, r *http.Request) {
	if cross(x, r) {
		return
	}
	procedure, known := e.procedures[r.URL.Path]
	switch {
	case known && r.Method != http.MethodPost:
		x.wrongVerb(r, "POST")
	case known:
		x.route = r.URL.Path
		procedure(x, r)
	default:
		e.rest.ServeHTTP(x, r)
	}
}

// form tells how the sender of a request reads faults, until its route tells better.
func (e *edge) form(r *http.Request) form {
	_, procedure := e.procedures[r.URL.Path]
	switch {
	case e.page(r.URL.Path) != nil, documents.Owns(r.URL.Path):
		return asPage
	case procedure || strings.HasPrefix(mediaType(r), "application/grpc"):
		return asRPC
	}
	return asJSON
}

// size is what the head of a request takes.
func size(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

// clean tells whether a path has one spelling. The mux answers the others with a
// redirect to where they might lead.
func clean(u *url.URL) bool {
	path, ok := strings.CutPrefix(u.EscapedPath(), "/")
	if !ok {
		return false
	}
	empty := false
	for part := range strings.SplitSeq(path, "/") {
		if empty { // only the last one may be
			return false
		}
		name, err := url.PathUnescape(part)
		if err != nil || name == "." || name == ".." {
			return false
		}
		empty = part == "" && path != ""
	}
	return true
}

// requestID takes the sender's id if it is printable and not longer than 128.
func requestID(h http.Header) string {
	id := h.Get("X-Request-Id")
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, unprintable) {
		return rpc.NewRequestID()
	}
	return id
}
