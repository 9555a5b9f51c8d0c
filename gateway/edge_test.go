package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"herald/gateway"
)

func TestRequestID(t *testing.T) {
	t.Parallel()
	w := start(t)
	for given, kept := range map[string]bool{
		"abc-123": true, "with space": true, strings.Repeat("x", 128): true,
		strings.Repeat("x", 129): false, "": false, "é": false, "\x1b[31m": false,
	} {
		request := "GET /auth/v1/users/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.owner() +
			"\r\nX-Request-Id: " + given + "\r\n\r\n"
		got := w.raw(t, request)
		if strings.HasPrefix(given, "\x1b") {
			got.refused(t, 400, "REQUEST_MALFORMED")
			continue
		}
		id := got.ok(t).Header.Get("X-Request-Id")
		if (id == given) != kept || len(id) == 0 || w.id != id ||
			!strings.Contains(w.lines.String(), `"request":"`+id+`"`) {
			t.Errorf("%q: returned %q, carried %q", given, id, w.id)
		}
	}
}

func TestTraceparentComesBack(t *testing.T) {
	t.Parallel()
	w := start(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	got := w.do(t, "GET", "/auth/v1/users/me", "", append(as(w.owner()), "traceparent", parent)...).ok(t)
	if !strings.HasPrefix(got.Header.Get("Traceparent"), parent[:35]) ||
		!strings.Contains(w.lines.String(), parent[3:35]) {
		t.Error(got.Header)
	}
}

func TestTraceparentIsMade(t *testing.T) {
	t.Parallel()
	w := start(t)
	made := regexp.MustCompile("^00-([0-9a-f]{32})-[0-9a-f]{16}-0[01]$")
	for _, given := range []string{"", "nonsense", "00-00000000000000000000000000000000-b7ad6b7169203331-01"} {
		got := w.do(t, "GET", "/auth/v1/users/me", "", append(as(w.owner()), "traceparent", given)...).ok(t)
		found := made.FindStringSubmatch(got.Header.Get("Traceparent"))
		if found == nil || strings.Trim(found[1], "0") == "" || !strings.Contains(w.lines.String(), found[1]) {
			t.Errorf("%q: %v", given, got.Header)
		}
	}
}

// A log line has the method and the outcome, and no data of people.
func TestOneLineARequest(t *testing.T) {
	t.Parallel()
	w := start(t)
	agent := "evil\"}\xff\t" + strings.Repeat("x", 10_000)
	before := len(w.lines.String())
	w.do(t, "GET", "/management/v1/users/canary-id?q=canary-query", "", append(as(w.owner()), "User-Agent", agent)...).
		refused(t, 404, "USER_NOT_FOUND")
	text := w.lines.String()[before:]
	var line map[string]any
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for name, want := range map[string]any{
		"level": "INFO", "msg": "request", "http": "GET", "route": "GET /management/v1/users/{user_id}",
		"status": 404.0, "fault": "USER_NOT_FOUND", "agent": strings.ToValidUTF8(agent[:200], "\uFFFD"),
	} {
		if line[name] != want {
			t.Errorf("%s: %v", name, line[name])
		}
	}
	if strings.Contains(text, "canary") || strings.Contains(text, "hrld_") || len(text) > 1000 {
		t.Error(text)
	}
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.auth.answer = okPage
	preflight := []string{"Origin", "https://app.example", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,x-service-orgid"}
	for _, path := range []string{"/management/v1/users/_search", getUser, "/auth/v1/users/me"} {
		got := w.do(t, "OPTIONS", path, "", preflight...)
		allowed := strings.ToLower(got.Header.Get("Access-Control-Allow-Headers"))
		if got.StatusCode != 204 || got.Header.Get("Access-Control-Allow-Origin") != "*" ||
			got.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %v", path, got.StatusCode, got.Header)
		}
		for _, name := range []string{"authorization", "content-type", "x-service-orgid", "x-request-id", "x-grpc-web",
			"grpc-timeout", "connect-protocol-version"} {
			if !strings.Contains(allowed, name) {
				t.Errorf("%s does not allow %s", path, name)
			}
		}
		if methods := got.Header.Get("Access-Control-Allow-Methods"); methods != "GET, POST, PUT, DELETE" {
			t.Error(methods)
		}
	}
	got := w.do(t, "GET", "/management/v1/users/u1", "", "Origin", "null")
	got.refused(t, 401, "UNAUTHENTICATED")
	for _, name := range []string{"grpc-status", "grpc-message", "grpc-status-details-bin", "x-request-id",
		"content-language", "www-authenticate", "retry-after"} {
		if !strings.Contains(strings.ToLower(got.Header.Get("Access-Control-Expose-Headers")), name) {
			t.Errorf("%s is not exposed", name)
		}
	}
	if got.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Error("a script could not read the refusal")
	}
	for _, method := range []string{"OPTIONS", "GET"} {
		for name := range w.do(t, method, "/ui/login", "", preflight...).Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s /ui/ answers %s", method, name)
			}
		}
	}
}

