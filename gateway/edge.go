package gateway

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"herald/gateway/authn"
	"herald/gateway/internal/documents"
	"herald/gateway/internal/httpcache"
	"herald/shared/boot"
	"herald/shared/contract"
	"herald/shared/queue"
	"herald/shared/rpc"
)

// edge handles all requests to the port.
type edge struct {
	log     *slog.Logger
	seconds *prometheus.HistogramVec
	tracer  trace.Tracer
	health  *boot.Health
	callers *authn.Authenticator
	calls   *rpc.Conn
	streams streams
	proxies proxies
	// stopping ends when the gateway begins to stop.
	stopping context.Context
	turns    *queue.Queue
	now      func() time.Time
	shared   *httpcache.Cache // of endpoints for programs

	rest  *http.ServeMux
	paths *literals
	exact map[string]*route // by path: /herald.users.v1.Users/GetUser, /livez
	pages []*page           // the longest prefix first
	// docs serves the reference. grpc and other serve REST; they differ in the form of faults,
	// so that a gRPC client gets "not found" as gRPC.
	docs, grpc, other *route
	documents         documents.Library
}

// route is the handler of a request, and the form of faults until the handler sets another.
// edge.find finds it once per request.
type route struct {
	serve handler
	form  form
	// open lets scripts of any origin use the route (CORS).
	open bool
}

// handler answers one kind of request.
type handler func(*exchange, *http.Request)

// ServeHTTP implements http.Handler, for the mux.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h(w.(*exchange), r) }

var traces = propagation.TraceContext{}

// ServeHTTP gives a request its id, time limit and trace, and logs one line when it is
// answered.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := requestID(r.Header)
	ctx := traces.Extract(rpc.WithRequestID(r.Context(), id), propagation.HeaderCarrier(r.Header))
	ctx, span := e.tracer.Start(ctx, "HTTP", trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	if !span.SpanContext().IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, newTrace())
	}
	found := e.find(r)
	x := &exchange{ResponseWriter: w, began: time.Now(), untimed: ctx, form: found.form}
	ctx, cancel := context.WithTimeout(ctx, rpc.MaxDuration)
	defer cancel()
	r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	x.Header().Set("X-Request-Id", id)
	x.Header().Set("X-Content-Type-Options", "nosniff")
	x.Header().Set("Cache-Control", "no-store")
	traces.Inject(ctx, propagation.HeaderCarrier(x.Header()))
	defer x.end(e, r)
	switch {
	case size(r) > maxHeaders:
		x.fail(r, ErrHeaders)
	case !canonical(r.URL):
		x.fail(r, notFound(r, contract.ErrNotFound))
	case found.open && cross(x, r):
	default:
		found.serve(x, r)
	}
}

// find returns the route of a request, by path and media type alone.
func (e *edge) find(r *http.Request) *route {
	if found := e.fixed(r); found != nil {
		return found
	}
	if isGRPC(r) {
		return e.grpc
	}
	return e.other
}

// fixed returns the route of a document, probe, procedure or page; nil for all other paths.
func (e *edge) fixed(r *http.Request) *route {
	if encodedSlash.MatchString(r.URL.RawPath) { // %2F is part of a name and separates nothing
		return nil
	}
	if exact := e.exact[r.URL.Path]; exact != nil {
		return exact
	}
	if documents.Owns(r.URL.Path) {
		return e.docs
	}
	for _, p := range e.pages {
		if p.owns(r) {
			return &p.route
		}
	}
	return nil
}

var encodedSlash = regexp.MustCompile("(?i)%2f")

// mountRoutes adds the routes that no contract names.
func (e *edge) mountRoutes() {
	e.rest, e.exact = http.NewServeMux(), map[string]*route{}
	e.paths = &literals{words: map[string]bool{}}
	e.rest.Handle("/", handler(e.unmatched))
	e.exact["/livez"] = &route{serve: probe(e.health.Live), form: asJSON}
	e.exact["/readyz"] = &route{serve: probe(e.health.Ready), form: asJSON}
	e.docs = &route{serve: e.serveDocument, form: asPage, open: true}
	rest := func(x *exchange, r *http.Request) { e.rest.ServeHTTP(x, r) }
	e.other = &route{serve: rest, form: asJSON, open: true}
	e.grpc = &route{serve: rest, form: asRPC, open: true}
}

// probe answers what asks whether the gateway lives or is ready.
func probe(h http.HandlerFunc) handler {
	return func(x *exchange, r *http.Request) {
		x.quiet = true
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			x.wrongVerb(r, http.MethodGet, http.MethodHead)
			return
		}
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

// serveDocument serves a document of the reference, without a token.
func (e *edge) serveDocument(x *exchange, r *http.Request) {
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

// size returns how many bytes the head of a request takes.
func size(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

// canonical reports whether a path has no empty, "." or ".." parts but an empty last one. The
// mux would redirect the others.
func canonical(u *url.URL) bool {
	path, ok := strings.CutPrefix(u.EscapedPath(), "/")
	if !ok {
		return false
	}
	empty := false
	for part := range strings.SplitSeq(path, "/") {
		if empty { // and not the last part
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

// newTrace makes a trace for a request that has none, where no traces are exported.
func newTrace() trace.SpanContext {
	var c trace.SpanContextConfig
	rand.Read(c.TraceID[:]) // never fails (crypto/rand)
	rand.Read(c.SpanID[:])
	return trace.NewSpanContext(c)
}

// requestID returns the sender's id if it is printable ASCII of at most 128 characters, else a
// new one.
func requestID(h http.Header) string {
	id := h.Get("X-Request-Id")
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, unprintable) {
		return rpc.NewRequestID()
	}
	return id
}
