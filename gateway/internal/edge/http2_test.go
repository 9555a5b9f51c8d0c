package edge_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"herald/gateway/internal/testworld"
)

// A procedure has one path only; similar paths are not found.
func TestPathsOverHTTP2(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	c, token := w.HTTP2(t), w.Owner()
	for _, path := range []string{
		"herald.users.v1.Users/GetUser", "/" + testworld.GetUser, "/x/.." + testworld.GetUser,
		"/." + testworld.GetUser, testworld.GetUser +
			"/", "/herald.users.v1.Users//GetUser",
		"", "*", strings.ToLower(testworld.GetUser),
	} {
		got := c.Call(path, token)
		if w.Called.Load()+w.Resolved.Load() != 0 {
			t.Fatalf("%q was let through", path)
		}
		refused := got.GRPCStatus == "5" || got.GRPCStatus == "12"
		if !got.Reset && (got.Status != "200" || !refused) && got.Status != "400" {
			t.Errorf("%q: %+v", path, got)
		}
	}
	// The message has no id, so that the procedure refuses it, and not the path.
	if got := c.Call(testworld.GetUser, token); got.GRPCStatus != "3" || w.Resolved.Load() != 1 {
		t.Errorf("the right path: %+v, %d tokens resolved", got, w.Resolved.Load())
	}
}

// A target with another host is refused, and the connection takes no more requests.
func TestAbsoluteTargetEndsHTTP2(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, path := range []string{"http://elsewhere.example" + testworld.GetUser, "x:" + testworld.GetUser} {
		c := w.HTTP2(t)
		got := c.Call(path, w.Owner())
		if w.Called.Load()+w.Resolved.Load() != 0 || got.GRPCStatus != "3" && !got.Reset {
			t.Errorf("%q: %+v", path, got)
		}
		var err error
		for err == nil {
			_, err = c.ReadFrame()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%q: the connection is open: %v", path, err)
		}
	}
}

// A client that opens and resets many streams may lose its connection, and does not affect others.
func TestClientThatResetsManyStreamsDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	c, token := w.HTTP2(t), w.Owner()
	go func() { _, _ = io.Copy(io.Discard, c.Conn) }()
	for range 5000 {
		id := c.Stream()
		if c.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, id,
			[]byte{0x83, 0x86, 0x84, 0x41, 1, 'x'}) != nil {
			break // the server has closed the connection
		}
		if c.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break
		}
	}
	began := time.Now()
	if got := w.Do(t, "GET", "/management/v1/users/u1", "",
		testworld.As(token)...); got.StatusCode != http.StatusOK ||
		time.Since(began) > 20*time.Second {
		t.Errorf("%d after %v", got.StatusCode, time.Since(began))
	}
}
