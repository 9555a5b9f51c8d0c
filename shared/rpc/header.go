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

// Headers of requests and answers on NATS. What begins with headerAnswer is handed
// on to the HTTP client without it.
const (
	headerCaller    = "Herald-Caller"
	headerRequestID = "Herald-Request-Id"
	headerTimeout   = "Herald-Timeout"
	headerFault     = "Fault"
	headerAnswer    = "Answer-"
)

type requestIDKey struct{}

// WithRequestID puts the id by which the logs of all services find a request into a context.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID answers with the context's request id, or nothing.
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

// WithSigned puts a caller's signed header into a context, for the calls made on
// the caller's behalf.
func WithSigned(ctx context.Context, header string) context.Context {
	return context.WithValue(ctx, signedKey{}, header)
}

// OnOwnBehalf is for the calls that a service makes as itself while it serves a user's
// request: they carry the service's name and not the user, as internal methods ask for.
// Time limit, request id and trace stay the request's.
func OnOwnBehalf(ctx context.Context) context.Context { return WithSigned(ctx, "") }

func signed(ctx context.Context) string {
	header, _ := ctx.Value(signedKey{}).(string)
	return header
}

var traces = propagation.TraceContext{}

// carrier lets W3C trace headers travel on NATS.
func carrier(h nats.Header) propagation.TextMapCarrier {
	return propagation.HeaderCarrier(http.Header(h))
}

// outgoing writes what a request carries besides its message. A deadline travels as
// a duration: clocks of two machines need not agree.
func outgoing(ctx context.Context, h nats.Header) {
	if id := RequestID(ctx); id != "" {
		h.Set(headerRequestID, id)
	}
	if at, ok := ctx.Deadline(); ok {
		h.Set(headerTimeout, time.Until(at).String())
	}
	traces.Inject(ctx, carrier(h))
}

// incoming is the inverse of outgoing. It bounds every request, also those whose
// sender named no time.
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

// answerHeadersOf are those that the method of the context set; nil for none.
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