func TestSizesOfRequestsAreLimited(t *testing.T) {
	t.Parallel()
	w := start(t)
	pad := func(n int) string { return `{"x":"` + strings.Repeat("x", n-len(`{"x":""}`)) + `"}` }
	search := func(body string, pairs ...string) answer {
		return w.do(t, "POST", "/management/v1/users/_search", body, append(as(w.owner()), pairs...)...)
	}
	search(pad(1 << 20)).ok(t)
	if e := search(pad(1<<20+1)).refused(t, 413, "BODY_TOO_LARGE"); e.Code != 3 {
		t.Errorf("%+v", e)
	}
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 1<<20+1, pad(1<<20+1))
	w.raw(t, "POST /management/v1/users/_search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+w.owner()+
		"\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk).refused(t, 413, "BODY_TOO_LARGE")
	w.do(t, "POST", "/management/v1/users/_search", pad(1<<20+1)).refused(t, 401, "UNAUTHENTICATED")

	large := w.do(t, "POST", getUser, string(framed(make([]byte, 1<<20+1))),
		append(as(w.owner()), "Content-Type", "application/grpc-web+proto")...)
	if s := trailerStatus(t, webTrailer(t, large)); s.Code != 3 || !strings.Contains(s.String(), "BODY_TOO_LARGE") {
		t.Errorf("gRPC-Web: %v", s)
	}
	largest := w.do(t, "POST", getUser, string(framed(make([]byte, 1<<20))),
		append(as(w.owner()), "Content-Type", "application/grpc-web+proto")...)
	// zeros are not a message
	if s := trailerStatus(t, webTrailer(t, largest)); !strings.Contains(s.String(), "INVALID_ARGUMENT") {
		t.Errorf("gRPC-Web, just small enough: %v", s)
	}
	zipped := w.do(t, "POST", getUser, "\x01\x00\x00\x00\x01x",
		append(as(w.owner()), "Content-Type", "application/grpc-web+proto", "Grpc-Encoding", "gzip")...)
	if s := trailerStatus(t, webTrailer(t, zipped)); s.Code != 3 {
		t.Errorf("gRPC-Web, compressed: %v", s)
	}
}

// Connections with slow headers do not affect others.
func TestSlowHeadersHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := start(t)
	for range 500 {
		c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte("GET /management/v1/users/u1 HTTP/1.1\r\nHost: x\r\nX-Slow: ")); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	w.do(t, "GET", "/management/v1/users/u1", "", as(w.owner())...).ok(t)
	if took := time.Since(began); took > 8*time.Second { // the slow ones have ten for their headers
		t.Errorf("took %v", took)
	}
}

func TestPanicsAreFaults(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.failWith(func(context.Context) error { panic("canary") })
	got := w.do(t, "GET", "/management/v1/users/u1", "", as(w.owner())...)
	got.refused(t, 500, "INTERNAL")
	if strings.Contains(string(got.body), "canary") {
		t.Error("the panic's text left the system")
	}
}

func TestHTTP2WithoutTLS(t *testing.T) {
	t.Parallel()
	w := start(t)
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/management/v1/users/u1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.owner())
	r.Header.Set("X-Large", strings.Repeat("x", 17<<10))
	got, err := transport.RoundTrip(r)
	if err != nil || got.StatusCode != 431 || got.ProtoMajor != 2 ||
		got.Header.Get("Content-Type") != "application/json" {
		t.Fatal(got, err)
	}
	got.Body.Close()
	r.Header.Del("X-Large")
	if got, err = transport.RoundTrip(r); err != nil || got.StatusCode != 200 {
		t.Fatal(got, err)
	}
	got.Body.Close()
}

// stoppable runs one more gateway until stop is called. ended gets the error with which it ends.
func (w *world) stoppable(t *testing.T) (address string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	g, err := gateway.New(t.Context(), w.Ground, gateway.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- g.Run(ctx) }()
	return g.Addr().String(), stop, result
}

// Requests that are running when the gateway stops are still answered.
func TestStopAnswersRunningRequests(t *testing.T) {
	t.Parallel()
	w := start(t)
	address, stop, ended := w.stoppable(t)
	var causes map[string]string
	w.failWith(func(ctx context.Context) error {
		stop()
		for {
			c, err := net.Dial("tcp", address)
			if err != nil { // the port is closed while the first request still runs
				causes = w.Health.Causes(ctx)
				return nil
			}
			c.Close()
		}
	})
	token := w.owner()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /management/v1/users/u1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", token)
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || got.StatusCode != 200 {
		t.Fatal(got, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if causes["gateway"] != "stopping" {
		t.Errorf("while it stopped it was %v", causes)
	}
}
