package authorize_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/signing"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// A code gives an access token, an id token with the person who logged in, and a refresh token.
func TestTokensOfCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	login := w.clock()
	w.pass(time.Minute)
	a := w.redeem(w.code())
	w.good(a)
	if a.text("scope") != "openid offline_access" || !secret.AccessToken.WellFormed(a.text("access_token")) ||
		!secret.RefreshToken.WellFormed(a.text("refresh_token")) || len(a.Body) != 6 {
		t.Errorf("%v", a.Body)
	}
	c, now := w.claims(a.text("id_token")), float64(w.clock().Unix())
	for name, want := range map[string]any{
		"iss": issuer, "sub": "ada", "azp": "web", "nonce": "no", "sid": "s1", "iat": now, "exp": now + 3600,
		"auth_time": float64(login.Unix()), "aud": "[web]", "amr": "[pwd]",
	} {
		if got := c[name]; got != want && fmt.Sprint(got) != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if hash, _ := c["at_hash"].(string); len(hash) != 22 || len(c) != 11 {
		t.Errorf("%v", slices.Sorted(maps.Keys(c)))
	}
	if who := w.userinfo(a.text("access_token")); who.Status != 200 || who.text("sub") != "ada" {
		t.Errorf("%d %v", who.Status, who.Body)
	}
	plain := w.loggedIn("scope", "email")
	if plain.text("id_token") != "" || plain.text("refresh_token") != "" || len(plain.Body) != 4 {
		t.Errorf("without openid and offline_access: %v", plain.Body)
	}
	w.change(func() { w.apps["web"].App.GetOidcConfig().IdTokenUserinfoAssertion = true })
	told := w.claims(w.loggedIn("scope", "openid email", "nonce", "").text("id_token"))
	if told["email"] != "ada@example.com" || told["email_verified"] != true || told["name"] != nil ||
		told["nonce"] != nil {
		t.Errorf("with idTokenUserinfoAssertion: %v", told)
	}
	w.change(func() { w.apps["web"].App.GetOidcConfig().ClockSkew = durationpb.New(5 * time.Second) })
	skewed := w.claims(w.loggedIn().text("id_token"))
	if skewed["iat"] != now-5 || skewed["exp"] != now+3605 || skewed["auth_time"] != float64(login.Unix()-5) {
		t.Errorf("with clockSkew: %v", skewed)
	}
	signed := w.redeem(w.code("client_id", "jwt"), "client_id", "jwt")
	w.good(signed)
	if _, err := w.keys.Verify(signing.AccessToken(), signed.text("access_token")); err != nil ||
		signed.text("refresh_token") != "" || signed.text("scope") != "openid" {
		t.Errorf("an application with JWTs and without refresh tokens: %v, %v", signed.Body, err)
	}
	if who := w.userinfo(signed.text("access_token")); who.Status != 200 || who.text("sub") != "ada" {
		t.Errorf("%d %v", who.Status, who.Body)
	}
}

// RFC 6749 section 5.2, RFC 7636 section 4.6: each refusal, and whether it ends the login.
func TestRefusedCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
		"another redirect_uri":   {changes: []string{"redirect_uri", callback + "?tenant=1"}, ends: true},
		"no redirect_uri":        {changes: []string{"redirect_uri", ""}, ends: true},
		"a wrong verifier":       {changes: []string{"code_verifier", strings.Repeat("a", 43)}, ends: true},
		"no verifier":            {changes: []string{"code_verifier", ""}, ends: true},
		"the challenge":          {changes: []string{"code_verifier", challenge}, ends: true},
		"a verifier for nothing": {asked: []string{"code_challenge", "", "code_challenge_method", ""}, ends: true},
		"after a minute":         {wait: time.Minute},
		"no code":                {changes: []string{"code", ""}, code: "invalid_request"},
		"another code":           {changes: []string{"code", secret.AuthorizationCode.New().Reveal()}},
		"a refresh token":        {changes: []string{"code", secret.RefreshToken.New().Reveal()}},
		"a huge code":            {changes: []string{"code", strings.Repeat("x", 50_000)}},
		"a wrong secret": {
			changes: []string{"client_id", "post", "client_secret", "wrong"}, status: 401, code: "invalid_client",
		},
		"an unknown client": {changes: []string{"client_id", "nobody"}, status: 401, code: "invalid_client"},
	} {
		code := w.code(test.asked...)
		w.pass(test.wait)
		w.refused(w.redeem(code, test.changes...), max(test.status, 400), cmp.Or(test.code, "invalid_grant"))
		if test.wait != 0 {
			continue
		}
		again := []string{}
		if test.asked != nil {
			again = []string{"code_verifier", ""}
		}
		if got := w.redeem(code, again...); (got.Status != 200) != test.ends {
			t.Errorf("%s: the code afterwards: %d %v", name, got.Status, got.Body)
		}
	}
}

