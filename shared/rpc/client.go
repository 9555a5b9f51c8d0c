package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
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

// MaxDuration is how long a request may take whose sender named no shorter time.
const MaxDuration = 30 * time.Second

var errStream = errors.New("rpc: streams are not carried over NATS")

// Conn lets generated clients call services over NATS:
//
//	usersv1.NewUsersClient(rpc.NewConn(nc, signer, "notification"))
//
// A call carries the caller that its context came with; without one, or after
// OnOwnBehalf, it is made on the service's own behalf.
type Conn struct {
	nc      *nats.Conn
	signer  caller.Signer
	service string
	spell   atomic.Pointer[spell]
}

// spell is the time between two losses of the connection. The answers to the requests
// of one do not come in the next.
type spell struct {
	context.Context
	end context.CancelFunc
}

// NewConn returns the calling end for a service of that name, for as long as the
// connection is not closed.
func NewConn(nc *nats.Conn, signer caller.Signer, service string) *Conn {
	c := &Conn{nc: nc, signer: signer, service: service}
	c.spell.Store(newSpell())
	go c.watch(nc.StatusChanged(nats.RECONNECTING, nats.CLOSED))
	return c
}

func newSpell() *spell {
	ctx, end := context.WithCancel(context.Background())
	return &spell{ctx, end}
}

// watch ends a spell when the connection drops.
func (c *Conn) watch(changes chan nats.Status) {
	defer c.nc.RemoveStatusListener(changes)
	for status := range changes {
		c.spell.Swap(newSpell()).end()
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

// NewStream implements grpc.ClientConnInterface; it always fails.
func (*Conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errStream
}

// Answer is an encoded message and the headers for the HTTP client.
type Answer struct {
	Data   []byte
	Header http.Header
}

// Forward sends an encoded request and returns the encoded answer, for a sender
// that carries messages without reading them.
func (c *Conn) Forward(ctx context.Context, procedure string, request []byte) (Answer, error) {
	if at, limited := ctx.Deadline(); !limited || time.Until(at) > MaxDuration {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, MaxDuration)
		defer cancel()
	}
	m := &nats.Msg{Subject: contract.Subject(procedure), Data: request, Header: nats.Header{}}
	outgoing(ctx, m.Header)
	if header := signed(ctx); header != "" {
		m.Header.Set(headerCaller, header)
	} else {
		m.Header.Set(headerCaller, c.signer.Sign(caller.Caller{Service: c.service}))
	}
	r, err := c.request(ctx, m)
	if err != nil {
		return Answer{}, unanswered(err)
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

// request waits for an answer no longer than the connection lasts that would bring it.
func (c *Conn) request(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	ctx, drop := context.WithCancelCause(ctx)
	defer drop(nil)
	defer context.AfterFunc(c.spell.Load(), func() { drop(nats.ErrDisconnected) })()
	r, err := c.nc.RequestMsgWithContext(ctx, m)
	if err != nil && errors.Is(context.Cause(ctx), nats.ErrDisconnected) {
		err = nats.ErrDisconnected
	}
	return r, err
}

// unanswered tells a request that nobody took from one whose outcome is unknown, and
// from one that no later try would send.
func unanswered(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return fault.ErrDeadline.Because(err)
	case errors.Is(err, context.Canceled), errors.Is(err, nats.ErrMaxPayload):
		return err
	default:
		return fault.ErrUnavailable.After(time.Second).Because(err)
	}
}
