package edge_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/gateway/internal/testworld"
)

// A client that sends its first line slowly, or never, loses its connection within seconds.
func TestConnectionWithSlowFirstLineIsClosed(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for name, text := range map[string]string{
		"no HTTP": "GARBAGE", "TLS": "\x16\x03\x01", "half a line": "GET /livez HTT",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			got, err := io.ReadAll(w.Connect(t, text))
			if took := time.Since(began); err != nil || took > 8*time.Second { // headers have ten
				t.Errorf("after %v: %v", took, err)
			}
			if !strings.Contains(string(got), "REQUEST_MALFORMED") {
				t.Errorf("%q", got)
			}
		})
	}
}

// A client may connect long before its first line, and its headers may take longer than that line.
func TestConnectionMayBeEarlyAndHeadersSlow(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for name, c := range map[string]struct{ early, late string }{
		"an early connection": {"", "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"},
		"slow headers":        {"GET /livez HTTP/1.1\r\nHost: ", "x\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := w.Connect(t, c.early)
			_, _ = io.ReadAll(w.Connect(t, "GARBAGE")) // which ends when the time for a first line is over
			if _, err := io.WriteString(conn, c.late); err != nil {
				t.Fatal(err)
			}
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Body.Close(); got.StatusCode != 200 {
				t.Error(got.Status)
			}
		})
	}
}

// Connections with slow headers do not affect others.
func TestSlowHeadersDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for range 500 {
		w.Connect(t, "GET /management/v1/users/u1 HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	}
	began := time.Now()
	w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(w.Owner())...).OK(t)
	if took := time.Since(began); took > 8*time.Second { // the slow ones have ten for their headers
		t.Errorf("took %v", took)
	}
}

func TestUnreadableRequestsGetTheErrorBody(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	many := strings.Repeat("X-Filler: 0123456789012345678901234567890\r\n", 10_000)
	for _, c := range []struct {
		name, request string
		status        int
		id            string
	}{
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"no path", "GET management/v1/users/u1 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"malformed path", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"no HTTP", "this is no HTTP\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"malformed header", "GET / HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"another version", "GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505, "REQUEST_MALFORMED"},
		{"unknown encoding",
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "REQUEST_MALFORMED"},
		{"two lengths",
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"a length and chunks", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"an absolute target", "GET http://x/livez HTTP/1.1\r\nHost: x\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"the target of a tunnel", "CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"many headers", "GET / HTTP/1.1\r\nHost: x\r\n" + many + "\r\n", 431, "HEADERS_TOO_LARGE"},
		{"a large header",
			"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 16<<10) + "\r\n\r\n", 431, "HEADERS_TOO_LARGE"},
		{"a long path",
			"GET /" + strings.Repeat("x", 16<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431, "HEADERS_TOO_LARGE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if e := w.Raw(t, c.request).Refused(t, c.status, c.id); e.Code != 3 {
				t.Errorf("%+v", e)
			}
		})
	}
	if got := w.Raw(t, "GET /livez HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 15<<10)+
		"\r\n\r\n"); got.StatusCode != 200 {
		t.Errorf("15 KiB of headers: %d", got.StatusCode)
	}
}

// Whoever sends a request that two programs could understand in two ways loses the connection, so that nothing
// that follows is taken for another request. What was asked for before is answered.
func TestAmbiguousRequestsEndTheConnection(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	const good = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, bad := range map[string]string{
		"a length and chunks": "POST /livez HTTP/1.1\r\nHost: x\r\n" +
			"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n0\r\n\r\n",
		"an absolute target": "GET http://elsewhere.example/livez HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // the answer is lost only now and then if unread bytes are left
				got, err := io.ReadAll(w.Connect(t, good+bad+good))
				if err != nil {
					t.Fatal(err)
				}
				answers := strings.Count(string(got), "HTTP/1.1 ")
				if answers != 2 || strings.Count(string(got), "HTTP/1.1 200 ") != 1 ||
					strings.Count(string(got), "HTTP/1.1 400 ") != 1 {
					t.Fatalf("%q", got)
				}
			}
		})
	}
}
