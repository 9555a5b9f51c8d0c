package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/queue"
)

// Undeclared is the log message about a fault that the contract of its method does not name.
const Undeclared = "the contract lacks the fault: add it to herald.v1.faults of the method"

// recovered turns a panic into an internal fault. The fault keeps the stack for the log.
func recovered(next endpoint.Endpoint) endpoint.Endpoint {
	return func(ctx context.Context, request any) (response any, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return next(ctx, request)
	}
}

// logged writes the cause of internal faults to the log, because the caller does not see it.
func logged(log *slog.Logger, name string) endpoint.Middleware {
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			response, err := next(ctx, request)
			if err != nil && fault.From(err).Code == fault.Internal {
				log.ErrorContext(ctx, "request failed", "method", name, "err", err)
			}
			return response, err
		}
	}
}

// declared logs a warning about a fault that the contract of the method does not name. The caller still gets the
// fault.
func declared(log *slog.Logger, name string, ids []string) endpoint.Middleware {
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			response, err := next(ctx, request)
			if err != nil && !slices.Contains(ids, fault.From(err).ID) {
				log.WarnContext(ctx, Undeclared, "method", name, "id", fault.From(err).ID)
			}
			return response, err
		}
	}
}

// decided makes errors say whether the request may have changed something. A safe method changes nothing. With
// fault.ErrUnavailable nothing was changed either.
func decided(safe bool) endpoint.Middleware {
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			response, err := next(ctx, request)
			if err == nil {
				return response, nil
			}
			if err = deadlineFault(ctx, err); !safe {
				err = fault.AfterWrite(err)
			}
			return response, err
		}
	}
}

// deadlineFault returns fault.ErrDeadlineExceeded for an internal fault of a request whose time is over.
func deadlineFault(ctx context.Context, err error) error {
	f := fault.From(err)
	if f.Code == fault.Internal && ctx.Err() != nil {
		return fault.ErrDeadlineExceeded.Because(err)
	}
	return f
}

// Seconds returns a histogram of times from half a millisecond to four seconds. All services of a process share the
// histogram with the same name.
func Seconds(metrics prometheus.Registerer, name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help,
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)}, labels)
	if registered, ok := errors.AsType[prometheus.AlreadyRegisteredError](metrics.Register(h)); ok {
		return registered.ExistingCollector.(*prometheus.HistogramVec)
	}
	return h
}

func measured(seconds *prometheus.HistogramVec, name string) endpoint.Middleware {
	good := sync.OnceValue(func() prometheus.Observer { return seconds.WithLabelValues(name, "ok") })
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			start := time.Now()
			response, err := next(ctx, request)
			if took := time.Since(start).Seconds(); err == nil {
				good().Observe(took)
			} else {
				seconds.WithLabelValues(name, fault.From(err).ID).Observe(took)
			}
			return response, err
		}
	}
}

func traced(tracer trace.Tracer, name string) endpoint.Middleware {
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			ctx, span := tracer.Start(ctx, name, options...)
			defer span.End()
			response, err := next(ctx, request)
			if err != nil {
				span.SetStatus(codes.Error, fault.From(err).ID)
			}
			return response, err
		}
	}
}

// called verifies the caller's signature and puts the caller into the context.
func called(signer caller.Signer) endpoint.Middleware {
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			headers := request.(*nats.Msg).Header[headerCaller]
			if len(headers) != 1 { // if there are two, the wrong one could be verified
				return nil, fault.ErrCallerNotAuthentic
			}
			c, err := signer.Verify(headers[0])
			if err != nil {
				return nil, err
			}
			if c.Service == "" {
				ctx = WithSigned(ctx, headers[0])
			}
			return next(queue.In(caller.With(ctx, c), line(c)), request)
		}
	}
}
