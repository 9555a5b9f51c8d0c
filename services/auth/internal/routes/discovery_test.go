package routes_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"herald/services/auth/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// where says by which method each endpoint of the specification is reached, and by which member of the documents
// clients find it.
var where = map[string]struct {
	member string
	page   bool
}{
	"/oauth/v2/authorize":            {"authorization_endpoint", true},
	"/oauth/v2/token":                {"token_endpoint", false},
	"/oauth/v2/introspect":           {"introspection_endpoint", false},
	"/oauth/v2/revoke":               {"revocation_endpoint", false},
	"/oauth/v2/keys":                 {"jwks_uri", false},
	"/oauth/v2/device_authorization": {"device_authorization_endpoint", false},
	"/oidc/v1/userinfo":              {"userinfo_endpoint", false},
	"/oidc/v1/end_session":           {"end_session_endpoint", true},
}

// reached returns the answer to a GET of a path, of a page or of an endpoint for programs.
func reached(t *testing.T, service authv1.AuthClient, path string, page bool) *heraldv1.HttpResponse {
	t.Helper()
	in := &heraldv1.HttpRequest{Method: "GET", Uri: path}
	if page {
		out, err := service.ServePage(t.Context(), &authv1.ServePageRequest{Request: in})
		if err != nil {
			t.Fatal(err)
		}
		return out.Response
	}
	out, err := service.ServeEndpoint(t.Context(), &authv1.ServeEndpointRequest{Request: in})
	if err != nil {
		t.Fatal(err)
	}
	return out.Response
}

// The documents list the endpoints that are there, and no others.
func TestDiscoveryListsTheEndpointsThatExist(t *testing.T) {
	t.Parallel()
	service := testworld.Open(t, testkit.Ground(t), testworld.Public).(testworld.Edge).Auth
	text := reached(t, service, "/.well-known/openid-configuration", false)
	if other := reached(t, service, "/.well-known/oauth-authorization-server", false); text.Status != http.StatusOK ||
		string(other.Body) != string(text.Body) {
		t.Errorf("%d %s\nis not\n%s", text.Status, text.Body, other.Body)
	}
	var document map[string]any
	if err := json.Unmarshal(text.Body, &document); err != nil {
		t.Fatal(err)
	}
	if document["issuer"] != testworld.Public {
		t.Errorf("the issuer is %v", document["issuer"])
	}
	for member := range document {
		known := false
		for _, w := range where {
			known = known || w.member == member
		}
		if (strings.HasSuffix(member, "_endpoint") || strings.HasSuffix(member, "_uri")) && !known {
			t.Errorf("%s is no endpoint of the specification", member)
		}
	}
	for path, w := range where {
		status := reached(t, service, path, w.page).Status
		listed := document[w.member] == testworld.Public+path
		if document[w.member] != nil && !listed {
			t.Errorf("%s is %v", w.member, document[w.member])
		}
		if there := status != http.StatusNotFound; listed != there {
			t.Errorf("GET %s has status %d; the documents list it: %v. An endpoint has its discovery.Part in endpoints",
				path, status, listed)
		}
	}
	var languages []string
	for _, tag := range document["ui_locales_supported"].([]any) {
		languages = append(languages, tag.(string))
	}
	if !slices.Equal(languages, testworld.Supported) {
		t.Errorf("pages have the languages %v", languages)
	}
}

// transport lets an independent client ask the service.
type transport struct {
	*testing.T
	service authv1.AuthClient
}

func (c transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := reached(c.T, c.service, r.URL.Path, false)
	return &http.Response{StatusCode: int(answer.Status), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(answer.Body)), Request: r}, nil
}

// An independent client accepts the document for the issuer.
func TestIndependentClientAcceptsDiscovery(t *testing.T) {
	t.Parallel()
	service := testworld.Open(t, testkit.Ground(t), testworld.Public).(testworld.Edge).Auth
	ctx := oidc.ClientContext(t.Context(), &http.Client{Transport: transport{t, service}})
	if _, err := oidc.NewProvider(ctx, testworld.Public); err != nil {
		t.Error(err)
	}
	if _, err := oidc.NewProvider(ctx, testworld.Public+"/"); err == nil {
		t.Error("the client does not compare the issuer")
	}
}

// The keys are those that sign and those that are announced.
func TestKeysThatSignAndAnnouncedKeysAreServed(t *testing.T) {
	t.Parallel()
	service := testworld.Open(t, testkit.Ground(t), testworld.Public).(testworld.Edge).Auth
	answer := reached(t, service, "/oauth/v2/keys", false)
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(answer.Body, &set); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, k := range set.Keys {
		if !k.Valid() || !k.IsPublic() {
			t.Errorf("%s is not a public key", k.KeyID)
		}
		ids = append(ids, k.KeyID)
	}
	slices.Sort(ids)
	if got := strings.Join(ids, " "); got != "RS256-signs RS256-waits" {
		t.Errorf("the keys are %s", got)
	}
	if strings.Contains(string(answer.Body), `"d"`) {
		t.Error("a private key is served")
	}
}

// Issuer and addresses are those that are configured, whatever a client claims.
func TestDiscoveryIgnoresTheHostOfARequest(t *testing.T) {
	t.Parallel()
	service := testworld.Open(t, testkit.Ground(t), testworld.Public+"/").(testworld.Edge).Auth
	var headers []*heraldv1.HttpHeader
	for _, name := range []string{"Host", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Origin"} {
		headers = append(headers, &heraldv1.HttpHeader{Name: name, Value: "evil.example"})
	}
	out, err := service.ServeEndpoint(t.Context(), &authv1.ServeEndpointRequest{Request: &heraldv1.HttpRequest{
		Method: "GET", Uri: "/.well-known/openid-configuration?host=evil.example", Headers: headers,
	}})
	if err != nil || strings.Contains(out.Response.String(), "evil") ||
		!strings.Contains(string(out.Response.Body), `"issuer":"`+testworld.Public+`"`) {
		t.Errorf("%v, %v", out, err)
	}
}
