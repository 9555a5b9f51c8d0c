// Package rpc carries protobuf services over NATS request and reply. A service is registered as a whole with its
// generated description, so no code is written per method. Every request passes the same chain: log, measure, trace,
// outcome, recover, caller, permission, field rules, escalation, fresh login.
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
	// atOnce is how many requests a server works on at the same time. waiting is how many more may wait.
	atOnce   = 128
	waiting  = 1024
	drainFor = 10 * time.Second
)

// Config holds what a server needs in addition to its services.
type Config struct {
	Conn    *nats.Conn
	Signer  caller.Signer
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Tracer  trace.Tracer
	Now     func() time.Time
}

// Guard checks the escalation rule. A service whose methods act on users implements it.
type Guard interface {
	// MayActOn refuses the context's caller if the user has a permission that the caller does not have. It may leave
	// this check to the transaction of the change (target.LeaveToChange). Then the method fails if it changes
	// nothing. MayActOn is not called when callers act on themselves. If no user of the organization has the id, it
	// returns nil. The method then answers "not found", so that callers cannot tell a user of another organization
	// from a missing one.
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

// NewServer returns a server. It answers no requests until Register is called.
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

// Register subscribes to every method of a service. Replicas share the requests in a queue group. implementation must
// implement the generated server interface that desc describes. A service of Herald registers each gRPC service of
// its contract.
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

// line returns the name of the line in which a request with these headers waits.
func (s *Server) line(h nats.Header) string {
	c, _ := s.Signer.Verify(h.Get(headerCaller)) // a request that is refused later also needs a line
	return line(c)
}

// line returns the line for a caller's work: the organization that it acts on, or the service that calls on its own
// behalf. The name of a service's line contains a space, so it is never an organization's id.
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
		if _, known := errors.AsType[*fault.Fault](err); !known && !bus.IsOutage(err) {
			s.Log.ErrorContext(ctx, "answer not sent", "method", r.method.name, "err", err)
		}
	}
	s.refuse(r.Reply, err)
}

// Drain unsubscribes and waits until the running requests are answered. If the connection to NATS is lost, it returns
// after 10 s at the latest.
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

// refuse sends the fault of err as the answer.
func (s *Server) refuse(to string, err error) {
	data, err := proto.Marshal(fault.From(err).Status())
	if err != nil { // a text of the fault is not valid UTF-8
		data, _ = proto.Marshal(fault.ErrInternal.Status())
	}
	_ = s.Conn.PublishMsg(&nats.Msg{Subject: to, Data: data, Header: nats.Header{headerFault: {"1"}}})
}
