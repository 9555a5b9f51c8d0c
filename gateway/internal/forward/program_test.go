package forward_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/gateway/internal/testworld"
	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
)

func TestEndpointsAreForwarded(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	var asked *heraldv1.HttpRequest
	w.Auth.Endpoint = func(r *heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		asked = r
		return &heraldv1.HttpResponse{Status: 401, Body: []byte("{}"), Headers: []*heraldv1.HttpHeader{
			{Name: "WWW-Authenticate", Value: "Basic"}, {Name: "Content-Type", Value: "application/json"},
			{Name: "Cache-Control", Value: "no-store"},
		}}, nil
	}
	got := w.Raw(t, "POST /oauth/v2/token?x=%2F HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n"+
		"User-Agent: x\r\nAuthorization: Basic YTpi\r\nAuthorization: Bearer x\r\nAccept: application/json\r\n"+
		"Accept-Language: de\r\nCookie: s=1\r\nContent-Type: application/x-www-form-urlencoded\r\n"+
		"Origin: https://app.example\r\nSec-Fetch-Site: cross-site\r\nContent-Length: 3\r\n\r\na=b")
	want := &heraldv1.HttpRequest{Method: "POST", Uri: "/oauth/v2/token?x=%2F", Body: []byte("a=b"),
		Headers: []*heraldv1.HttpHeader{
			{Name: "Accept", Value: "application/json"}, {Name: "Accept-Language", Value: "de"},
			{Name: "Authorization", Value: "Basic YTpi"}, {Name: "Authorization", Value: "Bearer x"},
			{Name: "Content-Type", Value: "application/x-www-form-urlencoded"},
			{Name: "Origin", Value: "https://app.example"},
		}, Client: "127.0.0.1"}
	if !proto.Equal(asked, want) {
		t.Errorf("got %v", asked)
	}
	h := got.Header
	if got.StatusCode != 401 || string(got.Text) != "{}" || h.Get("WWW-Authenticate") != "Basic" ||
		h.Get("Content-Type") != "application/json" || !slices.Equal(h["Cache-Control"], []string{"no-store"}) ||
		h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%d %v %s", got.StatusCode, h, got.Text)
	}
}

// Each path belongs to the longest prefix that ends where one of its parts ends.
func TestPathsBelongToPagesOrMethods(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	named := func(name string) func(r *heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		return func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
			return &heraldv1.HttpResponse{Status: 200, Body: []byte(name)}, nil
		}
	}
	w.Auth.Page, w.Auth.Endpoint = named("people"), named("programs")
	for path, owner := range map[string]string{
		"/ui/": "people", "/ui/login": "people",
		"/oauth/v2/authorize": "people", "/oauth/v2/authorize?x=y": "people", "/oauth/v2/authorize/x": "people",
		"/oauth/v2/authorize/": "people", "/oauth/v2/authoriz%65": "people",
		"/oidc/v1/end_session": "people",
		"/oauth/v2/":           "programs", "/oauth/v2/token": "programs", "/oauth/v2/authorizes": "programs",
		"/oauth/v2/token/authorize": "programs", "/oauth/v2/Authorize": "programs", "/oauth/v2/authorize;x": "programs",
		"/oidc/v1/userinfo": "programs", "/oidc/v1/end_session2": "programs",
		"/.well-known/openid-configuration": "programs", "/.well-known/a/b": "programs",
	} {
		if got := w.Do(t, "GET", path, "").OK(t); string(got.Text) != owner {
			t.Errorf("%s belongs to %s", path, got.Text)
		}
	}
}

