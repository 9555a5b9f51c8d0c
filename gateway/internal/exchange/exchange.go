// Package exchange holds one HTTP request on its way through the gateway together with its answer: who sent it, the
// form in which its faults are written, and the fields of its log line. It bounds the memory of answers that clients do
// not read.
package exchange

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"herald/gateway/internal/authn"
	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
)

// Exchange is one request and its answer.
type Exchange struct {
	http.ResponseWriter
	Began time.Time
	// Untimed is the request's context without its time limit. It ends when the client closes the connection.
	Untimed context.Context
	// Conn is the connection of the request.
	Conn net.Conn
	// Client is the network address of the client.
	Client string
	Form   Form
	// Route is the path template, procedure or prefix for logs and metrics. It is never the
	// path itself, which may contain personal data.
	Route string
	// Quiet requests are logged at level debug.
	Quiet bool
	// Until is when the client of a gRPC or Connect call stops waiting; zero if it has no such limit.
	Until time.Time
	// Pass is the authenticated caller; zero for public methods.
	Pass authn.Pass
	// EndTurn ends the request's turn in the queue; nil if it has none.
	EndTurn func()
	// Status is the HTTP status of the answer; zero if nothing was written yet.
	Status int
	// Fault is the reason for a refusal; nil for other answers.
	Fault *fault.Fault
}

// Handler answers one kind of request.
type Handler func(*Exchange, *http.Request)

// ServeHTTP implements http.Handler, for the mux.
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h(w.(*Exchange), r) }

// Route is the handler of a request, and the form of faults until the handler sets another.
type Route struct {
	Serve Handler
	Form  Form
	// Open lets scripts of any origin use the route (CORS).
	Open bool
}

type key struct{}

// With returns a context from which From returns x.
func With(ctx context.Context, x *Exchange) context.Context { return context.WithValue(ctx, key{}, x) }

// From returns the exchange of a request's context.
func From(ctx context.Context) *Exchange { return ctx.Value(key{}).(*Exchange) }

// WriteHeader implements http.ResponseWriter.
func (x *Exchange) WriteHeader(status int) {
	if x.Status == 0 && status >= http.StatusOK {
		x.Status = status
	}
	x.Worked()
	x.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (x *Exchange) Write(b []byte) (int, error) {
	if x.Status == 0 {
		x.Status = http.StatusOK
	}
	x.Worked()
	return x.ResponseWriter.Write(b)
}

// Worked ends the request's turn: only writing is left to do.
func (x *Exchange) Worked() {
	if x.EndTurn != nil {
		x.EndTurn()
	}
}

// Flush implements http.Flusher, which streams need.
func (x *Exchange) Flush() {
	if f, ok := x.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// PauseLimit is how long the client of a long upload may send nothing, and that of a long answer read nothing.
const PauseLimit = 30 * time.Second

// AwaitReader gives the client PauseLimit from now to read more of the answer. It replaces the server's limit.
func (x *Exchange) AwaitReader() {
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(time.Now().Add(PauseLimit))
}

// Unwrap is for http.ResponseController.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// Fail writes the fault in err as the answer.
func (x *Exchange) Fail(r *http.Request, err error) {
	x.Form(x, r, x.Refuse(err))
}

// Refuse returns the fault in err, keeps it for the log and sets the headers that belong to it.
func (x *Exchange) Refuse(err error) *fault.Fault {
	f := fault.From(err)
	late := f.Code == fault.Internal && errors.Is(err, context.DeadlineExceeded)
	if late || errors.Is(err, context.Canceled) { // canceled: the client has closed the connection
		f = fault.ErrDeadlineExceeded.Because(err)
	}
	x.Fault = f
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

// WrongVerb answers a request whose path exists only for other HTTP methods.
func (x *Exchange) WrongVerb(r *http.Request, allowed ...string) {
	x.Header().Set("Allow", strings.Join(append(allowed, http.MethodOptions), ", "))
	if r.Method == http.MethodOptions {
		x.WriteHeader(http.StatusNoContent)
		return
	}
	x.Fail(r, gatewayfault.ErrVerbNotAllowed)
}

// HasTag reports whether the client of a GET or HEAD has the answer with this tag already (RFC 9110, section 13.1.2).
func HasTag(r *http.Request, tag string) bool {
	for _, list := range r.Header["If-None-Match"] {
		for one := range strings.SplitSeq(list, ",") {
			if one = strings.TrimSpace(one); one == "*" ||
				strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
