package rpc

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
)

// method is one method as it is served.
type method struct {
	contract.Method
	name           string
	handle         func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error)
	implementation any
	guard          Guard
	now            func() time.Time
	// project and actsOn are the request's fields that the contract names, or nil.
	project, actsOn protoreflect.FieldDescriptor
	// chain answers a *nats.Msg with a proto.Message.
	chain endpoint.Endpoint
}

// method builds a method's chain, once.
func (s *Server) method(m contract.Method, h grpc.MethodDesc, implementation any) (*method, error) {
	guard, guards := implementation.(Guard)
	if m.Access.ActsOn != "" && !guards {
		return nil, fmt.Errorf("it has acts_on and nobody to ask: give %T a method MayActOn (rpc.Guard)",
			implementation)
	}
	field := func(name string) protoreflect.FieldDescriptor {
		return m.Input().Fields().ByName(protoreflect.Name(name))
	}
	served := &method{
		Method: m, name: m.Procedure(), handle: h.Handler, implementation: implementation, guard: guard, now: s.Now,
		project: field(m.Access.Project), actsOn: field(m.Access.ActsOn),
	}
	served.chain = endpoint.Chain(logged(s.Log, served.name), measured(s.seconds, served.name),
		traced(s.Tracer, served.name), recovered, called(s.Signer))(served.serve)
	return served, nil
}

// serve answers the request of a caller who is known by now. The generated handler makes
// a request for the bytes to be read into, and calls the method only where that went well.
func (m *method) serve(ctx context.Context, msg any) (any, error) {
	return m.handle(m.implementation, ctx, func(request any) error {
		return m.read(ctx, msg.(*nats.Msg).Data, request.(proto.Message))
	}, nil)
}

// read refuses in the order permission, form, field rules, escalation, fresh login. A
// caller without permission learns nothing of what is wrong with a request.
func (m *method) read(ctx context.Context, data []byte, request proto.Message) error {
	unreadable := proto.Unmarshal(data, request)
	c, projectID := caller.From(ctx), ""
	if m.project != nil {
		projectID = request.ProtoReflect().Get(m.project).String()
	}
	if err := admit(m.Method, c, projectID); err != nil {
		return err
	}
	if unreadable != nil {
		return fault.ErrInvalid.Because(unreadable)
	}
	if err := m.Check(request); err != nil {
		return err
	}
	return m.protect(ctx, c, request)
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

// ErrFreshLogin answers callers who would change their own way in with a login, or a
// token of none, that somebody else may have found by now.
var ErrFreshLogin = fault.New(fault.Denied, "FRESH_LOGIN_REQUIRED", "This takes a login that is at most 10 minutes old")

// freshFor is how old a login may be for changes of one's own way in.
const freshFor = 10 * time.Minute

// protect keeps users from callers who hold less, and callers from whoever has only their
// token.
func (m *method) protect(ctx context.Context, c caller.Caller, request proto.Message) error {
	self := true
	if m.actsOn != nil {
		userID := request.ProtoReflect().Get(m.actsOn).String()
		if self = userID == c.UserID; !self {
			if err := m.guard.MayActOn(ctx, userID); err != nil {
				return err
			}
		}
	}
	if m.Access.FreshLogin && self && m.now().Sub(c.AuthenticatedAt) > freshFor {
		return ErrFreshLogin
	}
	return nil
}
