// Package rpc carries protobuf services over NATS request and reply. A service is
// registered whole, from its generated description; nothing is written per method.
// Every method passes the same middleware: recover, log, measure, trace, caller,
// permission, field rules.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/go-kit/kit/transport"
	kitnats "github.com/go-kit/kit/transport/nats"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
)

const (
	// atOnce is how many requests a server works on at a time, waiting how many may
	// wait for their turn, and patience for how long.
	atOnce   = 128
	waiting  = 1024
	patience = 2 * time.Second
	// staying is how many workers wait for the next request instead of ending.
	staying  = 32
	drainFor = 10 * time.Second
)

// Config is what a server needs besides its services.
type Config struct {
	Conn    *nats.Conn
	Signer  caller.Signer
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Tracer  trace.Tracer
	Now     func() time.Time
}

// Guard is implemented by services whose methods act on users: the rule of escalation.
type Guard interface {
	// MayActOn refuses a context's caller who lacks a permission of the user. It is not
	// asked whether callers may act on themselves, and lets everybody act on who is no user
	// of the organization acted on, so that users elsewhere look like missing ones.
	MayActOn(ctx context.Context, userID string) error
}

// Server answers the methods of one or more services.
type Server struct {
	Config
	seconds *prometheus.HistogramVec
	// present holds a token for each request that was let in, working for each that
	// has its turn.
	present, working chan struct{}
	// free holds a token for each worker that waits for what comes next.
	free    chan struct{}
	next    chan request
	stopped chan struct{}
	stop    func() // may be called twice
	busy    sync.WaitGroup
	subs    []*nats.Subscription
}

// request is a message and the method that it is for.
type request struct {
	*nats.Msg
	serve func(*nats.Msg)
}

// NewServer prepares a server, which answers nothing before Register.
func NewServer(c Config) *Server {
	s := &Server{Config: c, present: make(chan struct{}, atOnce+waiting), working: make(chan struct{}, atOnce),
		free: make(chan struct{}, staying), next: make(chan request), stopped: make(chan struct{})}
	s.stop = sync.OnceFunc(func() { close(s.stopped) })
	s.seconds = Seconds(c.Metrics, "herald_rpc_seconds", "Time from taking a request to its answer, by method and outcome.", "method", "outcome")
	return s
}

// Register subscribes every method of a service, as one of a queue group of equals.
// implementation is the generated server interface that desc describes.
func (s *Server) Register(desc *grpc.ServiceDesc, implementation any) error {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(desc.ServiceName))
	if err != nil {
		return fmt.Errorf("register %s: %w", desc.ServiceName, err)
	}
	methods, err := contract.Methods(found.(protoreflect.ServiceDescriptor))
	if err != nil {
		return err
	}
	handlers := map[string]grpc.MethodDesc{}
	for _, h := range desc.Methods {
		handlers[h.MethodName] = h
	}
	if _, err := contract.Events(protoregistry.GlobalFiles); err != nil {
		return err
	}
	guard, guards := implementation.(Guard)
	for _, m := range methods {
		if m.Access.ActsOn != "" && !guards {
			return fmt.Errorf("contract of %s: it has acts_on and nobody to ask: give %T a method MayActOn (rpc.Guard)", m.FullName(), implementation)
		}
		serve := s.serve(m, handlers[string(m.Name())], implementation, guard)
		sub, err := s.Conn.QueueSubscribe(m.Subject(), m.Owner(), func(msg *nats.Msg) { s.admit(request{msg, serve}) })
		if err != nil {
			return fmt.Errorf("subscribe %s: %w", m.Subject(), err)
		}
		s.subs = append(s.subs, sub)
	}
	return s.Conn.Flush()
}

// admit serves a request beside the others: a subscription delivers its messages one
// at a time. A request whose turn does not come is told so, not left to wait.
func (s *Server) admit(r request) {
	select {
	case s.present <- struct{}{}:
	default:
		s.overloaded(r.Msg)
		return
	}
	s.busy.Add(1)
	select {
	case s.next <- r:
	default:
		go s.work(r)
	}
}

// work answers one request after the other: whoever stays need not grow a stack for
// each.
func (s *Server) work(r request) {
	for {
		s.answer(r)
		select {
		case s.free <- struct{}{}:
		default:
			return
		}
		select {
		case r = <-s.next:
			<-s.free
		case <-s.stopped:
			return
		}
	}
}

func (s *Server) answer(r request) {
	defer s.busy.Done()
	defer func() { <-s.present }()
	if !s.turn() {
		s.overloaded(r.Msg)
		return
	}
	defer func() { <-s.working }()
	r.serve(r.Msg)
}

