package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
)

const (
	// MaxDuration is how long a request of any method may take.
	MaxDuration = 30 * time.Second
	// hedgeDelay is how long a request to a safe method waits before it is sent to all replicas.
	hedgeDelay = 750 * time.Millisecond
	// maxHedges is the largest number of requests of a process that are hedged at the same time. When all services
	// are slow, more hedged requests would only make them slower.
	maxHedges = 256
)

var (
	errStream   = errors.New("rpc: streams are not carried over NATS")
	errAnswered = errors.New("rpc: another replica has answered")
)

// Conn lets generated clients call services over NATS:
//
//	usersv1.NewInternalClient(rpc.NewConn(nc, signer, "notification", log))
//
// A call is made for the caller in its context. Without one, or after OnOwnBehalf, the
// service itself is the caller.
type Conn struct {
	nc      *nats.Conn
	signer  caller.Signer
	service string
	session atomic.Pointer[session]
	// hedges has one element for each hedged request without an answer.
	hedges chan struct{}
	silent *silent
}

// route holds the NATS subjects for the requests of a method. hedge is empty if the method writes.
type route struct {
	contract.Method
	subject, hedge string
}

// routes returns the routes of all methods that are linked into the program, by procedure. If a contract has errors,
// its methods have no routes. This is safe, because services with such a contract do not start.
var routes = sync.OnceValue(func() map[string]*route {
	methods, _ := contract.AllMethods()
	all := map[string]*route{}
	for _, m := range methods {
		to := &route{Method: m, subject: m.Subject()}
		if m.Safe() {
			to.hedge = m.HedgeSubject()
		}
		all[m.Procedure()] = to
	}
	return all
})

// session lasts until the connection is lost. Requests that wait at that moment get no answer, because answers do not
// arrive on the next connection.
type session struct {
	context.Context
	end context.CancelFunc
}

// NewConn returns a Conn for calls by the service of that name. It logs which services do not answer.
func NewConn(nc *nats.Conn, signer caller.Signer, service string, log *slog.Logger) *Conn {
	c := &Conn{
		nc: nc, signer: signer, service: service, hedges: make(chan struct{}, maxHedges), silent: &silent{log: log},
	}
	c.session.Store(newSession())
	go c.watch(nc.StatusChanged(nats.RECONNECTING, nats.CLOSED))
	return c
}

func newSession() *session {
	ctx, end := context.WithCancel(context.Background())
	return &session{ctx, end}
}

// watch ends the session each time the connection is lost. It returns when the connection is closed.
func (c *Conn) watch(changes chan nats.Status) {
	defer c.nc.RemoveStatusListener(changes)
	for status := range changes {
		c.session.Swap(newSession()).end()
		if status == nats.CLOSED {
			return
		}
	}
}

// Invoke implements grpc.ClientConnInterface.
func (c *Conn) Invoke(ctx context.Context, procedure string, args, reply any, _ ...grpc.CallOption) error {
	data, err := proto.Marshal(args.(proto.Message))
	if err != nil {
		return fmt.Errorf("encode %s: %w", procedure, err)
	}
	answer, err := c.Forward(ctx, procedure, data)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(answer.Data, reply.(proto.Message)); err != nil {
		return fmt.Errorf("decode the answer of %s: %w", procedure, err)
	}
	return nil
}

// NewStream implements grpc.ClientConnInterface. It always fails, because NATS carries no streams.
func (*Conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errStream
}

// Answer is an encoded message with the headers for the HTTP client.
type Answer struct {
	Data   []byte
	Header http.Header
}

// Forward sends an encoded request and returns the encoded answer. It is for callers that do not read the messages.
func (c *Conn) Forward(ctx context.Context, procedure string, request []byte) (Answer, error) {
	to := routes()[procedure]
	if to == nil {
		return Answer{}, fmt.Errorf("rpc: no contract has %s", procedure)
	}
	if at, limited := ctx.Deadline(); !limited || time.Until(at) > to.Limit {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, to.Limit)
		defer cancel()
	}
	m := &nats.Msg{Subject: to.subject, Data: request, Header: nats.Header{}}
	outgoing(ctx, m.Header)
	if to.hedge != "" && m.Header.Get(headerRequestID) == "" { // replicas identify the request by this id
		m.Header.Set(headerRequestID, NewRequestID())
	}
	if header := signed(ctx); header != "" {
		m.Header.Set(headerCaller, header)
	} else {
		m.Header.Set(headerCaller, c.signer.Sign(caller.Caller{Service: c.service}))
	}
	sent := time.Now()
	r, err := c.request(ctx, to, m)
	c.silent.noted(to.Owner(), sent, to.Limit, err)
	if err != nil {
		return Answer{}, unanswered(err, to.hedge == "")
	}
	if r.Header.Get(headerFault) != "" {
		var s status.Status
		if err := proto.Unmarshal(r.Data, &s); err != nil {
			return Answer{}, fmt.Errorf("decode the fault of %s: %w", procedure, err)
		}
		return Answer{}, fault.FromStatus(&s)
	}
	answer := Answer{Data: r.Data}
	for name, values := range r.Header {
		if name, ok := strings.CutPrefix(name, headerAnswer); ok {
			if answer.Header == nil {
				answer.Header = http.Header{}
			}
			answer.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return answer, nil
}

// request waits for the answer until ctx ends or the connection is lost. A request to a safe method is hedged: if
// there is no answer in time, it is sent to all replicas, because the first replica may be frozen or stopped.
func (c *Conn) request(ctx context.Context, to *route, m *nats.Msg) (*nats.Msg, error) {
	ctx, drop := context.WithCancelCause(ctx)
	defer drop(nil)
	defer context.AfterFunc(c.session.Load(), func() { drop(nats.ErrDisconnected) })()
	var other *nats.Msg
	if to.hedge != "" {
		defer time.AfterFunc(hedgeDelay, func() {
			select {
			case c.hedges <- struct{}{}:
				defer func() { <-c.hedges }()
			default:
				return
			}
			r, err := c.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: to.hedge, Data: m.Data, Header: m.Header})
			if err == nil {
				other = r
				drop(errAnswered)
			}
		}).Stop()
	}
	r, err := c.nc.RequestMsgWithContext(ctx, m)
	switch cause := context.Cause(ctx); {
	case err == nil:
	case errors.Is(cause, errAnswered):
		return other, nil
	case errors.Is(cause, nats.ErrDisconnected):
		err = nats.ErrDisconnected
	}
	return r, err
}

// unanswered returns the fault for a request without an answer. It is fault.ErrDeadlineExceeded if the time limit is
// over, because the request may have been served. Otherwise it is fault.ErrUnavailable. If the method writes and the
// connection was lost, the cause is fault.ErrUnsure, because a service may have served the request. A request that
// was cancelled or is too large gets no fault, because sending it again would not help.
func unanswered(err error, writes bool) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return fault.ErrDeadlineExceeded.Because(err)
	case errors.Is(err, context.Canceled), errors.Is(err, nats.ErrMaxPayload):
		return err
	case writes && (errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrConnectionClosed)):
		err = fmt.Errorf("%w: %w", fault.ErrUnsure, err)
	}
	return fault.ErrUnavailable.After(time.Second).Because(err)
}
