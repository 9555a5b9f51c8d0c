package token_test

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// members returns the names of the members of an answer, in their order.
func members(of map[string]any) string { return strings.Join(slices.Sorted(maps.Keys(of)), " ") }

// A code gives an access token, an id token with the person who logged in, and a refresh token.
func TestCodeGivesTokens(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	login := float64(w.Now().Unix())
	w.Advance(time.Minute)
	a := w.Good(w.Redeem(w.Code()))
	if got := members(a.Body); got != "access_token expires_in id_token refresh_token scope token_type" {
		t.Errorf("the answer has %s", got)
	}
	if a.Text("scope") != "openid offline_access" || !secret.AccessToken.WellFormed(a.Text("access_token")) ||
		!secret.RefreshToken.WellFormed(a.Text("refresh_token")) {
		t.Errorf("%v", a.Body)
	}
	c, now := w.Claims(a), login+60
	hash, _ := c["at_hash"].(string)
	if delete(c, "at_hash"); len(hash) != 22 {
		t.Errorf("at_hash is %q", hash)
	}
	if want := map[string]any{
		"iss": testworld.Public, "sub": "ada", "azp": "web", "nonce": "no", "sid": "s1", "iat": now, "exp": now + 3600,
		"auth_time": login, "aud": []any{"web"}, "amr": []any{"pwd"},
	}; !reflect.DeepEqual(c, want) {
		t.Errorf("%v, want %v", c, want)
	}
	alive(w, a)
	plain := w.LoggedIn("scope", "email")
	if got := members(plain.Body); got != "access_token expires_in scope token_type" {
		t.Errorf("without openid and offline_access the answer has %s", got)
	}
}

// The settings of an application change its tokens.
func TestSettingsOfApplicationChangeTokens(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	login := float64(w.Now().Unix())
	w.Change(func() {
		config := w.Apps["web"].App.GetOidcConfig()
		config.IdTokenUserinfoAssertion, config.ClockSkew = true, durationpb.New(5*time.Second)
	})
	c, now := w.Claims(w.LoggedIn("scope", "openid email", "nonce", "")), float64(w.Now().Unix())
	delete(c, "at_hash")
	if want := map[string]any{
		"iss": testworld.Public, "sub": "ada", "azp": "web", "sid": "s1", "iat": now - 5, "exp": now + 3605,
		"auth_time": login - 5, "aud": []any{"web"}, "amr": []any{"pwd"}, "email": "ada@example.com",
		"email_verified": true,
	}; !reflect.DeepEqual(c, want) {
		t.Errorf("with idTokenUserinfoAssertion and clockSkew: %v, want %v", c, want)
	}
	signed := w.Good(w.Redeem(w.Code("client_id", "jwt"), "client_id", "jwt"))
	if _, err := w.Keys.Verify(signing.AccessToken(), signed.Text("access_token")); err != nil {
		t.Error(err)
	}
	if got := members(signed.Body); got != "access_token expires_in id_token scope token_type" {
		t.Errorf("for an application without refresh tokens the answer has %s", got)
	}
	alive(w, signed)
}

