package edge_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/gateway/internal/gatewaytest"
)

// A client that sends a first line slowly, or no line at all, is soon disconnected. It may connect early, and take
// longer for its headers.
func TestFirstLinesAreSoonThere(t *testing.T) {
	t.Parallel()
	w := gatewaytest.Start(t)
	dial := func(text string) net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		return c
	}
	silent, slow := dial(""), dial("GET /livez HTTP/1.1\r\nHost: ")
	for _, text := range []string{"GARBAGE", "\x16\x03\x01", "GET /livez HTT"} {
		began := time.Now()
		got, err := io.ReadAll(dial(text))
		if took := time.Since(began); err != nil || took > 8*time.Second || // headers have ten
			!strings.Contains(string(got), "REQUEST_MALFORMED") {
			t.Errorf("%q: %q after %v, %v", text, got, took, err)
		}
	}
	for c, rest := range map[net.Conn]string{
		silent: "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", slow: "x\r\n\r\n",
	} {
		if _, err := io.WriteString(c, rest); err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Body.Close(); got.StatusCode != 200 {
			t.Error(got.Status)
		}
	}
}

// Connections with slow headers do not affect others.
func TestSlowHeadersHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := gatewaytest.Start(t)
	for range 500 {
		c, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte("GET /management/v1/users/u1 HTTP/1.1\r\nHost: x\r\nX-Slow: ")); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	w.Do(t, "GET", "/management/v1/users/u1", "", gatewaytest.As(w.Owner())...).OK(t)
	if took := time.Since(began); took > 8*time.Second { // the slow ones have ten for their headers
		t.Errorf("took %v", took)
	}
}

func TestUnreadableRequestsGetTheErrorBody(t *testing.T) {
	t.Parallel()
	w := gatewaytest.Start(t)
	many := strings.Repeat("X-Filler: 0123456789012345678901234567890\r\n", 10_000)
	for _, c := range []struct {
		request string
		status  int
		id      string
	}{
		{"GET / HTTP/1.1\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"GET management/v1/users/u1 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"this is no HTTP\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"GET / HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505, "REQUEST_MALFORMED"},
		{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "REQUEST_MALFORMED"},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "REQUEST_MALFORMED"},
		{"GET / HTTP/1.1\r\nHost: x\r\n" + many + "\r\n", 431, "HEADERS_TOO_LARGE"},
		{"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 16<<10) + "\r\n\r\n", 431, "HEADERS_TOO_LARGE"},
		{"GET /" + strings.Repeat("x", 16<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431, "HEADERS_TOO_LARGE"},
	} {
		if e := w.Raw(t, c.request).Refused(t, c.status, c.id); e.Code != 3 {
			t.Errorf("%.60q: %+v", c.request, e)
		}
	}
	if got := w.Raw(t, "GET /livez HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 15<<10)+
		"\r\n\r\n"); got.StatusCode != 200 {
		t.Errorf("15 KiB of headers: %d", got.StatusCode)
	}
}