// Hostile case 7: of many that use a code at once one succeeds, and the others end what it got.
func TestCodesAreUsedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code := w.code()
	a := w.redeem(code)
	w.good(a)
	w.refused(w.redeem(code), 400, "invalid_grant")
	w.dead(a)
	w.told("AUTHORIZATION_END_CODE_MISUSED", 1)
	w.once(w.code(), func(code string) answer { return w.redeem(code) })
}

// told fails the test unless so many events say that an authorization has ended, for that reason.
func (w *world) told(reason string, n int) {
	w.Helper()
	if got := testkit.Rows(w, w.service.DB, `events where name = 'ended' and data ->> 'by' = $1
		and data ->> 'userId' = 'ada' and organization_id = 'o1'`, reason); got != n {
		w.Errorf("%d events of %s", got, reason)
	}
}

// dead fails the test if tokens still work.
func (w *world) dead(a answer) {
	w.Helper()
	if who := w.userinfo(a.text("access_token")); who.Status != http.StatusUnauthorized {
		w.Errorf("the access token is alive: %d %v", who.Status, who.Body)
	}
	if a.text("refresh_token") != "" {
		w.refused(w.refresh(a.text("refresh_token")), 400, "invalid_grant")
	}
}

// once fails the test unless exactly one of 50 uses of something at once succeeds, and its tokens die.
func (w *world) once(text string, use func(string) answer) {
	w.Helper()
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		good []answer
	)
	for range 50 {
		all.Go(func() {
			a := use(text)
			mu.Lock()
			defer mu.Unlock()
			if a.Status == http.StatusOK {
				good = append(good, a)
			} else if a.text("error") != "invalid_grant" {
				w.Errorf("%d %v", a.Status, a.Body)
			}
		})
	}
	all.Wait()
	if len(good) != 1 {
		w.Fatalf("%d succeeded", len(good))
	}
	w.dead(good[0])
}

// RFC 6749 section 6, RFC 9700 section 4.14: each refresh token works once, for its client, for no more scopes.
func TestRefreshTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.loggedIn("scope", "openid email offline_access")
	w.pass(time.Hour)
	second := w.refresh(first.text("refresh_token"), "scope", "openid")
	w.good(second)
	if second.text("scope") != "openid" {
		t.Errorf("narrower: %v", second.Body)
	}
	old, fresh := w.claims(first.text("id_token")), w.claims(second.text("id_token"))
	for _, same := range []string{"iss", "sub", "auth_time", "azp", "sid"} { // OpenID Connect Core section 12.2
		if old[same] != fresh[same] || fresh[same] == nil {
			t.Errorf("%s: %v, then %v", same, old[same], fresh[same])
		}
	}
	if fresh["nonce"] != nil || fresh["iat"] == old["iat"] || fresh["at_hash"] == old["at_hash"] {
		t.Errorf("%v", fresh)
	}
	third := w.refresh(second.text("refresh_token"))
	if third.text("scope") != "openid email offline_access" {
		t.Errorf("as before: %v", third.Body)
	}
	token := third.text("refresh_token")
	w.refused(w.refresh(token, "scope", "openid phone"), 400, "invalid_scope")
	w.refused(w.refresh(""), 400, "invalid_request")
	w.refused(w.refresh(third.text("access_token")), 400, "invalid_grant")
	w.refused(w.refresh(secret.RefreshToken.New().Reveal()), 400, "invalid_grant")
	w.good(w.refresh(token)) // none of these used it
	w.refused(w.refresh(token), 400, "invalid_grant")
	w.dead(third)
	stolen := w.loggedIn()
	w.refused(w.refresh(stolen.text("refresh_token"), "client_id", "other"), 400, "invalid_grant")
	w.dead(stolen)
	w.told("AUTHORIZATION_END_REFRESH_TOKEN_MISUSED", 2)
	w.once(w.loggedIn().text("refresh_token"), func(token string) answer { return w.refresh(token) })
}

