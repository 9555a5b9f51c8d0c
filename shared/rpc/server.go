// Package rpc carries protobuf services over NATS request and reply. A service is
// registered as a whole from its generated description; no code is written per method.
// Every request passes the same chain: log, measure, trace, outcome, recover, caller, permission,
// field rules, escalation, fresh login.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/queue"
)

const (
	// atOnce is how many requests a server works on at a time, and waiting how many may wait.
	atOnce   = 128
	waiting  = 1024
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

// Guard is the escalation rule. Services implement it whose methods act on users.
type Guard interface {
	// MayActOn refuses the context's caller if the user has a permission that the caller
	// lacks, or leaves that to the transaction of the change (target.LeaveToChange). A method
	// that then changes nothing fails. MayActOn is not called when callers act on themselves.
	// For an id that is no user of the organization it returns nil: the method then answers
	// "not found", so that a user of another organization looks like a missing one.
	MayActOn(ctx context.Context, target *caller.Target) error
}

// Server answers the methods of one or more services of a contract.
type Server struct {
	Config
	seconds  *prometheus.HistogramVec
	pool     *queue.Pool[request]
	subs     []*nats.Subscription
	held     held
	liveness *liveness
}

// NewServer returns a server that answers nothing before Register.
func NewServer(c Config) *Server {
	s := &Server{Config: c, held: held{all: map[heldKey]struct{}{}}, liveness: newLiveness()}
	s.pool = queue.NewPool(queue.New(atOnce, waiting), s.answer, func(r request, err error) {
		if s.done(r); !r.hedged {
			s.refuse(r.Reply, err)
		}
	})
	s.seconds = Seconds(c.Metrics, "herald_rpc_seconds",
		"Time from taking a request to its answer, by method and outcome.", "method", "outcome")
	go s.watch()
	return s
}

// Register subscribes to every method of a service. Replicas share the requests in a queue
// group. implementation has the generated server interface that desc describes. A service of Herald has as many of
// these services as its contract.
func (s *Server) Register(desc *grpc.ServiceDesc, implementation any) error {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(desc.ServiceName))
	if err != nil {
		return fmt.Errorf("register %s: %w", desc.ServiceName, err)
	}
	if asked := reflect.TypeOf(desc.HandlerType).Elem(); !reflect.TypeOf(implementation).Implements(asked) {
		return fmt.Errorf("register %s: %T lacks methods of %s", desc.ServiceName, implementation, asked)
	}
	methods, err := contract.Methods(found.(protoreflect.ServiceDescriptor))
	if err != nil {
		return err
	}
	if _, err := contract.LinkedEvents(); err != nil {
		return err
	}
	handlers := map[string]grpc.MethodDesc{}
	for _, h := range desc.Methods {
		handlers[h.MethodName] = h
	}
	for _, m := range methods {
		served, err := s.method(m, handlers[string(m.Name())], implementation)
		if err != nil {
			return fmt.Errorf("contract of %s: %w", m.FullName(), err)
		}
		if err := s.subscribe(served); err != nil {
			return err
		}
	}
	return s.Conn.Flush()
}

// line returns in which line a request waits that has these headers.
func (s *Server) line(h nats.Header) string {
	c, _ := s.Signer.Verify(h.Get(headerCaller)) // a request that is refused later has a line too
	return line(c)
}

// line returns whose load a caller's work is: that of the organization acted on, or of the service that calls on
// its own behalf. No organization has such an id.
func line(c caller.Caller) string {
	if c.Service != "" {
		return "service " + c.Service
	}
	return c.OrganizationID
}

// answer serves a request.
func (s *Server) answer(r request) {
	defer s.done(r)
	ctx, cancel := incoming(r.Header)
	defer cancel()
	response, err := r.method.chain(ctx, r.Msg)
	if err == nil {
		if err = s.send(ctx, r.Reply, response.(proto.Message)); err == nil {
			return
		}
		if _, known := errors.AsType[*fault.Fault](err); !known && !bus.Told(err) {
			s.Log.ErrorContext(ctx, "answer not sent", "method", r.method.name, "err", err)
		}
	}
	s.refuse(r.Reply, err)
}

// Drain unsubscribes, then waits for the requests under way. If the connection to NATS is
// lost meanwhile, it returns after 10 s.
func (s *Server) Drain() {
	defer s.pool.Close()
	close(s.liveness.stop)
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
	s.pool.Wait()
}

func (s *Server) send(ctx context.Context, to string, response proto.Message) error {
	data, err := proto.Marshal(response)
	if err != nil {
		return err
	}
	err = s.Conn.PublishMsg(&nats.Msg{Subject: to, Data: data, Header: answerHeadersOf(ctx)})
	if errors.Is(err, nats.ErrMaxPayload) {
		return fault.ErrAnswerTooLarge
	}
	return err
}

// refuse sends the fault inside err as the answer.
func (s *Server) refuse(to string, err error) {
	data, err := proto.Marshal(fault.From(err).Status())
	if err != nil { // a text in it is not valid UTF-8
		data, _ = proto.Marshal(fault.ErrInternal.Status())
	}
	_ = s.Conn.PublishMsg(&nats.Msg{Subject: to, Data: data, Header: nats.Header{headerFault: {"1"}}})
}
