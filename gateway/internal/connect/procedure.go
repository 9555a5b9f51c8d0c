// Package connect serves methods as gRPC, gRPC-Web and Connect, together with the services for health and
// reflection that tools ask gRPC servers for.
package connect

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"maps"
	"net/http"
	"time"

	connectrpc "connectrpc.com/connect"

	"herald/gateway/internal/dispatch"
	"herald/gateway/internal/exchange"
	"herald/shared/gen/fault/gatewayfault"
)

// prefix is how many bytes gRPC puts in front of a message.
const prefix = 5

var uncompressed = connectrpc.WithCompression("gzip", nil, nil)

// Handler returns the handler of a method for gRPC, gRPC-Web and Connect.
func Handler(d *dispatch.Dispatcher, m *dispatch.Method) exchange.Handler {
	forward := func(ctx context.Context, r *connectrpc.Request[frame]) (*connectrpc.Response[frame], error) {
		x := exchange.From(ctx)
		if r.Msg.err != nil {
			return nil, connectError(x.Refuse(r.Msg.err))
		}
		if !x.Until.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, x.Until)
			defer cancel()
		}
		answer, err := d.Call(ctx, m, x.Pass, r.Msg.data)
		if err != nil {
			return nil, connectError(x.Refuse(err))
		}
		maps.Copy(x.Header(), answer.Header)
		return connectrpc.NewResponse(&frame{data: answer.Data}), nil
	}
	h := connectrpc.NewUnaryHandler(m.Procedure, forward, uncompressed, connectrpc.WithCodec(frames{}),
		connectrpc.WithCodec(jsonFrames{m, "json"}), connectrpc.WithCodec(jsonFrames{m, "json; charset=utf-8"}))
	return func(x *exchange.Exchange, r *http.Request) {
		err := d.Authenticate(x, r, m)
		if err == nil {
			err = readCall(x, r)
		}
		if err == nil {
			err = d.TakeTurn(x, r)
		}
		if err != nil {
			x.Fail(r, err)
			return
		}
		h.ServeHTTP(x, r)
	}
}

// readCall checks the media type, the time limit and the body of a call, which connect would refuse
// with texts of its own.
func readCall(x *exchange.Exchange, r *http.Request) error {
	if !isCall(r) {
		return gatewayfault.ErrMediaTypeNotSupported
	}
	limit, err := timeout(r.Header)
	if err != nil {
		return err
	}
	if limit >= 0 {
		x.Until = time.Now().Add(limit)
	}
	body, err := exchange.ReadBody(x, r, exchange.MaxBody+prefix)
	if err != nil {
		return err
	}
	if exchange.IsGRPC(r) && !isFrame(body) {
		return gatewayfault.ErrRequestMalformed.Say("The body is not one message of gRPC, framed and uncompressed")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Set("Content-Type", exchange.MediaType(r)) // connect accepts it without most parameters only
	return nil
}

// isFrame reports whether a body is one message as gRPC frames it.
func isFrame(body []byte) bool {
	return len(body) >= prefix && body[0] == 0 && uint64(binary.BigEndian.Uint32(body[1:])) == uint64(len(body)-prefix)
}

// isCall reports whether a request is gRPC, gRPC-Web or unary Connect, by its media type.
func isCall(r *http.Request) bool {
	switch exchange.MediaType(r) {
	case "application/grpc", "application/grpc+proto", "application/grpc+json",
		"application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json",
		"application/proto", "application/json":
		return true
	}
	return false
}
