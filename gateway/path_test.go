package gateway_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// raw sends bytes unchanged and reads one answer.
func (w *world) raw(t testing.TB, request string) answer {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	go func() { _, _ = io.WriteString(c, request) }() // the server may answer before it has read all
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, body}
}

func TestOddPathsAreNotFound(t *testing.T) {
	t.Parallel()
	w := start(t)
	token := w.owner()
	for _, path := range []string{
		"//management/v1/users/u1", "/management//v1/users/u1", "/management/v1/users//u1", "/management/v1/users/u1//",
		"/management/v1/users/../users/u1", "/management/v1/users/./u1", "/management/v1/users/%2e%2e/users/u1",
		"/management/v1/users/%2E", "/auth/../management/v1/users/u1", "/management/v1/users/u1/",
		"/management;x/v1/users/u1",
		"/Management/v1/users/u1", "/management/v1/users", "/", "/x", "/ui", "*", "/livez/", "/herald.users.v1.Users",
		"/herald.users.v1.users/GetUser", "/herald.users.v1.Users/getUser", "/herald.users.v1.Users/GetUser/",
		"/herald.users.v1.Users/ResolveToken", "/herald.auth.v1.Auth/ServePage", "/management/v1/users/u1%2f..",
		"/herald.users.v1.Users%2fGetUser", "/docs%2fapi", "/docs/viewer%2Fredoc.js", "/ui%2flogin", "/ui/login%2fx",
		"/oauth/v2", "/oauth/v20/token", "/oauth/v2%2ftoken", "/oidc/v1", "/.well-known", "/.well-known%2Fx",
		"/herald.auth.v1.Auth/ServeEndpoint", "/herald.auth.v1.Auth/ResolveToken",
		"/management/v1/users/grants", "/management/v1/projects/members", // parts of longer paths, not ids
		"http://elsewhere/x",
	} {
		got := w.raw(t, "GET "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\n\r\n")
		if got.StatusCode == 404 && strings.HasSuffix(path, "u1%2f..") {
			got.refused(t, 404, "USER_NOT_FOUND") // the id is decoded once
			continue
		}
		if e := got.refused(t, 404, "NOT_FOUND"); e.Code != 5 || got.Header.Get("Location") != "" {
			t.Errorf("%s: %+v", path, e)
		}
	}
	if w.called.Load() > 1 {
		t.Errorf("%d requests reached the service", w.called.Load())
	}
}

// A browser at the bare address is led to the documents.
func TestBareAddress(t *testing.T) {
	t.Parallel()
	w := start(t)
	got := w.raw(t, "GET / HTTP/1.1\r\nHost: x\r\nAccept: text/html,*/*;q=0.8\r\n\r\n")
	if at := got.Header.Get("Location"); got.StatusCode != http.StatusFound || at != "/docs" {
		t.Errorf("%d to %q", got.StatusCode, at)
	}
	w.raw(t, "GET /x HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n").refused(t, 404, "NOT_FOUND")
	w.raw(t, "POST / HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nContent-Length: 0\r\n\r\n").
		refused(t, 404, "NOT_FOUND")
}

// An encoded slash does not end a part of a path, over every protocol.
func TestEncodedSlashesAreNoSlashes(t *testing.T) {
	t.Parallel()
	w := start(t)
	const path = "/herald.users.v1.Users%2FGetUser"
	if got := w.http2(t).Call(path, w.owner()); got.GRPCStatus != "12" {
		t.Errorf("gRPC: %+v", got)
	}
	web := w.do(t, "POST", path, string(framed(nil)), append(as(w.owner()), "Content-Type",
		"application/grpc-web+proto")...)
	if s := trailerStatus(t, web.Header); s.Code != 12 {
		t.Errorf("gRPC-Web: %v", s)
	}
	w.do(t, "POST", path, `{}`, append(as(w.owner()), "Content-Type", "application/json")...).refused(t, 404,
		"NOT_FOUND")
	if w.called.Load()+w.resolved.Load() != 0 {
		t.Error("let through")
	}
}

func TestUnreadableRequestsGetTheErrorBody(t *testing.T) {
	t.Parallel()
	w := start(t)
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
		if e := w.raw(t, c.request).refused(t, c.status, c.id); e.Code != 3 {
			t.Errorf("%.60q: %+v", c.request, e)
		}
	}
	if got := w.raw(t, "GET /livez HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 15<<10)+
		"\r\n\r\n"); got.StatusCode != 200 {
		t.Errorf("15 KiB of headers: %d", got.StatusCode)
	}
}

