package edge_test

import (
	"strings"
	"testing"

	"herald/gateway/internal/testworld"
)

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Auth.Page = testworld.EmptyPage
	preflight := []string{"Origin", "https://app.example", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,x-service-orgid"}
	for _, path := range []string{"/management/v1/users/_search", testworld.GetUser, "/auth/v1/users/me"} {
		got := w.Do(t, "OPTIONS", path, "", preflight...)
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
	got := w.Do(t, "GET", "/management/v1/users/u1", "", "Origin", "null")
	got.Refused(t, 401, "UNAUTHENTICATED")
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
		for name := range w.Do(t, method, "/ui/login", "", preflight...).Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s /ui/ answers %s", method, name)
			}
		}
	}
}
