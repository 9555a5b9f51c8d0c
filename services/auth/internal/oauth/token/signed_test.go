package token_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/testworld"
)

// Every token that is signed has an algorithm that the discovery document names, which is that of the published key.
func TestSignedTokensHaveAlgorithmsOfDiscovery(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { devices(w); setFormat(w, "OIDC_TOKEN_TYPE_JWT") })
	person := w.LoggedIn()
	robot := w.Good(w.Post("/oauth/v2/token", "grant_type", "client_credentials", "client_id", "robot"))
	next := w.Good(w.Refresh(person.Text("refresh_token")))
	logout, err := w.Keys.Sign(signing.LogoutToken(), map[string]string{})
	w.Must(err)
	var set struct{ Keys []struct{ Kid, Alg string } }
	jwks, _ := w.Keys.JWKS(t.Context())
	w.Must(json.Unmarshal(jwks, &set))
	document := w.Send(httptest.NewRequest("GET", "/.well-known/openid-configuration", nil)).Body
	named, _ := document["id_token_signing_alg_values_supported"].([]any)
	for name, token := range map[string]string{
		"id token": person.Text("id_token"), "id token of a refresh": next.Text("id_token"), "logout token": logout,
		"access token": person.Text("access_token"), "access token of a refresh": next.Text("access_token"),
		"access token of a machine": robot.Text("access_token"),
	} {
		var header struct{ Kid, Alg string }
		text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
		w.Must(err)
		w.Must(json.Unmarshal(text, &header))
		if !slices.Contains(named, any(header.Alg)) {
			t.Errorf("%s: %s is none of %v", name, header.Alg, named)
		}
		if !slices.Contains(set.Keys, header) {
			t.Errorf("%s: %v is none of the keys %v", name, header, set.Keys)
		}
	}
}