// RFC 6749 section 5.2, RFC 7636 section 4.6: each refusal, and whether it ends the login.
func TestCodeIsRefused(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	for name, test := range map[string]struct {
		asked   []string
		changes []string
		wait    time.Duration
		status  int
		code    string // invalid_grant if empty
		ends    bool
	}{
		"another client":         {changes: []string{"client_id", "other"}, ends: true},
		"a public client":        {changes: []string{"client_id", "spa"}, ends: true},
		"another redirect_uri":   {changes: []string{"redirect_uri", testworld.Callback + "?tenant=1"}, ends: true},
		"no redirect_uri":        {changes: []string{"redirect_uri", ""}, ends: true},
		"a wrong verifier":       {changes: []string{"code_verifier", strings.Repeat("a", 43)}, ends: true},
		"no verifier":            {changes: []string{"code_verifier", ""}, ends: true},
		"the challenge":          {changes: []string{"code_verifier", testworld.Challenge}, ends: true},
		"a verifier for nothing": {asked: []string{"code_challenge", "", "code_challenge_method", ""}, ends: true},
		"after a minute":         {wait: time.Minute, ends: true},
		"no code":                {changes: []string{"code", ""}, code: "invalid_request"},
		"another code":           {changes: []string{"code", secret.AuthorizationCode.New().Reveal()}},
		"a refresh token":        {changes: []string{"code", secret.RefreshToken.New().Reveal()}},
		"a huge code":            {changes: []string{"code", strings.Repeat("x", 50_000)}},
		"a wrong secret": {
			changes: []string{"client_id", "post", "client_secret", "wrong"}, status: 401, code: "invalid_client",
		},
		"an unknown client": {changes: []string{"client_id", "nobody"}, status: 401, code: "invalid_client"},
	} {
		w.Run(name, func() {
			code := w.Code(test.asked...)
			w.Advance(test.wait)
			w.Refused(w.Redeem(code, test.changes...), max(test.status, 400), cmp.Or(test.code, "invalid_grant"))
			again := []string{}
			if test.asked != nil {
				again = []string{"code_verifier", ""}
			}
			got := w.Redeem(code, again...)
			says := strings.Contains(got.Text("error_description"), "after a request with another redirect_uri or")
			if (got.Status != 200) != test.ends || test.ends && test.wait == 0 && !says {
				w.Errorf("the code afterwards: %d %v", got.Status, got.Body)
			}
		})
	}
}

// Of many that use a code at once one succeeds, and the others end what it got.
func TestCodeIsUsedOnce(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	code := w.Code()
	a := w.Good(w.Redeem(code))
	w.Advance(30 * time.Second)
	w.Refused(w.Redeem(code), 400, "invalid_grant")
	dead(w, a)
	ended(w, "AUTHORIZATION_END_CODE_MISUSED", 1)
	code = w.Code()
	good, refused := atOnce(func() testworld.Answer { return w.Redeem(code) })
	for _, a := range refused {
		w.Refused(a, 400, "invalid_grant")
	}
	if len(good) != 1 {
		w.Fatalf("%d succeeded", len(good))
	}
	dead(w, good[0])
}

// ended fails the test unless so many authorizations have ended for that reason.
func ended(w *testworld.OAuth, reason string, n int) {
	w.Helper()
	if got := testkit.Rows(w, w.DB, `events where name = 'ended' and data ->> 'by' = $1
		and data ->> 'userId' = 'ada' and organization_id = 'o1'`, reason); got != n {
		w.Errorf("%d events of %s", got, reason)
	}
}

// alive fails the test unless the access token of an answer works.
func alive(w *testworld.OAuth, a testworld.Answer) {
	w.Helper()
	if who := w.Userinfo(a.Text("access_token")); who.Status != 200 || who.Text("sub") != "ada" {
		w.Errorf("%d %v", who.Status, who.Body)
	}
}

// dead fails the test if the tokens of an answer still work.
func dead(w *testworld.OAuth, a testworld.Answer) {
	w.Helper()
	w.Refused(w.Userinfo(a.Text("access_token")), 401, "invalid_token")
	if a.Text("refresh_token") != "" {
		w.Refused(w.Refresh(a.Text("refresh_token")), 400, "invalid_grant")
	}
}

// atOnce returns the answers to 50 equal requests at once: those that succeed, and those that do not.
func atOnce(request func() testworld.Answer) (good, refused []testworld.Answer) {
	var (
		all sync.WaitGroup
		mu  sync.Mutex
	)
	for range 50 {
		all.Go(func() {
			a := request()
			mu.Lock()
			defer mu.Unlock()
			if a.Status == 200 {
				good = append(good, a)
			} else {
				refused = append(refused, a)
			}
		})
	}
	all.Wait()
	return good, refused
}

