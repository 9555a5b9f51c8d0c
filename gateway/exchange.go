package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"herald/gateway/authn"
	"herald/shared/fault"
)

// exchange is one request and its answer, with what the log line needs.
type exchange struct {
	http.ResponseWriter
	began time.Time
	// untimed is the request's context without its time limit. It ends when the sender has gone.
	untimed context.Context
	form    form
	// route is the path template, procedure or prefix for logs and metrics. It is never the
	// path itself, which may contain personal data.
	route  string
	status int
	fault  *fault.Fault
	// until is when the sender of a gRPC or Connect call stops waiting; zero if it does not say.
	until time.Time
	pass  authn.Pass
	// endTurn ends the turn of the request's organization; nil without one.
	endTurn func()
	// quiet requests are logged at level debug.
	quiet bool
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= http.StatusOK {
		x.status = status
	}
	x.worked()
	x.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.worked()
	return x.ResponseWriter.Write(b)
}

// worked ends the request's turn: nothing is left to do but to write.
func (x *exchange) worked() {
	if x.endTurn != nil {
		x.endTurn()
	}
}

// Flush implements http.Flusher, which streams need.
func (x *exchange) Flush() {
	if f, ok := x.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// fail writes the fault in err as the answer.
func (x *exchange) fail(r *http.Request, err error) {
	x.form(x, r, x.refuse(err))
	x.drain(r)
}

// Bounds of what drain reads.
const (
	maxDrained = 16 << 20
	drainTime  = 5 * time.Second
)

// drain reads what a refused client is still sending. The connection would otherwise be closed with
// unread bytes, by which clients that read only after they have sent everything lose the answer. HTTP/2
// ends a single stream instead.
func (x *exchange) drain(r *http.Request) {
	if r.ProtoMajor != 1 || r.ContentLength == 0 {
		return
	}
	_ = http.NewResponseController(x).SetReadDeadline(time.Now().Add(drainTime))
	x.Flush()
	_, _ = io.CopyN(io.Discard, r.Body, maxDrained) // the answer is the same if the client sends no more
}

// refuse returns the fault in err, notes it for the log and sets the headers that belong to it.
func (x *exchange) refuse(err error) *fault.Fault {
	f := fault.From(err)
	late := f.Code == fault.Internal && errors.Is(err, context.DeadlineExceeded)
	if late || errors.Is(err, context.Canceled) { // the latter if the sender has gone
		f = fault.ErrDeadline.Because(err)
	}
	x.fault = f
	challenge, ok := errors.AsType[authn.Challenge](err)
	switch {
	case ok:
		x.Header().Set("WWW-Authenticate", challenge.Authenticate)
	case f.Code == fault.Unauthenticated:
		x.Header().Set("WWW-Authenticate", authn.InvalidToken)
	}
	if f.RetryAfter > 0 {
		x.Header().Set("Retry-After", fault.RetrySeconds(f.RetryAfter))
	}
	return f
}

// wrongVerb answers a request whose path exists only for other HTTP methods.
func (x *exchange) wrongVerb(r *http.Request, allowed ...string) {
	x.Header().Set("Allow", strings.Join(append(allowed, http.MethodOptions), ", "))
	if r.Method == http.MethodOptions {
		x.WriteHeader(http.StatusNoContent)
		return
	}
	x.fail(r, ErrVerb)
}

// end answers if the handler panicked, then measures and logs the request.
func (x *exchange) end(e *edge, r *http.Request) {
	defer x.worked() // of a request that was broken off
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler: // whoever broke the answer off has said why
		defer panic(p)
	default:
		f := x.refuse(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		if x.status == 0 {
			x.form(x, r, f)
		} else {
			defer panic(http.ErrAbortHandler) // half an answer must not look like a whole one
		}
	}
	x.status = cmp.Or(x.status, http.StatusOK) // net/http sends 200 if nothing was written
	took := time.Since(x.began)
	e.seconds.WithLabelValues(x.route, strconv.Itoa(x.status)).Observe(took.Seconds())
	span, level := trace.SpanFromContext(r.Context()), slog.LevelInfo
	span.SetName("HTTP " + x.route)
	attributes := []slog.Attr{
		slog.String("http", r.Method[:min(len(r.Method), 10)]), slog.String("route", x.route),
		slog.Int("status", x.status), slog.Duration("took", took), slog.String("agent", agent(r)),
	}
	if x.quiet {
		level = slog.LevelDebug
	}
	if x.fault != nil {
		attributes = append(attributes, slog.String("fault", x.fault.ID))
		span.SetStatus(codes.Error, x.fault.ID)
		if cause := x.fault.Unwrap(); cause != nil {
			attributes = append(attributes, slog.String("cause", cause.Error()))
			if x.fault.Code == fault.Internal {
				level = slog.LevelError
			}
		}
	}
	e.log.LogAttrs(r.Context(), level, "request", attributes...)
}

// agent returns at most 200 bytes of the User-Agent.
func agent(r *http.Request) string {
	a := r.UserAgent()
	return strings.ToValidUTF8(a[:min(len(a), 200)], "\uFFFD")
}
