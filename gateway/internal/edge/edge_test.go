package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"herald/gateway/internal/testworld"
)

func TestRequestID(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for given, kept := range map[string]bool{
		"abc-123": true, "with space": true, strings.Repeat("x", 128): true,
		strings.Repeat("x", 129): false, "": false, "é": false, "\x1b[31m": false,
	} {
		request := "GET /auth/v1/users/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.Owner() +
			"\r\nX-Request-Id: " + given + "\r\n\r\n"
		got := w.Raw(t, request)
		if strings.HasPrefix(given, "\x1b") {
			got.Refused(t, 400, "REQUEST_MALFORMED")
			continue
		}
		id := got.OK(t).Header.Get("X-Request-Id")
		if (id == given) != kept || len(id) == 0 || w.RequestID != id ||
			!strings.Contains(w.Lines.String(), `"request":"`+id+`"`) {
			t.Errorf("%q: returned %q, carried %q", given, id, w.RequestID)
		}
	}
}

func TestTraceparentComesBack(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	got := w.Do(t, "GET", "/auth/v1/users/me", "", testworld.As(w.Owner(), "traceparent", parent)...).OK(t)
	if !strings.HasPrefix(got.Header.Get("Traceparent"), parent[:35]) ||
		!strings.Contains(w.Lines.String(), parent[3:35]) {
		t.Error(got.Header)
	}
}

func TestTraceparentIsMade(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	made := regexp.MustCompile("^00-([0-9a-f]{32})-[0-9a-f]{16}-0[01]$")
	for _, given := range []string{"", "nonsense", "00-00000000000000000000000000000000-b7ad6b7169203331-01"} {
		got := w.Do(t, "GET", "/auth/v1/users/me", "", testworld.As(w.Owner(), "traceparent", given)...).OK(t)
		found := made.FindStringSubmatch(got.Header.Get("Traceparent"))
		if found == nil || strings.Trim(found[1], "0") == "" || !strings.Contains(w.Lines.String(), found[1]) {
			t.Errorf("%q: %v", given, got.Header)
		}
	}
}

// A log line has the method and the outcome, and no data of people.
func TestRequestIsLoggedInOneLineWithoutPersonalData(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	agent := "evil\"}\xff\t" + strings.Repeat("x", 10_000)
	before := len(w.Lines.String())
	w.Do(t, "GET", "/management/v1/users/canary-id?q=canary-query", "", testworld.As(w.Owner(), "User-Agent",
		agent)...).
		Refused(t, 404, "USER_NOT_FOUND")
	text := w.Lines.String()[before:]
	var line map[string]any
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for name, want := range map[string]any{
		"level": "INFO", "msg": "request", "http": "GET", "route": "GET /management/v1/users/{user_id}",
		"status": 404.0, "fault": "USER_NOT_FOUND", "agent": strings.ToValidUTF8(agent[:200], "\uFFFD"),
	} {
		t.Run(name, func(t *testing.T) {
			if line[name] != want {
				t.Errorf("%v", line[name])
			}
		})
	}
	if strings.Contains(text, "canary") || strings.Contains(text, "hrld_") || len(text) > 1000 {
		t.Error(text)
	}
}

func TestSizesOfRequestsAreLimited(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	pad := func(n int) string { return `{"x":"` + strings.Repeat("x", n-len(`{"x":""}`)) + `"}` }
	search := func(body string, pairs ...string) testworld.Answer {
		return w.Do(t, "POST", "/management/v1/users/_search", body, testworld.As(w.Owner(), pairs...)...)
	}
	search(pad(1 << 20)).OK(t)
	if e := search(pad(1<<20+1)).Refused(t, 413, "BODY_TOO_LARGE"); e.Code != 3 {
		t.Errorf("%+v", e)
	}
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 1<<20+1, pad(1<<20+1))
	w.Raw(t, "POST /management/v1/users/_search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+w.Owner()+
		"\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk).Refused(t, 413, "BODY_TOO_LARGE")
	w.Do(t, "POST", "/management/v1/users/_search", pad(1<<20+1)).Refused(t, 401, "UNAUTHENTICATED")

	large := w.Do(t, "POST", testworld.GetUser, string(testworld.Framed(make([]byte, 1<<20+1))),
		testworld.As(w.Owner(), "Content-Type", "application/grpc-web+proto")...)
	if s := testworld.TrailerStatus(t, testworld.WebTrailer(t,
		large)); s.Code != 3 || !strings.Contains(s.String(), "BODY_TOO_LARGE") {
		t.Errorf("gRPC-Web: %v", s)
	}
	largest := w.Do(t, "POST", testworld.GetUser, string(testworld.Framed(make([]byte, 1<<20))),
		testworld.As(w.Owner(), "Content-Type", "application/grpc-web+proto")...)
	// zeros are not a message
	if s := testworld.TrailerStatus(t, testworld.WebTrailer(t, largest)); !strings.Contains(s.String(),
		"INVALID_ARGUMENT") {
		t.Errorf("gRPC-Web, just small enough: %v", s)
	}
	zipped := w.Do(t, "POST", testworld.GetUser, "\x01\x00\x00\x00\x01x",
		testworld.As(w.Owner(), "Content-Type", "application/grpc-web+proto", "Grpc-Encoding", "gzip")...)
	if s := testworld.TrailerStatus(t, testworld.WebTrailer(t, zipped)); s.Code != 3 {
		t.Errorf("gRPC-Web, compressed: %v", s)
	}
}

func TestPanicsAreFaults(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.FailWith(func(context.Context) error { panic("canary") })
	got := w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(w.Owner())...)
	got.Refused(t, 500, "INTERNAL")
	if strings.Contains(string(got.Text), "canary") {
		t.Error("the panic's text left the system")
	}
}

func TestHTTP2WithoutTLS(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.URL+"/management/v1/users/u1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.Owner())
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