// A refresh token lasts 30 days, and those that follow it 90.
func TestRefreshTokensExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	idle := w.loggedIn().text("refresh_token")
	w.pass(domain.RefreshIdle)
	w.refused(w.refresh(idle), 400, "invalid_grant")
	w.login()
	token := w.loggedIn().text("refresh_token")
	for range 4 { // 4 times 22 days
		w.pass(22 * 24 * time.Hour)
		a := w.refresh(token)
		w.good(a)
		token = a.text("refresh_token")
	}
	w.pass(2*24*time.Hour - 1)
	last := w.refresh(token)
	w.good(last)
	w.pass(1)
	w.refused(w.refresh(last.text("refresh_token")), 400, "invalid_grant")
	if who := w.userinfo(last.text("access_token")); who.Status != 200 {
		t.Errorf("the last access token died with the refresh token: %d", who.Status)
	}
}

// Hostile case 22: what is not active any more gets no tokens, and those of before it are dead for good.
func TestInactiveLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]struct {
		off, on func()
		status  int
		code    string
	}{
		"application": {
			func() { w.apps["web"].App.State = projectsv1.AppState_APP_STATE_INACTIVE; w.apps["web"].Generation++ },
			func() { w.apps["web"].App.State = projectsv1.AppState_APP_STATE_ACTIVE }, 401, "invalid_client",
		},
		"project": {
			func() {
				w.apps["web"].Project.State = projectsv1.ProjectState_PROJECT_STATE_INACTIVE
				w.apps["web"].ProjectGeneration++
			},
			func() { w.apps["web"].Project.State = projectsv1.ProjectState_PROJECT_STATE_ACTIVE },
			401, "invalid_client",
		},
		"the client's organization": {
			func() { w.orgs["o2"].State = usersv1.OrgState_ORG_STATE_INACTIVE; w.orgs["o2"].Generation++ },
			func() { w.orgs["o2"].State = usersv1.OrgState_ORG_STATE_ACTIVE }, 400, "invalid_grant",
		},
		"the user's organization": {
			func() { w.orgs["o1"].State = usersv1.OrgState_ORG_STATE_INACTIVE; w.orgs["o1"].Generation++ },
			func() { w.orgs["o1"].State = usersv1.OrgState_ORG_STATE_ACTIVE }, 400, "invalid_grant",
		},
		"user": {
			func() { w.ada.State = usersv1.UserState_USER_STATE_INACTIVE; w.ada.Generation++ },
			func() { w.ada.State = usersv1.UserState_USER_STATE_ACTIVE }, 400, "invalid_grant",
		},
	} {
		t.Log(name)
		w.change(func() {
			w.projects.apps = newProjects().apps
			fresh := newUsers()
			w.users.ada, w.users.orgs = fresh.ada, fresh.orgs
		})
		tokens, code := w.loggedIn(), w.code()
		w.change(test.off)
		w.refused(w.redeem(code), test.status, test.code)
		w.refused(w.refresh(tokens.text("refresh_token")), test.status, test.code)
		w.change(test.on)
		w.refused(w.redeem(code), 400, "invalid_grant")
		w.dead(tokens)
	}
}

// Whatever ends an authorization ends its code too.
func TestEndedLoginsHaveNoCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code := w.code()
	stored, err := w.db.Code(t.Context(), secret.Hash(code))
	w.must(err)
	_, err = w.service.DB.Exec(t.Context(), `delete from authorizations where id = $1`, stored.ID)
	w.must(err)
	w.refused(w.redeem(code), 400, "invalid_grant")
	if _, err := w.db.Code(t.Context(), secret.Hash(code)); !errors.Is(err, domain.ErrUnknown) {
		t.Error(err)
	}
}
