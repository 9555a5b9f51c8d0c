package authorize_test

import (
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"herald/services/auth/internal/oauth/signing"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

// However often a login is finished at once, the client gets one code.
func TestRequestsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.waiting(w.ask("prompt", "login"))
	w.pass(time.Millisecond)
	w.login()
	answers := make([]*httptest.ResponseRecorder, 20)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = w.finish(id) })
	}
	all.Wait()
	codes := 0
	for _, a := range answers {
		if a.Code == 303 {
			codes++
		} else if a.Code != 400 {
			t.Errorf("%d %v", a.Code, a.Header())
		}
	}
	if codes != 1 {
		t.Errorf("%d codes", codes)
	}
}

// A session that ends while a code is issued gets none.
func TestEndedSessionsGetNoCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.waiting(w.ask("prompt", "select_account"))
	w.pass(time.Millisecond)
	w.login()
	_, err := w.service.DB.Exec(t.Context(), `delete from sessions`)
	w.must(err)
	if got := w.back(w.ask("prompt", "none")); got.Get("error") != "login_required" {
		t.Errorf("%v", got)
	}
	if got := w.finish(id); got.Code != 400 || got.Header().Get("Location") != "" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	w.login()
	if got := w.back(w.finish(id)); got.Get("code") == "" { // the request is still there
		t.Errorf("%v", got)
	}
}

// An id token of another issuer is not a hint, even with a valid signature.
func TestHintsAreOfThisIssuer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, claims := range map[string]map[string]any{
		"another issuer": {"iss": "https://other.example", "sub": "ada"},
		"no subject":     {"iss": issuer},
	} {
		token, err := w.keys.Sign(signing.IDToken(), claims)
		w.must(err)
		if got := w.back(w.ask("id_token_hint", token)); got.Get("error") != "invalid_request" {
			t.Errorf("%s: %v", name, got)
		}
	}
	access, err := w.keys.Sign(signing.AccessToken(), map[string]any{"iss": issuer, "sub": "ada"})
	w.must(err)
	if got := w.back(w.ask("id_token_hint", access)); got.Get("error") != "invalid_request" {
		t.Errorf("an access token: %v", got)
	}
}

// A grant that an application loses between code and token is lost.
func TestRefreshGrantIsTakenAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code, token := w.code(), w.loggedIn().text("refresh_token")
	w.change(func() {
		w.apps["web"].App.GetOidcConfig().GrantTypes = []projectsv1.OidcGrantType{
			projectsv1.OidcGrantType_OIDC_GRANT_TYPE_AUTHORIZATION_CODE,
		}
	})
	if a := w.redeem(code); a.Status != 200 || a.text("refresh_token") != "" {
		t.Errorf("%d %v", a.Status, a.Body)
	}
	w.refused(w.refresh(token), 400, "unauthorized_client")
}
