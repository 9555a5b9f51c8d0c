package discovery

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDocumentJoinsParts(t *testing.T) {
	t.Parallel()
	got, err := Document("https://id.example.com", []Part{
		Keys("RS256"), Server([]string{"en", "de"}),
		{
			Paths: map[string]string{"token_endpoint": "/oauth/v2/token"},
			Lists: map[string][]string{"grant_types_supported": {"refresh_token", "authorization_code"}},
		},
		{
			Lists: map[string][]string{"grant_types_supported": {"client_credentials", "refresh_token"}},
			Flags: map[string]bool{"claims_parameter_supported": false, "backchannel_logout_supported": true},
		},
	})
	const want = `{"backchannel_logout_supported":true,"claim_types_supported":["normal"],` +
		`"claims_parameter_supported":false,` +
		`"grant_types_supported":["authorization_code","client_credentials","refresh_token"],` +
		`"id_token_signing_alg_values_supported":["RS256"],"issuer":"https://id.example.com",` +
		`"jwks_uri":"https://id.example.com/oauth/v2/keys","request_parameter_supported":false,` +
		`"request_uri_parameter_supported":false,"subject_types_supported":["public"],` +
		`"token_endpoint":"https://id.example.com/oauth/v2/token","ui_locales_supported":["de","en"]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestContradictingPartsAreRefused(t *testing.T) {
	t.Parallel()
	path := func(name, path string) Part { return Part{Paths: map[string]string{name: path}} }
	list := func(name string, values ...string) Part { return Part{Lists: map[string][]string{name: values}} }
	flag := func(name string, value bool) Part { return Part{Flags: map[string]bool{name: value}} }
	for name, parts := range map[string][]Part{
		"an endpoint twice":       {path("token_endpoint", "/a"), path("token_endpoint", "/a")},
		"an address of its own":   {path("token_endpoint", "https://evil.example/a")},
		"another issuer":          {path("issuer", "/a")},
		"a flag with two values":  {flag("a_supported", true), flag("a_supported", false)},
		"a flag that is a path":   {path("a", "/a"), flag("a", true)},
		"a list that is a flag":   {flag("a_supported", true), list("a_supported", "b")},
		"a list without elements": {list("a_supported")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := Document("https://id.example.com", parts); err == nil {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestDocumentIsReadOnly(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	keys, current := "first", true
	Mount(mux, []byte("document"), func(context.Context) ([]byte, bool) { return []byte(keys), current })
	keys = "second" // the keys of now are served
	for path, want := range map[string]struct{ body, control string }{
		"/.well-known/openid-configuration":       {"document", "public, max-age=3600"},
		"/.well-known/oauth-authorization-server": {"document", "public, max-age=3600"},
		"/oauth/v2/keys":                          {"second", "public, max-age=300"},
	} {
		t.Run(path, func(t *testing.T) {
			for method, status := range map[string]int{
				"GET": 200, "HEAD": 200, "POST": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 405, "get": 405,
			} {
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader("")))
				body, control, allow := want.body, want.control, ""
				if status == 405 {
					body, control, allow = notRead, "no-store", "GET, HEAD"
				}
				h := w.Header()
				if w.Code != status || w.Body.String() != body || h.Get("Cache-Control") != control ||
					h.Get("Allow") != allow || h.Get("Content-Type") != "application/json" {
					t.Errorf("%s %s: %d %s %v", method, path, w.Code, w.Body, h)
				}
			}
		})
	}
	current = false
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", KeysPath, nil))
	if control := w.Header().Get("Cache-Control"); w.Code != 200 || control != "no-store" {
		t.Errorf("keys that may be too old: %d, %s", w.Code, control)
	}
}
