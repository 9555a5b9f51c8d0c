package testkit

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// HTTP2 is a connection on which a test writes single HTTP/2 frames, for requests that no client library makes.
type HTTP2 struct {
	*http2.Framer
	net.Conn
	t    testing.TB
	next uint32
}

// DialHTTP2 connects to a host and port, until the test ends.
func DialHTTP2(t testing.TB, address string) *HTTP2 {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return &HTTP2{f, c, t, 1}
}

// Stream returns the id of a new stream.
func (c *HTTP2) Stream() uint32 {
	id := c.next
	c.next += 2
	return id
}

// HTTP2Answer holds the statuses in the headers of a stream. They are empty if the server reset the stream or closed
// the connection.
type HTTP2Answer struct {
	Status, GRPCStatus string
	Reset              bool
}

// Call makes a gRPC call with an empty message and reads the answer.
func (c *HTTP2) Call(path, token string) HTTP2Answer {
	c.t.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", path},
		{"content-type", "application/grpc"}, {"te", "trailers"}, {"authorization", "Bearer " + token},
	} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	id := c.Stream()
	headers := http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true}
	if err := c.WriteHeaders(headers); err != nil {
		c.t.Fatal(err)
	}
	if err := c.WriteData(id, true, make([]byte, 5)); err != nil {
		c.t.Fatal(err)
	}
	return c.answer(id)
}

// answer reads frames to the end of a stream.
func (c *HTTP2) answer(id uint32) (a HTTP2Answer) {
	c.t.Helper()
	for {
		frame, err := c.ReadFrame()
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			c.t.Fatal(err)
		}
		if err != nil {
			a.Reset = true
			return a
		}
		switch f := frame.(type) {
		case *http2.GoAwayFrame:
			a.Reset = true
			return a
		case *http2.RSTStreamFrame:
			if a.Reset = f.StreamID == id; a.Reset {
				return a
			}
		case *http2.MetaHeadersFrame:
			if f.StreamID == id {
				a.read(f.Fields)
			}
		}
		if ends(frame.Header(), id) {
			return a
		}
	}
}

// ends reports whether a frame is the last one of a stream.
func ends(h http2.FrameHeader, id uint32) bool {
	return h.StreamID == id && h.Flags.Has(http2.FlagDataEndStream) &&
		(h.Type == http2.FrameData || h.Type == http2.FrameHeaders)
}

// read takes the statuses from the fields of headers or trailers.
func (a *HTTP2Answer) read(fields []hpack.HeaderField) {
	for _, h := range fields {
		switch h.Name {
		case ":status":
			a.Status = h.Value
		case "grpc-status":
			a.GRPCStatus = h.Value
		}
	}
}