func TestWrongVerb(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, c := range []struct{ method, path, allow string }{
		{"POST", "/management/v1/users/u1", "GET, HEAD, DELETE, OPTIONS"},
		{"PATCH", "/management/v1/orgs/me", "GET, HEAD, PUT, DELETE, OPTIONS"},
		{"GET", "/management/v1/users/_search", "POST, OPTIONS"},
		{"DELETE", "/management/v1/users/%68uman", "POST, OPTIONS"},
		{"GET", "/management/v1/idps/directory", "POST, OPTIONS"},
		{"HEAD", "/management/v1/users/u1/keys/_search", "POST, OPTIONS"},
		{"GET", "/management/v1/projects/p1/apps/oidc", "POST, OPTIONS"},
		{"HEAD", "/management/v1/users/u1/pats", "POST, OPTIONS"},
		{"TRACE", "/auth/v1/users/me", "GET, HEAD, OPTIONS"},
		{"GET", "/herald.users.v1.Users/GetUser", "POST, OPTIONS"},
		{"BREW", "/grpc.health.v1.Health/Check", "POST, OPTIONS"},
		{"POST", "/livez", "GET, HEAD, OPTIONS"},
		{"DELETE", "/readyz", "GET, HEAD, OPTIONS"},
	} {
		got := w.do(t, c.method, c.path, "")
		if got.StatusCode != 405 || got.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q", c.method, c.path, got.StatusCode, got.Header.Get("Allow"))
		}
		if c.method != "HEAD" {
			if e := got.refused(t, 405, "VERB_NOT_ALLOWED"); e.Code != 12 {
				t.Errorf("%+v", e)
			}
		}
	}
	got := w.do(t, "OPTIONS", "/management/v1/users/u1", "")
	if got.StatusCode != 204 || got.Header.Get("Allow") != "GET, HEAD, DELETE, OPTIONS" {
		t.Errorf("OPTIONS: %d %v", got.StatusCode, got.Header)
	}
	head := w.do(t, "HEAD", "/management/v1/users/u1", "", as(w.owner())...).ok(t)
	if head.ContentLength < 100 || len(head.body) != 0 {
		t.Errorf("HEAD: %d announced, %d sent", head.ContentLength, len(head.body))
	}
}

func TestImpossibleIDs(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, id := range []string{
		strings.Repeat("é", 201), strings.Repeat("x", 5000), "a%00b", "%ff", "%c0%af", "%ed%a0%80",
	} {
		got := w.do(t, "GET", "/management/v1/users/"+id, "", as(w.owner())...)
		if e := got.refused(t, 404, "NOT_FOUND"); e.Code != 5 {
			t.Errorf("%.20s: %+v", id, e)
		}
		w.do(t, "GET", "/management/v1/users/"+id, "").refused(t, 401, "UNAUTHENTICATED")
	}
	w.do(t, "GET", "/management/v1/users/"+strings.Repeat("x", 200), "", as(w.owner())...).refused(t, 404,
		"USER_NOT_FOUND")
}

// Host and similar headers have no effect: the answers are equal.
func TestHostHeadersChangeNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	head := " HTTP/1.1\r\nX-Request-Id: r\r\nAuthorization: Bearer " + w.owner() + "\r\n"
	want := w.raw(t, "GET /management/v1/users/u1"+head+"Host: localhost\r\n\r\n")
	for _, request := range []string{
		"GET /management/v1/users/u1" + head + "Host: evil.example\r\n\r\n",
		"GET http://evil.example/management/v1/users/u1" + head + "Host: localhost\r\n\r\n",
		"GET /management/v1/users/u1" + head +
			"Host: localhost\r\nForwarded: host=evil.example;proto=https\r\nX-Forwarded-Host: " +
			"evil.example\r\nX-Forwarded-Prefix: /x\r\nX-Original-Url: /admin\r\nX-Http-Method-Override: " +
			"DELETE\r\n\r\n",
	} {
		got := w.raw(t, request)
		names := func(a answer) (n []string) {
			for name := range a.Header {
				n = append(n, name)
			}
			slices.Sort(n)
			return n
		}
		if got.StatusCode != 200 || string(got.body) != string(want.body) || !slices.Equal(names(got), names(want)) {
			t.Errorf("%.60q: %d %v %s", request, got.StatusCode, got.Header, got.body)
		}
	}
}