// Clients of OAuth 2.0 can read the gateway's own faults.
func TestFaultOfAnEndpointIsAnOAuthError(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	fail := func(f error) func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		return func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) { return nil, f }
	}
	ok := func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		return &heraldv1.HttpResponse{Status: 200}, nil
	}
	large := strings.Repeat("x", 64<<10+1)
	for _, c := range []struct {
		name   string
		answer func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error)
		path   string
		body   string
		header []string
		status int
		code   string
		retry  string
	}{
		{"away", fail(fault.ErrUnavailable.After(time.Second)), "", "", nil, 503, "temporarily_unavailable", "1"},
		{"late", fail(fault.ErrDeadlineExceeded), "", "", nil, 504, "temporarily_unavailable", ""},
		{"busy", fail(fault.ErrOverloaded.After(time.Second)), "", "", nil, 429, "temporarily_unavailable", "1"},
		{"broken", fail(errors.New("boom")), "", "", nil, 500, "server_error", ""},
		{"no status", func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
			return &heraldv1.HttpResponse{}, nil
		}, "", "", nil, 500, "server_error", ""},
		{"refused", fail(fault.ErrInvalidArgument.Say("a \"b\" \\ é\n")), "", "", nil, 400, "invalid_request", ""},
		{"too large", ok, "", large, nil, 413, "invalid_request", ""},
		{"compressed", ok, "", "x", []string{"Content-Encoding", "gzip"}, 415, "invalid_request", ""},
		{"not UTF-8", ok, "", "x", []string{"Authorization", "Basic \xff"}, 400, "invalid_request", ""},
		{"headers", ok, "", "x", []string{"X", strings.Repeat("x", 17<<10)}, 431, "invalid_request", ""},
		{"an odd path", ok, "/oauth/v2//token", "x", nil, 404, "invalid_request", ""},
	} {
		w.Auth.Endpoint = c.answer
		if c.path == "" {
			c.path = "/oauth/v2/token"
		}
		got := w.Do(t, "POST", c.path, c.body, c.header...)
		var answer map[string]string
		if err := json.Unmarshal(got.Text, &answer); err != nil {
			t.Errorf("%s: %s: %v", c.name, got.Text, err)
		}
		description := answer["error_description"]
		forbidden := func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
		if got.StatusCode != c.status || len(answer) != 2 || answer["error"] != c.code || description == "" ||
			strings.ContainsFunc(description, forbidden) || got.Header.Get("Retry-After") != c.retry ||
			got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s %v", c.name, got.StatusCode, got.Text, got.Header)
		}
	}
}

// Scripts of any origin may use the endpoints for programs. No script may use the pages for people.
func TestCrossOriginOfEndpoints(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Auth.Page = testworld.EmptyPage
	w.Auth.Endpoint = func(r *heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		if r.Method == "OPTIONS" {
			t.Errorf("a preflight of %s reached the service", r.Uri)
		}
		return testworld.EmptyPage(r)
	}
	preflight := []string{"Origin", "https://app.example", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization"}
	for path, open := range map[string]bool{
		"/oauth/v2/token": true, "/oauth/v2/revoke": true, "/oauth/v2/introspect": true, "/oauth/v2/keys": true,
		"/oauth/v2/device_authorization": true, "/oidc/v1/userinfo": true, "/.well-known/openid-configuration": true,
		"/oauth/v2/authorize": false, "/oidc/v1/end_session": false, "/ui/login": false,
	} {
		for _, method := range []string{"OPTIONS", "GET"} {
			h := w.Do(t, method, path, "", preflight...).Header
			origin, headers := h.Get("Access-Control-Allow-Origin"), h.Get("Access-Control-Allow-Headers")
			for name := range h {
				if strings.HasPrefix(name, "Access-Control-") && !open {
					t.Errorf("%s %s answers %s", method, path, name)
				}
			}
			if open && (origin != "*" || h.Get("Access-Control-Allow-Credentials") != "") {
				t.Errorf("%s %s: %v", method, path, h)
			}
			if open && method == "OPTIONS" && !strings.Contains(headers, "Authorization") {
				t.Errorf("%s may not send a token: %v", path, h)
			}
		}
	}
}

// Posted questions that change nothing go to the method that all replicas may be asked with. What works once, such as a
// client assertion, does not.
func TestPostedQuestionsMayBeRepeated(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Auth.Endpoint = testworld.EmptyPage
	for _, c := range []struct {
		method, path, body string
		opened             int64
	}{
		{"POST", "/oauth/v2/introspect", "token=x", 1},
		{"POST", "/oauth/v2/introspect", "token=x&client_assertion=y", 0},
		{"GET", "/oidc/v1/userinfo", "", 1},
		{"POST", "/oidc/v1/userinfo", "access_token=x", 1},
		{"POST", "/oauth/v2/token", "grant_type=client_credentials", 0},
		{"POST", "/oauth/v2/revoke", "token=x", 0},
		{"PUT", "/oauth/v2/introspect", "token=x", 0},
	} {
		t.Run(c.method+" "+c.path+" "+c.body, func(t *testing.T) { //nolint:paralleltest // counts
			before := w.Auth.Opened.Load()
			w.Do(t, c.method, c.path, c.body, "Content-Type", "application/x-www-form-urlencoded")
			if n := w.Auth.Opened.Load() - before; n != c.opened {
				t.Errorf("%d requests of OpenEndpoint, want %d", n, c.opened)
			}
		})
	}
}
