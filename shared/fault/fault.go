// Package fault holds the errors that callers see. A fault says what its receiver can do (Code),
// which condition it is (ID, stable and documented) and what a person should read (Message). It
// is sent over NATS, gRPC and HTTP as a google.rpc.Status. Any other error is sent as an internal
// fault, and its text stays in the log.
package fault

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Code is a gRPC status code. The set is closed: each code has one HTTP status.
type Code uint32

// The codes of the specification's error answers.
const (
	Invalid         Code = 3  // fix the request
	Deadline        Code = 4  // it took too long; a change may have been made
	NotFound        Code = 5  // no such thing, or none that the caller may see
	Exists          Code = 6  // the name or id is taken
	Denied          Code = 7  // known caller, not allowed
	Exhausted       Code = 8  // slow down
	Precondition    Code = 9  // right request, wrong state
	Unimplemented   Code = 12 // no such method
	Internal        Code = 13 // our fault
	Unavailable     Code = 14 // nothing was changed; try again
	Unauthenticated Code = 16 // no valid token
)

func (c Code) httpStatus() int {
	switch c {
	case Invalid, Precondition:
		return http.StatusBadRequest
	case Deadline:
		return http.StatusGatewayTimeout
	case NotFound:
		return http.StatusNotFound
	case Exists:
		return http.StatusConflict
	case Denied:
		return http.StatusForbidden
	case Exhausted:
		return http.StatusTooManyRequests
	case Unimplemented:
		return http.StatusMethodNotAllowed
	case Unavailable:
		return http.StatusServiceUnavailable
	case Unauthenticated:
		return http.StatusUnauthorized
	default:
		return http.StatusInternalServerError
	}
}

// Fault is an error with a stable ID such as APP_NOT_ACTIVE. Declared faults are
// values to compare with; methods that add to a fault return a copy.
type Fault struct {
	Code    Code
	ID      string
	Message string
	// Fields names what is wrong with a request.
	Fields []Field
	// Permission and Organization are the missing permission of a denied caller, and the organization that needs it.
	Permission   string
	Organization string
	// RetryAfter is set if a later try may succeed.
	RetryAfter time.Duration

	status int
	cause  error
}

// MaxFields is how many faulty fields a fault names at most. This is enough for a form, and a request with many
// faulty fields does not get a large answer.
const MaxFields = 20

// Field is one faulty field of a request: its path in JSON names, and the reason.
type Field struct{ Path, Reason string }

// New declares a fault. IDs are unique in the whole system, which a test checks. A fault that asks for another try
// has a time for it, which is a second unless After sets another one.
func New(code Code, id, message string) *Fault {
	f := &Fault{Code: code, ID: id, Message: message}
	if code == Exhausted || code == Unavailable {
		f.RetryAfter = time.Second
	}
	return f
}

// WithStatus returns a copy with an HTTP status that is not its code's usual one.
func (f *Fault) WithStatus(httpStatus int) *Fault {
	c := *f
	c.status = httpStatus
	return &c
}

// HTTPStatus returns the status of the HTTP response for the fault.
func (f *Fault) HTTPStatus() int {
	if f.status != 0 {
		return f.status
	}
	return f.Code.httpStatus()
}

// Say returns a copy that has another message.
func (f *Fault) Say(format string, args ...any) *Fault {
	c := *f
	c.Message = fmt.Sprintf(format, args...)
	return &c
}

// On returns a copy that also names a faulty field.
func (f *Fault) On(path, reason string) *Fault {
	c := *f
	c.Fields = append(f.Fields[:len(f.Fields):len(f.Fields)], Field{path, reason})
	return &c
}

// Naming returns a copy that names these faulty fields instead of its own, at most MaxFields of them. Its message
// lists them all.
func (f *Fault) Naming(fields ...Field) *Fault {
	c := *f
	c.Fields = slices.Clip(fields[:min(len(fields), MaxFields)])
	said := make([]string, len(c.Fields), len(c.Fields)+1)
	for i, named := range c.Fields {
		said[i] = named.Path + ": " + named.Reason
	}
	if len(fields) > MaxFields {
		said = append(said, "and more")
	}
	c.Message = strings.Join(said, "; ")
	return &c
}

// Lacking returns a copy that names the permission a caller lacked.
func (f *Fault) Lacking(permission, organization string) *Fault {
	c := *f
	c.Permission, c.Organization = permission, organization
	return &c
}

// After returns a copy with the time after which to try again.
func (f *Fault) After(d time.Duration) *Fault {
	c := *f
	c.RetryAfter = d
	return &c
}

// RetrySeconds returns the value of the header Retry-After for a time to wait. It is rounded up to whole seconds.
func RetrySeconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// Because returns a copy that keeps err for the log.
func (f *Fault) Because(err error) *Fault {
	c := *f
	c.cause = err
	return &c
}

// Error is for logs: the ID, the message and the cause.
func (f *Fault) Error() string {
	if f.cause != nil {
		return f.ID + ": " + f.Message + ": " + f.cause.Error()
	}
	return f.ID + ": " + f.Message
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.cause }

// Is makes errors.Is match by ID, so that a fault that crossed the wire equals the
// value it was declared as.
func (f *Fault) Is(target error) bool {
	t, ok := target.(*Fault)
	return ok && t.ID == f.ID
}

// From returns the fault in err's chain. For an exceeded deadline it returns ErrDeadlineExceeded, and for other errors
// an internal fault. Both have err as their cause.
func From(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrDeadlineExceeded.Because(err)
	}
	return ErrInternal.Because(err)
}

// IsOutage reports whether an error only says that something was away or too slow. Whoever watches that logs it once
// for the whole outage; whoever needed it does not log it again.
func IsOutage(err error) bool {
	code := From(err).Code
	return code == Unavailable || code == Deadline
}