// RFC 6749 section 6, RFC 9700 section 4.14: each refresh token is replaced, for its client, for no more scopes.
func TestRefreshTokenIsReplacedForItsClient(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	first := w.LoggedIn("scope", "openid email offline_access")
	w.Advance(time.Hour)
	second := w.Good(w.Refresh(first.Text("refresh_token"), "scope", "openid"))
	if second.Text("scope") != "openid" {
		t.Errorf("narrower: %v", second.Body)
	}
	want, got := w.Claims(first), w.Claims(second)
	if got["at_hash"] == want["at_hash"] {
		t.Error("at_hash is that of the first access token")
	}
	delete(want, "nonce") // OpenID Connect Core section 12.2
	want["at_hash"], want["iat"], want["exp"] = got["at_hash"], want["iat"].(float64)+3600, want["exp"].(float64)+3600
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	third := w.Refresh(second.Text("refresh_token"))
	if third.Text("scope") != "openid email offline_access" {
		t.Errorf("as before: %v", third.Body)
	}
	token := third.Text("refresh_token")
	w.Refused(w.Refresh(token, "scope", "openid phone"), 400, "invalid_scope")
	w.Refused(w.Refresh(""), 400, "invalid_request")
	w.Refused(w.Refresh(third.Text("access_token")), 400, "invalid_grant")
	w.Refused(w.Refresh(secret.RefreshToken.New().Reveal()), 400, "invalid_grant")
	w.Good(w.Refresh(token)) // none of these used it
	w.Advance(domain.RefreshRetry)
	w.Refused(w.Refresh(token), 400, "invalid_grant")
	dead(w, third)
	stolen := w.LoggedIn()
	w.Refused(w.Refresh(stolen.Text("refresh_token"), "client_id", "other"), 400, "invalid_grant")
	dead(w, stolen)
	ended(w, "AUTHORIZATION_END_REFRESH_TOKEN_MISUSED", 2)
}

// A refresh token lasts 30 days, and the login 90, with all of its tokens.
func TestRefreshTokenExpires(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	idle := w.LoggedIn().Text("refresh_token")
	w.Advance(30 * 24 * time.Hour)
	w.Refused(w.Refresh(idle), 400, "invalid_grant")
	w.Login()
	token := w.LoggedIn().Text("refresh_token")
	for range 4 { // 4 times 22 days
		w.Advance(22 * 24 * time.Hour)
		token = w.Good(w.Refresh(token)).Text("refresh_token")
	}
	w.Advance(2*24*time.Hour - time.Second)
	last := w.Refresh(token)
	if last.Status != 200 || last.Body["expires_in"] != 1.0 {
		t.Fatalf("%d %v", last.Status, last.Body)
	}
	w.Advance(time.Second)
	w.Refused(w.Refresh(last.Text("refresh_token")), 400, "invalid_grant")
	dead(w, last)
}

// An application that loses the grant between code and token gets no refresh token.
func TestRefreshNeedsGrant(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	code, token := w.Code(), w.LoggedIn().Text("refresh_token")
	w.Change(func() {
		w.Apps["web"].App.GetOidcConfig().GrantTypes = []projectsv1.OidcGrantType{
			projectsv1.OidcGrantType_OIDC_GRANT_TYPE_AUTHORIZATION_CODE,
		}
	})
	if a := w.Good(w.Redeem(code)); a.Text("refresh_token") != "" {
		t.Errorf("%v", a.Body)
	}
	w.Refused(w.Refresh(token), 400, "unauthorized_client")
}

