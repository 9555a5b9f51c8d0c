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

	rest  *http.ServeMux
	exact map[string]*route // by path: /herald.users.v1.Users/GetUser, /livez
	pages []*page
	// docs leads to the reference, grpc and other to REST: what calls itself gRPC and is not there is
	// told so in its own way.
	docs, grpc, other *route
	documents         documents.Library
}

// route is who answers a request, and how its sender reads a fault until the one who answers
// knows better. It is found once, by edge.find.
type route struct {
	serve handler
	form  form
	// open lets scripts of any origin in.
	open bool
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
	found := e.find(r)
	x := &exchange{ResponseWriter: w, began: time.Now(), form: found.form}
	r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	x.Header().Set("X-Request-Id", id)
	x.Header().Set("X-Content-Type-Options", "nosniff")
	x.Header().Set("Cache-Control", "no-store")
	traces.Inject(ctx, propagation.HeaderCarrier(x.Header()))
	defer x.end(e, r)
	switch {
	case size(r) > maxHeaders:
		x.fail(r, ErrHeaders)
	case !clean(r.URL):
		x.fail(r, nothing(r, contract.ErrNotFound))
	case found.open && cross(x, r):
	default:
		found.serve(x, r)
	}
}

// find decides who answers. Until the token has been looked at, only path and media type count.
func (e *edge) find(r *http.Request) *route {
	path := r.URL.Path
	if exact := e.exact[path]; exact != nil {
		return exact
	}
	if documents.Owns(path) {
		return e.docs
	}
	for _, p := range e.pages {
		if strings.HasPrefix(path, p.prefix) {
			return &p.route
		}
	}
	if isGRPC(r) {
		return e.grpc
	}
	return e.other
}

// mountRoutes adds the routes that no contract names.
func (e *edge) mountRoutes() {
	e.rest, e.exact = http.NewServeMux(), map[string]*route{}
	e.rest.Handle("/", handler(e.unmatched))
	e.exact["/livez"] = &route{serve: quietly(e.health.Live), form: asJSON}
	e.exact["/readyz"] = &route{serve: quietly(e.health.Ready), form: asJSON}
	e.docs = &route{serve: e.read, form: asPage, open: true}
	rest := func(x *exchange, r *http.Request) { e.rest.ServeHTTP(x, r) }
	e.other = &route{serve: rest, form: asJSON, open: true}
	e.grpc = &route{serve: rest, form: asRPC, open: true}
}

func quietly(h http.HandlerFunc) handler {
	return func(x *exchange, r *http.Request) {
		x.quiet = true
		h(x, r)
	}
}

// mountProcedure answers gRPC, gRPC-Web and Connect at a path of its own.
func (e *edge) mountProcedure(path string, h handler) {
	e.exact[path] = &route{form: asRPC, open: true, serve: func(x *exchange, r *http.Request) {
		if r.Method != http.MethodPost {
			x.wrongVerb(r, http.MethodPost)
			return
		}
		x.route = path
		h(x, r)
	}}
}

// read answers with one of the documents of the reference, to everybody.
func (e *edge) read(x *exchange, r *http.Request) {
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
