package exchange

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"herald/shared/testkit"
)

// written is how an answer ended: the path that was asked for, and the error of its write.
type written struct {
	path string
	err  error
}

// serve serves answers of size bytes. The channel gets the end of each that does not fit into the
// buffers of the operating system.
func serve(t *testing.T, most, size int, share bool) (*httptest.Server, <-chan written) {
	t.Helper()
	ended := make(chan written, 100)
	answers := budget{most: most}
	s := httptest.NewUnstartedServer(answers.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		w.(http.Flusher).Flush()
		if share {
			Share(wrapped{w})
		}
		_, err := w.Write(bytes.Repeat([]byte("x"), size))
		ended <- written{r.URL.Path, err}
	})))
	s.Config.Protocols = &http.Protocols{}
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s, ended
}

// wrapped is a writer of somebody else around that of a budget.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ask asks for an answer and reads its head.
func ask(t *testing.T, s *httptest.Server, path string, version2 bool) *http.Response {
	t.Helper()
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetHTTP1(!version2)
	transport.Protocols.SetUnencryptedHTTP2(version2)
	t.Cleanup(transport.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Body.Close() })
	return w
}

const large = 24 << 20 // more than any buffer of an operating system

func TestAnswerBeyondTheBudgetIsBrokenOff(t *testing.T) {
	t.Parallel()
	for name, version2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ended := serve(t, 2*large+1<<20, large, false)
			all := map[string]*http.Response{}
			for _, path := range []string{"/1", "/2", "/3"} {
				all[path] = ask(t, s, path, version2)
			}
			broken := <-ended
			if broken.err == nil {
				t.Errorf("%s was written", broken.path)
			}
			for path, w := range all {
				n, err := io.Copy(io.Discard, w.Body)
				if (err != nil || n < large) != (path == broken.path) {
					t.Errorf("%s is broken, and of %s %d bytes were read: %v", broken.path, path, n, err)
				}
			}
		})
	}
}

// client is a client that reads a piece for each element of reads. asked gets one for each piece that
// it could read.
type client struct {
	reads, asked, broken chan struct{}
}

func (*client) Header() http.Header { return http.Header{} }
func (*client) WriteHeader(int)     {}

func (c *client) Write(b []byte) (int, error) {
	c.asked <- struct{}{}
	select {
	case <-c.reads:
		return len(b), nil
	case <-c.broken:
		return 0, os.ErrDeadlineExceeded
	}
}

func (c *client) SetWriteDeadline(at time.Time) error {
	if !at.Before(time.Now()) {
		return errors.New("not in the past")
	}
	close(c.broken)
	return nil
}

// connect makes a client that asks for an answer of two pieces, and waits until the first is written.
func connect(t *testing.T, h http.Handler) *client {
	t.Helper()
	c := &client{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(c, r)
	}()
	<-c.asked
	t.Cleanup(func() {
		close(c.reads)
		for {
			select {
			case <-c.asked:
			case <-done:
				return
			}
		}
	})
	return c
}

// The client that has read nothing for the longest time is broken off: not the oldest one, if it reads.
func TestIdleClientIsBrokenOffBeforeOneThatReads(t *testing.T) {
	t.Parallel()
	const size = 128 << 10
	h := (&budget{most: 2*size + 90<<10}).handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, size))
	}))
	reader, idle := connect(t, h), connect(t, h)
	reader.reads <- struct{}{}
	<-reader.asked
	late := connect(t, h)
	<-idle.broken
	connect(t, h)
	<-reader.broken
	select {
	case <-late.broken:
		t.Error("the last but one was broken off")
	default:
	}
}

// Answers that share their bytes hold little.
func TestSharedBytesDoNotCountInTheBudget(t *testing.T) {
	t.Parallel()
	s, ended := serve(t, large, large, true)
	var all []*http.Response
	for i := range 5 {
		all = append(all, ask(t, s, "/"+strconv.Itoa(i), false))
	}
	for _, w := range all {
		if n, err := io.Copy(io.Discard, w.Body); err != nil || n != large {
			t.Errorf("read %d bytes, %v", n, err)
		}
		if got := <-ended; got.err != nil {
			t.Errorf("%v", got)
		}
	}
}

// Small answers count too: HTTP/2 has many of them waiting on one connection.
func TestSmallAnswersCountInTheBudget(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, 4<<15, 10, false)
	c := testkit.DialHTTP2(t, strings.TrimPrefix(s.URL, "http://"))
	if err := c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		t.Fatal(err)
	}
	var first uint32
	for i := range 6 {
		id := c.Stream()
		if i == 0 {
			first = id
		}
		err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, EndStream: true,
			BlockFragment: []byte{0x82, 0x86, 0x84, 0x41, 1, 'x'}}) // GET http://x/
		if err != nil {
			t.Fatal(err)
		}
	}
	for {
		f, err := c.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if reset, ok := f.(*http2.RSTStreamFrame); ok {
			if reset.StreamID > first+4 {
				t.Errorf("stream %d was reset", reset.StreamID)
			}
			return
		}
	}
}
