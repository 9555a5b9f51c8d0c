package authorize_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"herald/services/auth/internal/oauth/introspect"
	"herald/shared/testkit"
)

// give sends a token to an endpoint as a client, which authenticates unless it is the public one.
func (w *world) give(path, client, token string) answer {
	w.Helper()
	values := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	if client == "spa" {
		values.Set("client_id", client)
	}
	r := httptest.NewRequest("POST", path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if client != "spa" {
		r.SetBasicAuth(client, "secret")
	}
	return w.send(r)
}

// active reports whether a client learns that a token is active. If not, it learns nothing else.
func (w *world) active(client, token string) bool {
	w.Helper()
	a := w.give(introspect.Path, client, token)
	if a.Status != http.StatusOK || a.Body["active"] != true && len(a.Body) != 1 {
		w.Fatalf("%d %v", a.Status, a.Body)
	}
	return a.Body["active"] == true
}

// Only its own client can introspect a refresh token, with any hint. Every API of the project can introspect an access
// token.
func TestWhoLearnsOfTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := w.loggedIn("scope", "openid offline_access")
	access, refresh := got.text("access_token"), got.text("refresh_token")
	if !w.active("web", access) || !w.active("other", access) || !w.active("web", refresh) ||
		w.active("other", refresh) || w.active("web", got.text("id_token")) {
		t.Error("the wrong clients learn of tokens")
	}
	told := w.give(introspect.Path, "web", refresh)
	if told.Body["token_type"] != nil || told.text("client_id") != "web" || told.text("sub") == "" ||
		told.text("scope") != "openid offline_access" {
		t.Errorf("%v", told.Body)
	}
	w.refused(w.give(introspect.Path, "spa", access), http.StatusUnauthorized, "invalid_client")
	if a := w.userinfo(got.text("id_token")); a.Status != http.StatusUnauthorized {
		t.Errorf("userinfo takes an id token: %d", a.Status)
	}
	w.good(w.refresh(refresh))
	if w.active("web", refresh) {
		t.Error("a refresh token that was used is active")
	}
}

// A refresh token takes all of its login along, an access token nothing. Only the client to which they were issued can
// give them back, a public one by its id.
func TestGivingTokensBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.loggedIn("scope", "openid offline_access"), w.loggedIn("scope", "openid offline_access")
	access, refresh := first.text("access_token"), first.text("refresh_token")
	for _, token := range []string{access, refresh} {
		for _, client := range []string{"other", "spa"} {
			w.refused(w.give(introspect.RevokePath, client, token), http.StatusBadRequest, "invalid_grant")
		}
	}
	if !w.active("web", access) || !w.active("web", refresh) {
		t.Fatal("another client has ended a token")
	}
	if a := w.give(introspect.RevokePath, "web", access); a.Status != http.StatusOK || len(a.Body) != 0 {
		t.Errorf("%d %v", a.Status, a.Body)
	}
	if w.active("web", access) || !w.active("web", refresh) {
		t.Error("an access token does not end alone")
	}
	renewed := w.refresh(refresh)
	w.good(renewed)
	for range 2 {
		if a := w.give(introspect.RevokePath, "web", renewed.text("refresh_token")); a.Status != http.StatusOK {
			t.Errorf("%d %v", a.Status, a.Body)
		}
	}
	if w.active("web", renewed.text("access_token")) || w.active("web", renewed.text("refresh_token")) {
		t.Error("tokens of an authorization that was given back are active")
	}
	w.refused(w.refresh(renewed.text("refresh_token")), http.StatusBadRequest, "invalid_grant")
	if !w.active("web", second.text("access_token")) || !w.active("web", second.text("refresh_token")) {
		t.Error("another login has ended")
	}
	for event, want := range map[string]int{"ended": 1, "token_revoked": 1} {
		n := testkit.Rows(t, w.service.DB, `events where aggregate = 'authorization' and name = $1`, event)
		if n != want {
			t.Errorf("%d events %s, want %d", n, event, want)
		}
	}
}