// turn waits for a request's turn; false when patience ends.
func (s *Server) turn() bool {
	select {
	case s.working <- struct{}{}:
		return true
	default:
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case s.working <- struct{}{}:
		return true
	case <-limit.C:
		return false
	}
}

func (s *Server) overloaded(m *nats.Msg) {
	refuse(context.Background(), fault.ErrOverloaded.After(time.Second), m.Reply, s.Conn)
}

func (s *Server) serve(m contract.Method, h grpc.MethodDesc, implementation any, guard Guard) func(*nats.Msg) {
	wrap := endpoint.Chain(logged(s.Log, m), measured(s.seconds, m), traced(s.Tracer, m), recovered, s.called, admitted(m), checked(m), s.guarded(m, guard))
	answer := func(ctx context.Context, request any) (any, error) {
		var refused error
		decode := func(v any) error {
			refused = proto.Unmarshal(request.(*nats.Msg).Data, v.(proto.Message))
			return nil
		}
		around := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			return wrap(func(ctx context.Context, req any) (any, error) {
				if refused != nil {
					return nil, fault.ErrInvalid.Because(refused)
				}
				return next(ctx, req)
			})(withMessage(ctx, request.(*nats.Msg)), req)
		}
		return h.Handler(implementation, ctx, decode, around)
	}
	return kitnats.NewSubscriber(answer, whole, reply, kitnats.SubscriberBefore(incoming), kitnats.SubscriberErrorEncoder(refuse),
		kitnats.SubscriberErrorHandler(unsent(s.Log, m))).ServeMsg(s.Conn)
}

// unsent writes why an answer could not be sent; the faults of requests are logged
// by the time they get there.
func unsent(log *slog.Logger, m contract.Method) transport.ErrorHandler {
	return transport.ErrorHandlerFunc(func(ctx context.Context, err error) {
		if _, known := errors.AsType[*fault.Fault](err); !known {
			log.ErrorContext(ctx, "answer not sent", "method", m.Procedure(), "err", err)
		}
	})
}

type messageKey struct{}

func withMessage(ctx context.Context, m *nats.Msg) context.Context {
	return context.WithValue(ctx, messageKey{}, m)
}

// called puts the request's caller into the context, if its signature holds.
func (s *Server) called(next endpoint.Endpoint) endpoint.Endpoint {
	return func(ctx context.Context, request any) (any, error) {
		headers := ctx.Value(messageKey{}).(*nats.Msg).Header[headerCaller]
		if len(headers) != 1 { // of two the wrong one could be believed
			return nil, caller.ErrForged
		}
		c, err := s.Signer.Verify(headers[0])
		if err != nil {
			return nil, err
		}
		if c.Service == "" {
			ctx = WithSigned(ctx, headers[0])
		}
		return next(caller.With(ctx, c), request)
	}
}

// Drain leaves the queue groups, then waits for the requests under way. Where NATS is
// away there is nobody to leave; where it goes meanwhile, Drain gives up after 10 s.
func (s *Server) Drain() {
	defer s.stop()
	closed := make(chan struct{}, len(s.subs))
	for _, sub := range s.subs {
		sub.SetClosedHandler(func(string) { closed <- struct{}{} })
		leave := sub.Drain
		if !s.Conn.IsConnected() {
			leave = sub.Unsubscribe
		}
		if leave() != nil {
			closed <- struct{}{}
		}
	}
	limit := time.After(drainFor)
	for range s.subs {
		select {
		case <-closed:
		case <-limit:
			return
		}
	}
	s.busy.Wait()
}

func whole(_ context.Context, m *nats.Msg) (any, error) { return m, nil }

func reply(ctx context.Context, to string, nc *nats.Conn, response any) error {
	data, err := proto.Marshal(response.(proto.Message))
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: to, Data: data, Header: nats.Header{}}
	writeAnswerHeaders(ctx, m.Header)
	if err = nc.PublishMsg(m); errors.Is(err, nats.ErrMaxPayload) {
		return fault.ErrTooLarge
	}
	return err
}

// refuse answers with the fault inside err.
func refuse(_ context.Context, err error, to string, nc *nats.Conn) {
	data, err := proto.Marshal(fault.From(err).Status())
	if err != nil { // a text in it is not valid UTF-8
		data, _ = proto.Marshal(fault.ErrInternal.Status())
	}
	_ = nc.PublishMsg(&nats.Msg{Subject: to, Data: data, Header: nats.Header{headerFault: {"1"}}})
}
