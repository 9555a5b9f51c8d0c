package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
)

// recovered turns a panic into an internal fault that keeps the stack for the log.
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

// logged writes what stays behind at the wire: the cause of internal faults.
func logged(log *slog.Logger, m contract.Method) endpoint.Middleware {
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			response, err := next(ctx, request)
			if err != nil {
				if err = known(ctx, err); fault.From(err).Code == fault.Internal {
					log.ErrorContext(ctx, "request failed", "method", m.Procedure(), "err", err)
				}
			}
			return response, err
		}
	}
}

// known gives the end of a request's time its own fault, whoever noticed it.
func known(ctx context.Context, err error) error {
	f := fault.From(err)
	if f.Code == fault.Internal && ctx.Err() != nil {
		return fault.ErrDeadline.Because(err)
	}
	return f
}

// Seconds is a histogram of times from half a millisecond to four seconds, the same
// one for all in the process who ask for its name.
func Seconds(metrics prometheus.Registerer, name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)}, labels)
	if known, ok := errors.AsType[prometheus.AlreadyRegisteredError](metrics.Register(h)); ok {
		return known.ExistingCollector.(*prometheus.HistogramVec)
	}
	return h
}

func measured(seconds *prometheus.HistogramVec, m contract.Method) endpoint.Middleware {
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			start := time.Now()
			response, err := next(ctx, request)
			outcome := "ok"
			if err != nil {
				outcome = fault.From(err).ID
			}
			seconds.WithLabelValues(m.Procedure(), outcome).Observe(time.Since(start).Seconds())
			return response, err
		}
	}
}

func traced(tracer trace.Tracer, m contract.Method) endpoint.Middleware {
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			ctx, span := tracer.Start(ctx, m.Procedure(), trace.WithSpanKind(trace.SpanKindServer))
			defer span.End()
			response, err := next(ctx, request)
			if err != nil {
				span.SetStatus(codes.Error, fault.From(err).ID)
			}
			return response, err
		}
	}
}

// admitted lets those in whom the contract names, and nobody else.
func admitted(m contract.Method) endpoint.Middleware {
	project := m.Input().Fields().ByName(protoreflect.Name(m.Access.Project))
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			c, projectID := caller.From(ctx), ""
			if project != nil {
				projectID = request.(proto.Message).ProtoReflect().Get(project).String()
			}
			if err := admit(m, c, projectID); err != nil {
				return nil, err
			}
			return next(ctx, request)
		}
	}
}

func admit(m contract.Method, c caller.Caller, projectID string) error {
	a := m.Access
	switch {
	case a.Public:
		return nil
	case len(a.Internal) > 0:
		if c.Service != "" && slices.Contains(a.Internal, c.Service) {
			return nil
		}
		return fault.ErrDenied.Say("%s is not called from here", m.Name())
	case c.UserID == "":
		return fault.ErrUnauthenticated
	case a.Authenticated, c.Can(a.Permission, projectID):
		return nil
	default:
		return Denied(a.Permission, c.OrganizationID)
	}
}

// Denied is the fault of a caller who lacks a permission in an organization.
func Denied(permission, organizationID string) *fault.Fault {
	return fault.ErrDenied.Lacking(permission, organizationID).
		Say("Permission %s is missing in organization %s", permission, organizationID)
}

// checked holds the field rules of the contract.
func checked(m contract.Method) endpoint.Middleware {
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		return func(ctx context.Context, request any) (any, error) {
			if err := m.Check(request.(proto.Message)); err != nil {
				return nil, err
			}
			return next(ctx, request)
		}
	}
}

// ErrFreshLogin answers callers who would change their own way in with a login, or a
// token of none, that somebody else may have found by now.
var ErrFreshLogin = fault.New(fault.Denied, "FRESH_LOGIN_REQUIRED", "This takes a login that is at most 10 minutes old")

// freshFor is how old a login may be for changes of one's own way in.
const freshFor = 10 * time.Minute

// guarded protects the user whom a method acts on from callers who hold less, and
// callers from whoever has only their token.
func (s *Server) guarded(m contract.Method, guard Guard) endpoint.Middleware {
	actsOn := m.Input().Fields().ByName(protoreflect.Name(m.Access.ActsOn))
	return func(next endpoint.Endpoint) endpoint.Endpoint {
		if actsOn == nil && !m.Access.FreshLogin {
			return next
		}
		return func(ctx context.Context, request any) (any, error) {
			c := caller.From(ctx)
			self := true
			if actsOn != nil {
				userID := request.(proto.Message).ProtoReflect().Get(actsOn).String()
				if self = userID == c.UserID; !self {
					if err := guard.MayActOn(ctx, userID); err != nil {
						return nil, err
					}
				}
			}
			if m.Access.FreshLogin && self && s.Now().Sub(c.AuthenticatedAt) > freshFor {
				return nil, ErrFreshLogin
			}
			return next(ctx, request)
		}
	}
}
