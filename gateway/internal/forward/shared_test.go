package forward_test

import (
	"fmt"
	"testing"
	"time"

	"herald/gateway/internal/testworld"
	heraldv1 "herald/shared/gen/herald/v1"
)

// A public answer is requested once until it expires. No other answer is cached.
func TestOnlyPublicAnswersOfEndpointsAreShared(t *testing.T) {
	t.Parallel()
	const keys, public = "/oauth/v2/keys", "public, max-age=60"
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		control            string
		status             int32
		kept               bool
	}{
		"a document":      {"GET", keys, "", nil, public, 200, true},
		"with a query":    {"GET", keys + "?a=b", "", nil, public, 200, true},
		"a script's":      {"GET", keys, "", []string{"Origin", "https://app.example"}, public, 200, true},
		"with a token":    {"GET", keys, "", testworld.As("x"), public, 200, false},
		"an empty token":  {"GET", keys, "", []string{"Authorization", ""}, public, 200, false},
		"a post":          {"POST", keys, "a=b", nil, public, 200, false},
		"with a body":     {"GET", keys, "a=b", nil, public, 200, false},
		"a head":          {"HEAD", keys, "", nil, public, 200, false},
		"an error":        {"GET", keys, "", nil, public, 404, false},
		"private":         {"GET", keys, "", nil, "private, max-age=60", 200, false},
		"of no word":      {"GET", keys, "", nil, "", 200, false},
		"a person's page": {"GET", "/ui/login", "", nil, public, 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, asked := testworld.Start(t), 0
			w.Auth.Endpoint = func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
				asked++
				m := &heraldv1.HttpResponse{Status: c.status, Body: fmt.Append(nil, "answer ", asked)}
				if c.control != "" {
					m.Headers = []*heraldv1.HttpHeader{{Name: "Cache-Control", Value: c.control}}
				}
				return m, nil
			}
			w.Auth.Page = w.Auth.Endpoint
			get := func(asked int) testworld.Answer {
				t.Helper()
				got := w.Do(t, c.method, c.path, c.body, c.header...)
				if want := fmt.Sprint("answer ", asked); c.method != "HEAD" && string(got.Text) != want {
					t.Errorf("%q, want %q", got.Text, want)
				}
				return got
			}
			first := get(1)
			if tagged := first.Header.Get("Etag") != ""; tagged != c.kept {
				t.Errorf("%v", first.Header)
			}
			if !c.kept {
				get(2)
				return
			}
			w.Clock.Advance(59 * time.Second)
			second := get(1)
			if id := second.Header.Get("X-Request-Id"); id == "" || id == first.Header.Get("X-Request-Id") {
				t.Errorf("two answers have the request id %q", id)
			}
			w.Do(t, "HEAD", c.path, "", c.header...).OK(t)
			tag := []string{"If-None-Match", first.Header.Get("Etag")}
			if got := w.Do(t, "GET", c.path, "", append(tag, c.header...)...); got.StatusCode != 304 {
				t.Errorf("%d %v", got.StatusCode, got.Header)
			}
			if w.Do(t, c.method, c.path, c.body, testworld.As("x")...); asked != 2 {
				t.Error("a request with a token was answered from the cache")
			}
			w.Clock.Advance(2 * time.Second)
			get(3)
		})
	}
}
