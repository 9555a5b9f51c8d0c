package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"herald/gateway/transcode"
)

// prefix is how many bytes gRPC puts in front of a message.
const prefix = 5

// frame is an encoded message. err is set if a request could not be decoded.
type frame struct {
	data []byte
	err  error
}

// frames is the codec that leaves messages encoded. Connect encodes error details with it too,
// and these are real messages.
type frames struct{}

func (frames) Name() string { return "proto" }

func (frames) Marshal(v any) ([]byte, error) {
	if f, ok := v.(*frame); ok {
		return f.data, nil
	}
	return proto.Marshal(v.(proto.Message))
}

func (frames) Unmarshal(b []byte, v any) error {
	v.(*frame).data = bytes.Clone(b) // connect uses b again
	return nil
}

// jsonFrames is the codec of Connect with JSON, for one method.
type jsonFrames struct {
	*method
	name string
}

func (c jsonFrames) Name() string { return c.name }

func (c jsonFrames) Marshal(v any) ([]byte, error) {
	out, data := c.out.New().Interface(), v.(*frame).data
	if err := proto.Unmarshal(data, out); err != nil {
		return nil, err
	}
	return transcode.Encode(make([]byte, 0, 3*len(data)), out)
}

func (c jsonFrames) Unmarshal(b []byte, v any) error {
	in, f := c.in.New().Interface(), v.(*frame)
	if f.err = transcode.Decode(b, in); f.err == nil {
		f.data, f.err = proto.Marshal(in)
	}
	return nil
}

var uncompressed = connect.WithCompression("gzip", nil, nil)

// mountRPC returns the handler of a method for gRPC, gRPC-Web and Connect.
func (e *edge) mountRPC(m *method) handler {
	forward := func(ctx context.Context, r *connect.Request[frame]) (*connect.Response[frame], error) {
		x := exchangeOf(ctx)
		if r.Msg.err != nil {
			return nil, rpcError(x.refuse(r.Msg.err))
		}
		answer, err := e.call(ctx, m, x.pass, r.Msg.data)
		if err != nil {
			return nil, rpcError(x.refuse(err))
		}
		copyHeaders(x.Header(), answer.Header)
		return connect.NewResponse(&frame{data: answer.Data}), nil
	}
	h := connect.NewUnaryHandler(m.procedure, forward, uncompressed, connect.WithCodec(frames{}),
		connect.WithCodec(jsonFrames{m, "json"}), connect.WithCodec(jsonFrames{m, "json; charset=utf-8"}))
	return func(x *exchange, r *http.Request) {
		if err := e.prepare(x, r, m); err != nil {
			x.fail(r, err)
			return
		}
		h.ServeHTTP(x, r)
	}
}

// prepare authenticates the caller, then checks the media type and the size of the body, which
// connect would refuse with faults of its own.
func (e *edge) prepare(x *exchange, r *http.Request, m *method) error {
	if err := e.authenticate(x, r, m); err != nil {
		return err
	}
	if !rpcMediaType(r) {
		return ErrMediaType
	}
	body, err := readBody(x, r, maxBody+prefix)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Set("Content-Type", mediaType(r)) // connect wants it without most parameters
	return nil
}

// rpcMediaType reports whether a request is gRPC, gRPC-Web or unary Connect.
func rpcMediaType(r *http.Request) bool {
	switch mediaType(r) {
	case "application/grpc", "application/grpc+proto", "application/grpc+json",
		"application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json",
		"application/proto", "application/json":
		return true
	}
	return false
}