// What is not active any more gets no tokens, and those of before it are dead for good.
func TestInactiveGetNoTokens(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		off, on func(*testworld.OAuth)
		status  int
		code    string
	}{
		"application": {
			func(w *testworld.OAuth) {
				w.Apps["web"].App.State = projectsv1.AppState_APP_STATE_INACTIVE
				w.Apps["web"].Generation++
			},
			func(w *testworld.OAuth) { w.Apps["web"].App.State = projectsv1.AppState_APP_STATE_ACTIVE },
			401, "invalid_client",
		},
		"project": {
			func(w *testworld.OAuth) {
				w.Apps["web"].Project.State = projectsv1.ProjectState_PROJECT_STATE_INACTIVE
				w.Apps["web"].ProjectGeneration++
			},
			func(w *testworld.OAuth) { w.Apps["web"].Project.State = projectsv1.ProjectState_PROJECT_STATE_ACTIVE },
			401, "invalid_client",
		},
		"the client's organization": {deactivate("o2"), activate("o2"), 400, "invalid_grant"},
		"the user's organization":   {deactivate("o1"), activate("o1"), 400, "invalid_grant"},
		"user": {
			func(w *testworld.OAuth) { w.Ada.State, w.Ada.Generation = usersv1.UserState_USER_STATE_INACTIVE, 6 },
			func(w *testworld.OAuth) { w.Ada.State = usersv1.UserState_USER_STATE_ACTIVE }, 400, "invalid_grant",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.NewOAuth(t)
			tokens, code := w.LoggedIn(), w.Code()
			w.Change(func() { test.off(w) })
			w.Refused(w.Redeem(code), test.status, test.code)
			w.Refused(w.Refresh(tokens.Text("refresh_token")), test.status, test.code)
			w.Change(func() { test.on(w) })
			w.Refused(w.Redeem(code), 400, "invalid_grant")
			dead(w, tokens)
		})
	}
}

func deactivate(orgID string) func(*testworld.OAuth) {
	return func(w *testworld.OAuth) {
		w.Orgs[orgID].State = usersv1.OrgState_ORG_STATE_INACTIVE
		w.Orgs[orgID].Generation++
	}
}

func activate(orgID string) func(*testworld.OAuth) {
	return func(w *testworld.OAuth) { w.Orgs[orgID].State = usersv1.OrgState_ORG_STATE_ACTIVE }
}

// Whatever ends an authorization ends its code too.
func TestEndedAuthorizationHasNoCode(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	code := w.Code()
	stored, err := w.Store.Code(t.Context(), secret.Hash(code))
	w.Must(err)
	_, err = w.DB.Exec(t.Context(), `delete from authorizations where id = $1`, stored.ID)
	w.Must(err)
	w.Refused(w.Redeem(code), 400, "invalid_grant")
	if _, err := w.Store.Code(t.Context(), secret.Hash(code)); !errors.Is(err, domain.ErrUnknown) {
		t.Error(err)
	}
}

// A refresh asks again whether the person's consent stands, and so do all who check the token.
func TestTokensEndWithTheConsentBehindThem(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	tokens := w.LoggedIn() // no question, because the project is granted to the organization of the person
	tokens = w.Good(w.Refresh(tokens.Text("refresh_token")))
	w.Change(func() { w.Access.OrgHasProject = false })
	w.Refused(w.Refresh(tokens.Text("refresh_token")), 400, "invalid_grant")
	if got := w.Userinfo(tokens.Text("access_token")); got.Status != 401 {
		t.Errorf("userinfo: %d %v", got.Status, got.Body)
	}
	if got := w.Post("/oauth/v2/introspect", "token", tokens.Text("access_token")); got.Body["active"] != false {
		t.Errorf("introspection: %d %v", got.Status, got.Body)
	}
	w.Must(w.Store.GiveConsent(t.Context(), domain.Consent{UserID: "ada", ClientID: "web", OrgID: "o1",
		ClientOrgID: "o2", Scopes: []string{"openid", "offline_access"}},
		&authv1.ConsentGiven{UserId: "ada", ClientId: "web"}))
	w.Good(w.Refresh(tokens.Text("refresh_token")))
}
