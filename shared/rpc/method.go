package rpc

import (
	"context"
	"errors"
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

// method is one method that a server serves.
type method struct {
	contract.Method
	name           string
	handle         func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error)
	implementation any
	guard          Guard
	now            func() time.Time
	// project, actsOn and endsToken are the fields of the request that the contract names. They are nil if it names
	// none. user is the field with the user who is acted on, also if the escalation rule does not protect that user.
	project, actsOn, endsToken, user protoreflect.FieldDescriptor
	// chain takes a *nats.Msg and returns the answer, a proto.Message.
	chain endpoint.Endpoint
	// safe reports whether the method changes nothing.
	safe bool
}

// method makes a method ready to serve requests. It fails if the contract has acts_on and the implementation is not a
// Guard.
func (s *Server) method(m contract.Method, h grpc.MethodDesc, implementation any) (*method, error) {
	guard, guards := implementation.(Guard)
	if m.Access.ActsOn != "" && !guards {
		return nil, fmt.Errorf("it has acts_on, which needs rpc.Guard: give %T the method MayActOn", implementation)
	}
	field := func(name string) protoreflect.FieldDescriptor {
		return m.Input().Fields().ByName(protoreflect.Name(name))
	}
	served := &method{
		Method: m, name: m.Procedure(), handle: h.Handler, implementation: implementation, guard: guard, now: s.Now,
		project: field(m.Access.Project), actsOn: field(m.Access.ActsOn), endsToken: field(m.Access.EndsToken),
		user: m.User(), safe: m.Safe(),
	}
	served.chain = endpoint.Chain(declared(s.Log, served.name, m.Faults), logged(s.Log, served.name),
		measured(s.seconds, served.name), traced(s.Tracer, served.name), decided(served.safe), recovered,
		called(s.Signer))(served.serve)
	return served, nil
}

// serve answers a request whose caller is in ctx. The generated handler makes an empty request and calls the function
// that reads it. It calls the method only if reading succeeds.
func (m *method) serve(ctx context.Context, msg any) (any, error) {
	var target *caller.Target
	if m.actsOn != nil {
		target = &caller.Target{Costly: m.Access.Costly}
		ctx = caller.WithTarget(ctx, target)
	}
	var in proto.Message
	response, err := m.handle(m.implementation, ctx, func(request any) error {
		in = request.(proto.Message)
		return m.read(ctx, msg.(*nats.Msg).Data, in)
	}, nil)
	if err == nil && target.Unchecked() {
		return nil, fmt.Errorf("%s left the escalation rule to a change and made none in event.Journal", m.name)
	}
	if errors.Is(err, fault.ErrUnstorable) {
		err = contract.NameUnstorable(fault.From(err), in)
	}
	return response, err
}

// read decodes a request and checks it in this order: permission, encoding, field rules, escalation, fresh login. The
// permission is first, so that a caller without permission learns nothing about the request.
func (m *method) read(ctx context.Context, data []byte, request proto.Message) error {
	unreadable := proto.Unmarshal(data, request)
	c, projectID := caller.From(ctx), ""
	if m.project != nil {
		projectID = request.ProtoReflect().Get(m.project).String()
	}
	if err := authorize(m.Method, c, projectID); err != nil {
		return err
	}
	if unreadable != nil {
		return fault.ErrInvalidArgument.Say("The message is not an encoded %s", m.Input().Name()).Because(unreadable)
	}
	if err := m.Check(request); err != nil {
		return err
	}
	return m.protect(ctx, c, request)
}

// authorize checks that the contract lets the caller call the method.
func authorize(m contract.Method, c caller.Caller, projectID string) error {
	a := m.Access
	switch {
	case a.Public:
		return nil
	case len(a.Internal) > 0:
		if c.Service != "" && slices.Contains(a.Internal, c.Service) {
			return nil
		}
		return fault.ErrPermissionDenied.Say("%s is not called from here", m.Name())
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
	return fault.ErrPermissionDenied.Lacking(permission, organizationID).
		Say("Permission %s is missing in organization %s", permission, organizationID)
}

// protect checks escalation, applications and fresh login. The escalation rule protects users from callers who have
// fewer permissions. Applications may not keep the account of the caller. The fresh login protects callers whose token
// was stolen.
func (m *method) protect(ctx context.Context, c caller.Caller, request proto.Message) error {
	self := m.user == nil || request.ProtoReflect().Get(m.user).String() == c.UserID
	if m.actsOn != nil {
		target := caller.TargetOf(ctx)
		target.UserID = request.ProtoReflect().Get(m.actsOn).String()
		if !self {
			if err := m.guard.MayActOn(ctx, target); err != nil {
				return err
			}
		}
	}
	if m.Access.NotForApps && self && c.Untrusted() {
		return fault.ErrAppNotTrusted
	}
	if !m.Access.FreshLogin || !self || m.now().Sub(c.AuthenticatedAt) <= caller.FreshLogin {
		return nil
	}
	if m.endsToken != nil && c.TokenID != "" && request.ProtoReflect().Get(m.endsToken).String() == c.TokenID {
		return nil
	}
	return fault.ErrFreshLoginRequired
}
