package routes_test

import (
	"testing"

	"herald/services/auth/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// A path without an endpoint gets an error that clients of OAuth 2.0 can read, and not a page.
func TestUnknownEndpointAnswersWithJSON(t *testing.T) {
	t.Parallel()
	service := testworld.Open(t, testkit.Ground(t), testworld.Public).(testworld.Edge).Auth
	for _, uri := range []string{"/oauth/v2/nothing", "/oidc/v1/", "/.well-known/nothing?x=y", "/ui/login/user/init"} {
		got, err := service.ServeEndpoint(t.Context(), &authv1.ServeEndpointRequest{
			Request: &heraldv1.HttpRequest{Method: "GET", Uri: uri},
		})
		if err != nil {
			t.Fatal(err)
		}
		headers := map[string]string{}
		for _, h := range got.Response.Headers {
			headers[h.Name] = h.Value
		}
		const body = `{"error":"invalid_request","error_description":"There is nothing at this address"}`
		if got.Response.Status != 404 || string(got.Response.Body) != body || len(headers) != 2 ||
			headers["Content-Type"] != "application/json" || headers["Cache-Control"] != "no-store" {
			t.Errorf("%s: %v", uri, got.Response)
		}
	}
}
