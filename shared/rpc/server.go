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
	kitnats "github.com/go-kit/kit/transport/nats"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/caller"
	"herald/shared/fault"
)

const (
	// workers is how many requests a server works on at a time, waiting how many may
	// wait for one of them, and patience for how long.
	workers  = 64
	waiting  = 1024
	patience = 2 * time.Second
	drainFor = 10 * time.Second
)

// Config is what a server needs besides its services.
type Config struct {
	Conn    *nats.Conn
	Signer  caller.Signer
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Tracer  trace.Tracer
}

// Server answers the methods of one or more services.
type Server struct {
	Config
	seconds *prometheus.HistogramVec
	queue   chan job
	busy    sync.WaitGroup
	subs    []*nats.Subscription
}

type job struct {
	serve func(*nats.Msg)
	msg   *nats.Msg
	came  time.Time
}

// NewServer starts a server's workers. Drain stops them.
func NewServer(c Config) *Server {
	s := &Server{Config: c, queue: make(chan job, waiting)}
	s.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "herald_rpc_seconds", Help: "Time from taking a request to its answer, by method and outcome.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
	}, []string{"method", "outcome"})
	if known, ok := errors.AsType[prometheus.AlreadyRegisteredError](c.Metrics.Register(s.seconds)); ok {
		s.seconds = known.ExistingCollector.(*prometheus.HistogramVec)
	}
	for range workers {
		s.busy.Go(s.work)
	}
	return s
}

// Register subscribes every method of a service, as one of a queue group of equals.
// implementation is the generated server interface that desc describes.
func (s *Server) Register(desc *grpc.ServiceDesc, implementation any) error {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(desc.ServiceName))
	if err != nil {
		return fmt.Errorf("register %s: %w", desc.ServiceName, err)
	}
	methods, err := Methods(found.(protoreflect.ServiceDescriptor))
	if err != nil {
		return err
	}
	handlers := map[string]grpc.MethodDesc{}
	for _, h := range desc.Methods {
		handlers[h.MethodName] = h
	}
	for _, m := range methods {
		serve := s.serve(m, handlers[string(m.Name())], implementation)
		sub, err := s.Conn.QueueSubscribe(m.Subject(), m.Owner(), func(msg *nats.Msg) {
			select {
			case s.queue <- job{serve, msg, time.Now()}:
			default:
				refuse(context.Background(), fault.ErrOverloaded.After(time.Second), msg.Reply, s.Conn)
			}
		})
		if err != nil {
			return fmt.Errorf("subscribe %s: %w", m.Subject(), err)
		}
		s.subs = append(s.subs, sub)
	}
	return s.Conn.Flush()
}

// work runs one worker. A subscription delivers its messages one at a time; the
// queue is what makes them parallel.
func (s *Server) work() {
	for j := range s.queue {
		if time.Since(j.came) > patience {
			refuse(context.Background(), fault.ErrOverloaded.After(time.Second), j.msg.Reply, s.Conn)
			continue
		}
		j.serve(j.msg)
	}
}

func (s *Server) serve(m Method, h grpc.MethodDesc, implementation any) func(*nats.Msg) {
	wrap := endpoint.Chain(logged(s.Log, m), measured(s.seconds, m), traced(s.Tracer, m), recovered, s.called, admitted(m), checked(m))
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
	return kitnats.NewSubscriber(answer, whole, reply, kitnats.SubscriberBefore(incoming), kitnats.SubscriberErrorEncoder(refuse)).ServeMsg(s.Conn)
}

type messageKey struct{}

func withMessage(ctx context.Context, m *nats.Msg) context.Context {
	return context.WithValue(ctx, messageKey{}, m)
}

// called puts the request's caller into the context, if its signature holds.
func (s *Server) called(next endpoint.Endpoint) endpoint.Endpoint {
	return func(ctx context.Context, request any) (any, error) {
		header := ctx.Value(messageKey{}).(*nats.Msg).Header.Get(headerCaller)
		c, err := s.Signer.Verify(header)
		if err != nil {
			return nil, err
		}
		if c.Service == "" {
			ctx = WithSigned(ctx, header)
		}
		return next(caller.With(ctx, c), request)
	}
}

// Drain leaves the queue groups, then waits for the requests under way.
func (s *Server) Drain() {
	closed := make(chan struct{}, len(s.subs))
	for _, sub := range s.subs {
		sub.SetClosedHandler(func(string) { closed <- struct{}{} })
		if sub.Drain() != nil {
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
	close(s.queue)
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
	if err != nil {
		return // the sender's time runs out; there is nobody else to tell
	}
	_ = nc.PublishMsg(&nats.Msg{Subject: to, Data: data, Header: nats.Header{headerFault: {"1"}}})
}
