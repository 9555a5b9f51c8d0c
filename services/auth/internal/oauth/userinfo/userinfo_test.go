package userinfo_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"herald/services/auth/internal/oauth/userinfo"
	"herald/services/auth/internal/testworld"
)

// A client gets the claims for which its scopes ask, and no others.
func TestScopesDecideWhichClaimsClientGets(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	for scopes, want := range map[string]string{
		"openid":         "sub",
		"openid address": "sub", // there are no addresses
		"openid profile": "family_name given_name name preferred_username sub updated_at",
		"email openid":   "email email_verified sub",
		"openid phone":   "phone_number phone_number_verified sub",
	} {
		w.Run(scopes, func() {
			got := w.Userinfo(w.LoggedIn("scope", scopes).Text("access_token"))
			if names := strings.Join(slices.Sorted(maps.Keys(got.Body)), " "); got.Status != 200 || names != want {
				w.Errorf("%d, %s, want %s", got.Status, names, want)
			}
		})
	}
}

// RFC 6750 section 2: the token is in the header or in a form, once.
func TestTokenIsInHeaderOrForm(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	tokens := w.LoggedIn()
	access := tokens.Text("access_token")
	for name, test := range map[string]struct {
		method, uri, form, header string
		status                    int
	}{
		"GET":              {"GET", "", "", access, 200},
		"POST":             {"POST", "", "", access, 200},
		"a form":           {"POST", "", "access_token=" + access, "", 200},
		"both":             {"POST", "", "access_token=" + access, access, 400},
		"the address":      {"GET", "?access_token=" + access, "", "", 401},
		"nothing":          {"GET", "", "", "", 401},
		"an id token":      {"GET", "", "", tokens.Text("id_token"), 401},
		"a refresh token":  {"GET", "", "", tokens.Text("refresh_token"), 401},
		"another method":   {"PUT", "", "", access, 405},
		"a token and more": {"GET", "", "", access + "x", 401},
	} {
		w.Run(name, func() {
			r := httptest.NewRequest(test.method, userinfo.Path+test.uri, strings.NewReader(test.form))
			if test.form != "" {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			if test.header != "" {
				r.Header.Set("Authorization", "Bearer "+test.header)
			}
			got := w.Send(r)
			if got.Status != test.status || (got.Text("sub") == "ada") != (test.status == http.StatusOK) {
				w.Errorf("%d %v, want %d", got.Status, got.Body, test.status)
			}
		})
	}
}

// RFC 6750 section 3: the header says what is missing. A token without the scope openid gives no claims.
func TestTokenWithoutOpenIDIsRefused(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	got := w.Userinfo(w.LoggedIn("scope", "email").Text("access_token"))
	w.Refused(got, http.StatusForbidden, "insufficient_scope")
	const want = `Bearer realm="herald", error="insufficient_scope", error_description="the scope openid is needed",` +
		` scope="openid"`
	if challenge := got.Header.Get("WWW-Authenticate"); challenge != want {
		t.Errorf("the challenge is %s", challenge)
	}
}
