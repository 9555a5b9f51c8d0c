// Package edge takes a request from the port to the method that answers it. It gives each request an id, a trace
// and limits, and writes one line of log about it.
package edge

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"herald/gateway/internal/exchange"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
	"herald/shared/rpc"
)

// Edge handles all requests to the port.
type Edge struct {
	log     *slog.Logger
	tracer  trace.Tracer
	seconds *prometheus.HistogramVec
	proxies proxies
	// find returns the route of a request, by path and media type alone.
	find func(*http.Request) *exchange.Route
}

// New returns an Edge whose requests are answered by the routes that find returns. Trusted proxies are addresses and
// ranges with commas between them.
func New(ground boot.Ground, find func(*http.Request) *exchange.Route, trusted string) (*Edge, error) {
	p, err := parseProxies(trusted)
	return &Edge{
		log: ground.Log, tracer: ground.Traces.Tracer(bus.Gateway), find: find, proxies: p,
		seconds: rpc.Seconds(ground.Metrics, "herald_http_seconds",
			"Time from taking a request to the end of its answer, by route and HTTP status.", "route", "status"),
	}, err
}

var traces = propagation.TraceContext{}

// ServeHTTP gives a request its id, time limit and trace, and logs one line when it is
// answered.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := requestID(r.Header)
	ctx := traces.Extract(rpc.WithRequestID(r.Context(), id), propagation.HeaderCarrier(r.Header))
	ctx, span := e.tracer.Start(ctx, "HTTP", trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	if !span.SpanContext().IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, newTrace())
	}
	found := e.find(r)
	x := &exchange.Exchange{
		ResponseWriter: w, Began: time.Now(), Untimed: ctx, Form: found.Form, Client: e.proxies.client(r),
	}
	x.Conn, _ = ctx.Value(connKey{}).(net.Conn)
	ctx, cancel := context.WithTimeout(ctx, rpc.MaxDuration)
	defer cancel()
	r = r.WithContext(exchange.With(ctx, x))
	body := exchange.NewBody(r)
	r.Body = body
	x.Header().Set("X-Request-Id", id)
	x.Header().Set("X-Content-Type-Options", "nosniff")
	x.Header().Set("Cache-Control", "no-store")
	traces.Inject(ctx, propagation.HeaderCarrier(x.Header()))
	e.answer(x, r, found)
	body.Drain(x)
}

// answer writes the answer of a request, and its line of log.
func (e *Edge) answer(x *exchange.Exchange, r *http.Request, found *exchange.Route) {
	defer e.end(x, r)
	switch {
	case !strings.HasPrefix(r.RequestURI, "/") && r.RequestURI != "*":
		// A proxy may have decided by another host or path than the handler would see.
		x.Header().Set("Connection", "close")
		x.Fail(r, gatewayfault.ErrRequestMalformed.Say("The request target must be a path, such as /livez"))
	case size(r) > maxHeaders:
		x.Fail(r, gatewayfault.ErrHeadersTooLarge)
	case !canonical(r.URL) && exchange.IsGRPC(r): // its paths are names of methods
		x.Fail(r, gatewayfault.ErrMethodUnknown)
	case !canonical(r.URL):
		x.Fail(r, fault.ErrNotFound)
	case found.Open && allowOrigin(x, r):
	default:
		found.Serve(x, r)
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

// canonical reports whether no part of a path is empty, "." or "..", except that the last may be empty. The
// mux would redirect other paths.
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

// requestID returns the client's id if it is printable ASCII of at most 128 characters, else a
// new one.
func requestID(h http.Header) string {
	id := h.Get("X-Request-Id")
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, unprintable) {
		return rpc.NewRequestID()
	}
	return id
}
