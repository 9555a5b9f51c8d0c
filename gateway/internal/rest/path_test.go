package rest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"herald/gateway/internal/testworld"
)

func TestOddPathsAreNotFound(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	for _, path := range []string{
		"//management/v1/users/u1", "/management//v1/users/u1", "/management/v1/users//u1", "/management/v1/users/u1//",
		"/management/v1/users/../users/u1", "/management/v1/users/./u1", "/management/v1/users/%2e%2e/users/u1",
		"/management/v1/users/%2E", "/auth/../management/v1/users/u1", "/management/v1/users/u1/",
		"/management;x/v1/users/u1",
		"/Management/v1/users/u1", "/management/v1/users", "/", "/x", "/ui", "*", "/livez/", "/herald.users.v1.Users",
		"/herald.users.v1.users/GetUser", "/herald.users.v1.Users/getUser", "/herald.users.v1.Users/GetUser/",
		"/herald.users.v1.Internal/ResolveToken", "/herald.auth.v1.Auth/ServePage", "/management/v1/users/u1%2f..",
		"/herald.users.v1.Users%2fGetUser", "/docs%2fapi", "/docs/viewer%2Fredoc.js", "/ui%2flogin", "/ui/login%2fx",
		"/oauth/v2", "/oauth/v20/token", "/oauth/v2%2ftoken", "/oidc/v1", "/.well-known", "/.well-known%2Fx",
		"/herald.auth.v1.Auth/ServeEndpoint", "/herald.auth.v1.Auth/ResolveToken",
		"/management/v1/users/grants", "/management/v1/projects/members", // parts of longer paths, not ids
	} {
		got := w.Raw(t, "GET "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\n\r\n")
		if got.StatusCode == 404 && strings.HasSuffix(path, "u1%2f..") {
			got.Refused(t, 404, "USER_NOT_FOUND") // the id is decoded once
			continue
		}
		if e := got.Refused(t, 404, "NOT_FOUND"); e.Code != 5 || got.Header.Get("Location") != "" {
			t.Errorf("%s: %+v", path, e)
		}
	}
	if w.Called.Load() > 1 {
		t.Errorf("%d requests reached the service", w.Called.Load())
	}
}

// A browser at the bare address is led to the documents.
func TestBareAddressLeadsToTheDocuments(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	got := w.Raw(t, "GET / HTTP/1.1\r\nHost: x\r\nAccept: text/html,*/*;q=0.8\r\n\r\n")
	if at := got.Header.Get("Location"); got.StatusCode != http.StatusFound || at != "/docs" {
		t.Errorf("%d to %q", got.StatusCode, at)
	}
	w.Raw(t, "GET /x HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n").Refused(t, 404, "NOT_FOUND")
	w.Raw(t, "POST / HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nContent-Length: 0\r\n\r\n").
		Refused(t, 404, "NOT_FOUND")
}

// An encoded slash does not end a part of a path, over every protocol.
func TestEncodedSlashesAreNoSlashes(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	const path = "/herald.users.v1.Users%2FGetUser"
	if got := w.HTTP2(t).Call(path, w.Owner()); got.GRPCStatus != "12" {
		t.Errorf("gRPC: %+v", got)
	}
	web := w.Do(t, "POST", path, string(testworld.Framed(nil)), testworld.As(w.Owner(), "Content-Type",
		"application/grpc-web+proto")...)
	if s := testworld.TrailerStatus(t, web.Header); s.Code != 12 {
		t.Errorf("gRPC-Web: %v", s)
	}
	w.Do(t, "POST", path, `{}`, testworld.As(w.Owner(), "Content-Type", "application/json")...).Refused(t, 404,
		"NOT_FOUND")
	if w.Called.Load()+w.Resolved.Load() != 0 {
		t.Error("let through")
	}
}

func TestWrongVerb(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
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
		got := w.Do(t, c.method, c.path, "")
		if got.StatusCode != 405 || got.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q", c.method, c.path, got.StatusCode, got.Header.Get("Allow"))
		}
		if c.method != "HEAD" {
			if e := got.Refused(t, 405, "VERB_NOT_ALLOWED"); e.Code != 12 {
				t.Errorf("%+v", e)
			}
		}
	}
	got := w.Do(t, "OPTIONS", "/management/v1/users/u1", "")
	if got.StatusCode != 204 || got.Header.Get("Allow") != "GET, HEAD, DELETE, OPTIONS" {
		t.Errorf("OPTIONS: %d %v", got.StatusCode, got.Header)
	}
	head := w.Do(t, "HEAD", "/management/v1/users/u1", "", testworld.As(w.Owner())...).OK(t)
	if head.ContentLength < 100 || len(head.Text) != 0 {
		t.Errorf("HEAD: %d announced, %d sent", head.ContentLength, len(head.Text))
	}
}

func TestImpossibleIDs(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, id := range []string{
		strings.Repeat("é", 201), strings.Repeat("x", 5000), "a%00b", "%ff", "%c0%af", "%ed%a0%80",
	} {
		got := w.Do(t, "GET", "/management/v1/users/"+id, "", testworld.As(w.Owner())...)
		if e := got.Refused(t, 404, "NOT_FOUND"); e.Code != 5 {
			t.Errorf("%.20s: %+v", id, e)
		}
		w.Do(t, "GET", "/management/v1/users/"+id, "").Refused(t, 401, "UNAUTHENTICATED")
	}
	w.Do(t, "GET", "/management/v1/users/"+strings.Repeat("x", 200), "", testworld.As(w.Owner())...).Refused(t, 404,
		"USER_NOT_FOUND")
}

// Host and similar headers have no effect: the answers are equal.
func TestHostHeadersChangeNothing(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	head := " HTTP/1.1\r\nX-Request-Id: r\r\nAuthorization: Bearer " + w.Owner() + "\r\n"
	want := w.Raw(t, "GET /management/v1/users/u1"+head+"Host: localhost\r\n\r\n")
	for _, request := range []string{
		"GET /management/v1/users/u1" + head + "Host: evil.example\r\n\r\n",
		"GET /management/v1/users/u1" + head +
			"Host: localhost\r\nForwarded: host=evil.example;proto=https\r\nX-Forwarded-Host: " +
			"evil.example\r\nX-Forwarded-Prefix: /x\r\nX-Original-Url: /admin\r\nX-Http-Method-Override: " +
			"DELETE\r\n\r\n",
	} {
		got := w.Raw(t, request)
		names := func(a testworld.Answer) (n []string) {
			for name := range a.Header {
				n = append(n, name)
			}
			slices.Sort(n)
			return n
		}
		if got.StatusCode != 200 || string(got.Text) != string(want.Text) || !slices.Equal(names(got), names(want)) {
			t.Errorf("%.60q: %d %v %s", request, got.StatusCode, got.Header, got.Text)
		}
	}
}
