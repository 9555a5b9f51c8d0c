package gateway_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// wire is an HTTP/2 connection on which a test can say what it wants.
type wire struct {
	*http2.Framer
	conn net.Conn
	next uint32
}

func (w *world) http2(t testing.TB) *wire {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return &wire{f, c, 1}
}

// open sends the headers of a call and answers with its stream.
func (c *wire) open(t testing.TB, path, token string) uint32 {
	t.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", path},
		{"content-type", "application/grpc"}, {"te", "trailers"}, {"authorization", "Bearer " + token},
	} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	id := c.next
	c.next += 2
	if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(),
		EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	return id
}

// answer reads on to the end of a stream: its status and gRPC status, or the reset.
func (c *wire) answer(t testing.TB, id uint32) (status, grpcStatus string, reset bool) {
	t.Helper()
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if frame.Header().StreamID != id {
			continue
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			for _, h := range f.Fields {
				switch h.Name {
				case ":status":
					status = h.Value
				case "grpc-status":
					grpcStatus = h.Value
				}
			}
			if f.StreamEnded() {
				return status, grpcStatus, false
			}
		case *http2.RSTStreamFrame:
			return status, grpcStatus, true
		}
	}
}

// A procedure is one path only: what is close to one reaches nothing.
func TestPathsOverHTTP2(t *testing.T) {
	t.Parallel()
	w := start(t)
	c, token := w.http2(t), w.owner()
	for _, path := range []string{
		"herald.users.v1.Users/GetUser", "/" + getUser, "/x/.." + getUser, "/." + getUser, getUser +
			"/", "/herald.users.v1.Users//GetUser",
		"", "*", strings.ToLower(getUser),
	} {
		id := c.open(t, path, token)
		if err := c.WriteData(id, true, framed(nil)); err != nil {
			t.Fatal(err)
		}
		status, grpcStatus, reset := c.answer(t, id)
		if w.called.Load()+w.resolved.Load() != 0 {
			t.Fatalf("%q was let through", path)
		}
		if !reset && (status != "200" || grpcStatus != "5" && grpcStatus != "12") && status != "400" {
			t.Errorf("%q: status %s, gRPC %s", path, status, grpcStatus)
		}
	}
	id := c.open(t, getUser, token)
	if err := c.WriteData(id, true, framed(nil)); err != nil {
		t.Fatal(err)
	}
	if _, grpcStatus, _ := c.answer(t, id); grpcStatus != "5" || w.called.Load() != 1 {
		t.Errorf("the right path: gRPC %s", grpcStatus)
	}
}

// Streams that are opened and dropped at once cost their sender the connection at
// most, and nobody else anything.
func TestResetFlood(t *testing.T) {
	t.Parallel()
	w := start(t)
	c, token := w.http2(t), w.owner()
	go func() { _, _ = io.Copy(io.Discard, c.conn) }()
	for range 5000 {
		id := c.next
		if c.next += 2; c.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, id,
			[]byte{0x83, 0x86, 0x84, 0x41, 1, 'x'}) != nil {
			break // the server has had enough
		}
		if c.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break
		}
	}
	began := time.Now()
	if got := w.do(t, "GET", "/management/v1/users/u1", "", as(token)...); got.StatusCode != http.StatusOK ||
		time.Since(began) > 2*time.Second {
		t.Errorf("%d after %v", got.StatusCode, time.Since(began))
	}
}
