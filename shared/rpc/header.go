package rpc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Headers of requests and answers on NATS. A header that begins with headerAnswer is passed on to the HTTP client,
// without that prefix.
const (
	headerCaller    = "Herald-Caller"
	headerRequestID = "Herald-Request-Id"
	headerTimeout   = "Herald-Timeout"
	headerFault     = "Fault"
	headerAnswer    = "Answer-"
)

type requestIDKey struct{}

// WithRequestID puts a request's id into a context. The logs of all services contain this id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the context's request id, or an empty string.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// NewRequestID makes an id of 32 hexadecimal digits.
func NewRequestID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

type signedKey struct{}

// WithSigned puts a caller's signed header into a context. Calls with that context are made
// for that caller.
func WithSigned(ctx context.Context, header string) context.Context {
	return context.WithValue(ctx, signedKey{}, header)
}

// OnOwnBehalf returns a context for calls that a service makes as itself while it serves a user's request. Internal
// methods require this. The context keeps its deadline, request id and trace.
func OnOwnBehalf(ctx context.Context) context.Context { return WithSigned(ctx, "") }

func signed(ctx context.Context) string {
	header, _ := ctx.Value(signedKey{}).(string)
	return header
}

var traces = propagation.TraceContext{}

// carrier reads and writes W3C trace headers in NATS headers.
func carrier(h nats.Header) propagation.TextMapCarrier {
	return propagation.HeaderCarrier(http.Header(h))
}

// outgoing writes the context's request id, time limit and trace into headers. The time limit is a duration and not a
// time, because the clocks of two machines may differ.
func outgoing(ctx context.Context, h nats.Header) {
	if id := RequestID(ctx); id != "" {
		h.Set(headerRequestID, id)
	}
	if at, ok := ctx.Deadline(); ok {
		h.Set(headerTimeout, time.Until(at).String())
	}
	traces.Inject(ctx, carrier(h))
}

// incoming is the inverse of outgoing. A request without a time limit gets MaxDuration.
func incoming(h nats.Header) (context.Context, context.CancelFunc) {
	ctx := traces.Extract(context.Background(), carrier(h))
	if id := h.Get(headerRequestID); id != "" {
		ctx = WithRequestID(ctx, id)
	}
	ctx = grpc.NewContextWithServerTransportStream(ctx, &answerHeaders{})
	left, err := time.ParseDuration(h.Get(headerTimeout))
	if err != nil || left > MaxDuration {
		left = MaxDuration
	}
	return context.WithTimeout(ctx, left)
}

// answerHeaders collects what a method sets with grpc.SetHeader.
type answerHeaders struct{ md metadata.MD }

func (*answerHeaders) Method() string { return "" }

func (a *answerHeaders) SetHeader(md metadata.MD) error {
	a.md = metadata.Join(a.md, md)
	return nil
}

func (a *answerHeaders) SendHeader(md metadata.MD) error { return a.SetHeader(md) }
func (a *answerHeaders) SetTrailer(metadata.MD) error    { return nil }

// answerHeadersOf returns the headers that the method has set; nil for none.
func answerHeadersOf(ctx context.Context) nats.Header {
	a, _ := grpc.ServerTransportStreamFromContext(ctx).(*answerHeaders)
	if a == nil || len(a.md) == 0 {
		return nil
	}
	h := nats.Header{}
	for name, values := range a.md {
		h[headerAnswer+name] = values
	}
	return h
}
