package introspect_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"herald/services/auth/internal/oauth/introspect"
	"herald/services/auth/internal/testworld"
	"herald/shared/testkit"
)

// give sends a token to an endpoint as a client.
func give(w *testworld.OAuth, path, client, token string) testworld.Answer {
	w.Helper()
	return w.Post(path, "client_id", client, "token", token, "token_type_hint", "access_token")
}

// active reports whether a client gets to know that a token is active. If not, it gets to know nothing else.
func active(w *testworld.OAuth, client, token string) bool {
	w.Helper()
	a := give(w, introspect.Path, client, token)
	if a.Status != http.StatusOK || a.Body["active"] != true && len(a.Body) != 1 {
		w.Fatalf("%d %v", a.Status, a.Body)
	}
	return a.Body["active"] == true
}

// expect fails the test unless exactly those of the clients get to know that a token is active.
func expect(w *testworld.OAuth, what, token string, clients ...string) {
	w.Helper()
	var got []string
	for _, client := range []string{"other", "web"} {
		if active(w, client, token) {
			got = append(got, client)
		}
	}
	if !slices.Equal(got, clients) {
		w.Errorf("%s is active for %q, want %q", what, got, clients)
	}
}

// Only its own client can introspect a refresh token, with any hint. Every application of the project can introspect an
// access token.
func TestClientIntrospectsTokensForIt(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	got := w.LoggedIn("scope", "openid offline_access")
	access, refresh := got.Text("access_token"), got.Text("refresh_token")
	expect(w, "an access token", access, "other", "web")
	expect(w, "a refresh token", refresh, "web")
	expect(w, "an id token", got.Text("id_token"))
	answer := give(w, introspect.Path, "web", refresh).Body
	for _, name := range []string{"aud", "exp", "iat"} {
		if answer[name] == nil {
			t.Errorf("%s is missing", name)
		}
		delete(answer, name)
	}
	if want := map[string]any{
		"active": true, "iss": testworld.Public, "sub": "ada", "client_id": "web", "scope": "openid offline_access",
		"username": "ada@example.com",
	}; !maps.Equal(answer, want) {
		t.Errorf("%v, want %v", answer, want)
	}
	w.Refused(give(w, introspect.Path, "spa", access), http.StatusUnauthorized, "invalid_client")
	w.Good(w.Refresh(refresh))
	expect(w, "a refresh token that was used", refresh)
}

// The revocation of a refresh token ends all tokens of its login. The revocation of an access token ends nothing else.
// Only the client to which they were issued can revoke them, a public one by its id.
func TestRevokedTokenEnds(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	first, second := w.LoggedIn("scope", "openid offline_access"), w.LoggedIn("scope", "openid offline_access")
	access, refresh := first.Text("access_token"), first.Text("refresh_token")
	for _, token := range []string{access, refresh} {
		for _, client := range []string{"other", "spa"} {
			w.Refused(give(w, introspect.RevokePath, client, token), http.StatusBadRequest, "invalid_grant")
		}
	}
	expect(w, "an access token that others tried to revoke", access, "other", "web")
	expect(w, "a refresh token that others tried to revoke", refresh, "web")
	revoke := func(token string) {
		t.Helper()
		if a := give(w, introspect.RevokePath, "web", token); a.Status != http.StatusOK || len(a.Body) != 0 {
			t.Errorf("%d %v", a.Status, a.Body)
		}
	}
	revoke(access)
	expect(w, "a revoked access token", access)
	expect(w, "its refresh token", refresh, "web")
	renewed := w.Good(w.Refresh(refresh))
	for range 2 {
		revoke(renewed.Text("refresh_token"))
	}
	expect(w, "an access token of a revoked login", renewed.Text("access_token"))
	expect(w, "a revoked refresh token", renewed.Text("refresh_token"))
	w.Refused(w.Refresh(renewed.Text("refresh_token")), http.StatusBadRequest, "invalid_grant")
	expect(w, "an access token of another login", second.Text("access_token"), "other", "web")
	expect(w, "a refresh token of another login", second.Text("refresh_token"), "web")
	for event, want := range map[string]int{"ended": 1, "token_revoked": 1} {
		if n := testkit.Rows(t, w.DB, `events where aggregate = 'authorization' and name = $1`, event); n != want {
			t.Errorf("%d events %s, want %d", n, event, want)
		}
	}
}

// A client that did not get the answer to a refresh logs out with the token that it has.
func TestUsedRefreshTokenIsRevoked(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	first := w.LoggedIn().Text("refresh_token")
	second := w.Good(w.Refresh(first))
	w.Refused(give(w, introspect.RevokePath, "other", first), http.StatusBadRequest, "invalid_grant")
	if a := give(w, introspect.RevokePath, "web", first); a.Status != http.StatusOK {
		t.Errorf("%d %v", a.Status, a.Body)
	}
	for _, token := range []string{first, second.Text("refresh_token")} {
		w.Refused(w.Refresh(token), http.StatusBadRequest, "invalid_grant")
	}
	expect(w, "an access token of a revoked login", second.Text("access_token"))
}

// The revocation of the last token of a login ends the login, so that what the application made ends too.
func TestLastRevokedTokenEndsTheLogin(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"web", "jwt"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			w := testworld.NewOAuth(t)
			other := w.LoggedIn("scope", "openid")
			login := w.Good(w.Redeem(w.Code("scope", "openid", "client_id", client), "client_id", client))
			give(w, introspect.RevokePath, client, login.Text("access_token"))
			expect(w, "a revoked access token", login.Text("access_token"))
			expect(w, "an access token of another login", other.Text("access_token"), "other", "web")
			if n := testkit.Rows(t, w.DB, `events where name = 'ended'
				and data->>'by' = 'AUTHORIZATION_END_REVOKED' and data->>'clientId' = $1`, client); n != 1 {
				t.Errorf("%d logins of the client have ended", n)
			}
		})
	}
}
