package exchange_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"herald/gateway/internal/testworld"
)

// A client that sends everything before it reads gets the answer, also if the body is refused at its
// beginning.
func TestRefusalsReachClientsThatAreSending(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := "Authorization: Bearer " + w.Owner() + "\r\n"
	const size = 12 << 20
	body := strings.Repeat(" ", size)
	for _, c := range []struct {
		name, line, headers string
		status              int
	}{
		{"too large", "POST /management/v1/users/_search", token, 413},
		{"too large, in chunks", "POST /management/v1/users/_search", token + "Transfer-Encoding: chunked\r\n", 413},
		{"no token", "POST /management/v1/users/_search", "", 401},
		{"media type", "POST /management/v1/users/_search", token + "Content-Type: text/plain\r\n", 415},
		{"no path", "POST /management/v1/nothing", token, 404},
		{"wrong verb", "PUT /management/v1/users/_search", token, 405},
		{"page", "POST /ui/login", "", 413},
		{"document", "POST /docs", "", 405},
		{"Connect", "POST " + testworld.GetUser, token + "Content-Type: application/json\r\n", 400}, // Connect's
		{"import", "POST /admin/v1/import", "", 401},
		{"a path with an empty part", "POST //", "", 404},
		{"probe", "POST /livez", "", 405},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sent := body
			if strings.Contains(c.headers, "chunked") {
				sent = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body)
			} else {
				c.headers += fmt.Sprintf("Content-Length: %d\r\n", size)
			}
			conn := w.Connect(t, c.line+" HTTP/1.1\r\nHost: x\r\n"+c.headers+"\r\n"+sent)
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			if text, err := io.ReadAll(got.Body); err != nil || got.StatusCode != c.status {
				t.Errorf("%d %s %v", got.StatusCode, text, err)
			}
		})
	}
}

// What is read of a refused body has a bound.
func TestRefusedBodiesAreNotReadForever(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	conn := w.Connect(t, "POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
	sent, err := io.CopyN(conn, strings.NewReader(strings.Repeat(" ", 100<<20)), 100<<20)
	if err == nil {
		t.Errorf("%d bytes were read", sent)
	}
}
