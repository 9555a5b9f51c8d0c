package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"time"

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
		if !x.until.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, x.until)
			defer cancel()
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
		err := e.authenticate(x, r, m)
		if err == nil {
			err = readCall(x, r)
		}
		if err == nil {
			err = e.takeTurn(x, r)
		}
		if err != nil {
			x.fail(r, err)
			return
		}
		h.ServeHTTP(x, r)
	}
}

// readCall checks the media type, the time limit and the body of a call, which connect would refuse
// with texts of its own.
func readCall(x *exchange, r *http.Request) error {
	if !rpcMediaType(r) {
		return ErrMediaType
	}
	limit, err := timeout(r.Header)
	if err != nil {
		return err
	}
	if limit >= 0 {
		x.until = time.Now().Add(limit)
	}
	body, err := readBody(x, r, maxBody+prefix)
	if err != nil {
		return err
	}
	if isGRPC(r) && !isFrame(body) {
		return ErrRequest.Say("The body is not one message of gRPC, framed and uncompressed")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Set("Content-Type", mediaType(r)) // connect wants it without most parameters
	return nil
}

// isFrame reports whether a body is one message as gRPC frames it.
func isFrame(body []byte) bool {
	return len(body) >= prefix && body[0] == 0 && uint64(binary.BigEndian.Uint32(body[1:])) == uint64(len(body)-prefix)
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
