package edge

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"herald/gateway/internal/exchange"
	"herald/shared/fault"
	"herald/shared/outbound"
)

// end answers if the handler panicked, then measures and logs the request.
func (e *Edge) end(x *exchange.Exchange, r *http.Request) {
	defer x.Worked() // for a request that was aborted
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler: // the reason is logged already
		defer panic(p)
	default:
		f := x.Refuse(panicked(fmt.Sprintf("panic: %v\n%s", p, debug.Stack())))
		if x.Status == 0 {
			x.Form(x, r, f)
		} else {
			defer panic(http.ErrAbortHandler) // an incomplete answer must not look complete
		}
	}
	x.Status = cmp.Or(x.Status, http.StatusOK) // net/http sends 200 if nothing was written
	took := time.Since(x.Began)
	e.seconds.WithLabelValues(x.Route, strconv.Itoa(x.Status)).Observe(took.Seconds())
	span, level := trace.SpanFromContext(r.Context()), slog.LevelInfo
	span.SetName("HTTP " + x.Route)
	attributes := []slog.Attr{
		slog.String("http", r.Method[:min(len(r.Method), 10)]), slog.String("route", x.Route),
		slog.Int("status", x.Status), slog.Duration("took", took), slog.String("agent", outbound.Said(r.UserAgent())),
	}
	if x.Quiet {
		level = slog.LevelDebug
	}
	if x.Fault != nil {
		attributes = append(attributes, slog.String("fault", x.Fault.ID))
		span.SetStatus(codes.Error, x.Fault.ID)
		if cause := x.Fault.Unwrap(); cause != nil {
			attributes = append(attributes, slog.String("cause", causeText(cause)))
			if x.Fault.Code == fault.Internal {
				level = slog.LevelError
			}
		}
	}
	e.log.LogAttrs(r.Context(), level, "request", attributes...)
}

// panicked is a panic with its stack.
type panicked string

// Error implements error.
func (p panicked) Error() string { return string(p) }

// causeText returns the text of an error for the log. It can quote a stranger, except in that of a panic.
func causeText(err error) string {
	if p, ok := errors.AsType[panicked](err); ok {
		return p.Error()
	}
	return outbound.Said(err.Error())
}
