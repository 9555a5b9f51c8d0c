package authorize_test

import (
	"net/url"
	"strings"
	"testing"

	"herald/services/auth/internal/oauth/authorize"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// at returns the address of a request.
func at(changes ...string) string { return authorize.Path + "?" + testworld.Query(changes...).Encode() }

// Before the client and its address are known, an error is a page and not a redirect.
func TestErrorOfUnknownClientIsNoRedirect(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	const callback = testworld.Callback
	for name, uri := range map[string]string{
		"no parameters":            authorize.Path,
		"a broken query":           authorize.Path + "?client_id=%zz",
		"an unknown client":        at("client_id", "nobody"),
		"no redirect_uri":          at("redirect_uri", ""),
		"two clients":              at() + "&client_id=other",
		"two addresses":            at() + "&redirect_uri=" + url.QueryEscape(callback),
		"another host":             at("redirect_uri", "https://evil.example/cb"),
		"another path":             at("redirect_uri", callback+"/..%2fevil"),
		"a fragment":               at("redirect_uri", callback+"#x"),
		"another host before @":    at("redirect_uri", "https://app.example@evil.example/cb"),
		"a port":                   at("redirect_uri", "https://app.example:444/cb"),
		"a script":                 at("redirect_uri", "javascript:alert(1)"),
		"markup":                   at("redirect_uri", "https://evil.example/<script>"),
		"a long address":           at("redirect_uri", "https://long.example/"+strings.Repeat("x", 1000)),
		"another native address":   at("client_id", "native", "redirect_uri", callback),
		"RFC 9101 without address": at("redirect_uri", "", "request", "x"),
	} {
		w.Run(name, func() {
			got := w.Visit("GET", uri, nil)
			shown(w, got)
			body := got.Body.String()
			if !strings.Contains(body, "request") || strings.Contains(body, "evil") ||
				strings.Contains(body, "app.example") {
				w.Errorf("the page has\n%s", body)
			}
			if policy := got.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
				w.Errorf("the policy is %s", policy)
			}
		})
	}
	w.Lines.Wait(t, "https://long.example/")
	if strings.Contains(w.Lines.String(), strings.Repeat("x", 200)) {
		t.Error("the log has the whole of a long address")
	}
	// The log has details for the application's owner that the page does not have.
	w.Lines.Wait(t, "https://evil.example/cb")
	if log := w.Lines.String(); !strings.Contains(log, callback+"?tenant=1") || !strings.Contains(log, `"org":"o2"`) {
		t.Errorf("the log has\n%s", log)
	}
}

// RFC 6749 section 4.1.2.1, RFC 9207: errors after that go to the client, with the issuer and the state.
func TestErrorGoesToKnownClient(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	for name, test := range map[string]struct {
		changes []string
		want    string
	}{
		"another response_type": {[]string{"response_type", "token"}, "unsupported_response_type"},
		"no response_type":      {[]string{"response_type", ""}, "invalid_request"},
		"a wrong scope":         {[]string{"scope", "open\\id"}, "invalid_scope"},
		"plain":                 {[]string{"code_challenge_method", "plain"}, "invalid_request"},
		"no PKCE": {
			[]string{"client_id", "spa", "code_challenge", "", "code_challenge_method", ""}, "invalid_request",
		},
		"a JWT":           {[]string{"request", "eyJhbGciOiJub25lIn0.e30."}, "request_not_supported"},
		"a JWT elsewhere": {[]string{"request_uri", "https://app.example/r"}, "request_uri_not_supported"},
		"a wrong hint":    {[]string{"id_token_hint", "e30.e30.e30"}, "invalid_request"},
		"two prompts":     {[]string{"prompt", "none login"}, "invalid_request"},
		"another organization": {
			[]string{"scope", "urn:service:iam:org:id:o9", "prompt", "none"}, "account_selection_required",
		},
	} {
		w.Run(name, func() { failed(w, w.Back(w.Ask(test.changes...)), test.want) })
	}
	twice := w.Back(w.Visit("GET", at()+"&state=other", nil))
	if twice.Get("error") != "invalid_request" || twice.Has("state") {
		t.Errorf("two states: %v", twice)
	}
}

// An id token of another issuer is not a hint, even with a valid signature.
func TestHintMustBeIDTokenOfThisIssuer(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	own := map[string]any{"iss": testworld.Public, "sub": "ada"}
	for name, test := range map[string]struct {
		kind   signing.Kind
		claims map[string]any
	}{
		"another issuer":  {signing.IDToken(), map[string]any{"iss": "https://other.example", "sub": "ada"}},
		"no subject":      {signing.IDToken(), map[string]any{"iss": testworld.Public}},
		"an access token": {signing.AccessToken(), own},
	} {
		w.Run(name, func() {
			token, err := w.Keys.Sign(test.kind, test.claims)
			w.Must(err)
			failed(w, w.Back(w.Ask("id_token_hint", token)), "invalid_request")
		})
	}
}

// Deactivation: an error page without redirect for the client's side, and no code for the user's.
func TestInactiveGetNoCode(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	for name, test := range map[string]struct {
		off, on func()
		page    bool
	}{
		"the application": {
			func() { w.Apps["web"].App.State = projectsv1.AppState_APP_STATE_INACTIVE },
			func() { w.Apps["web"].App.State = projectsv1.AppState_APP_STATE_ACTIVE }, true,
		},
		"the project": {
			func() { w.Apps["web"].Project.State = projectsv1.ProjectState_PROJECT_STATE_INACTIVE },
			func() { w.Apps["web"].Project.State = projectsv1.ProjectState_PROJECT_STATE_ACTIVE }, true,
		},
		"the client's organization": {
			func() { w.Orgs["o2"].State = usersv1.OrgState_ORG_STATE_INACTIVE },
			func() { w.Orgs["o2"].State = usersv1.OrgState_ORG_STATE_ACTIVE }, true,
		},
		"the user's organization": {
			func() { w.Orgs["o1"].State = usersv1.OrgState_ORG_STATE_INACTIVE },
			func() { w.Orgs["o1"].State = usersv1.OrgState_ORG_STATE_ACTIVE }, false,
		},
		"the user": {
			func() { w.Ada.State = usersv1.UserState_USER_STATE_INACTIVE },
			func() { w.Ada.State = usersv1.UserState_USER_STATE_ACTIVE }, false,
		},
		"the user's generation": {func() { w.Ada.Generation++ }, func() { w.Ada.Generation-- }, false},
		"the password":          {func() { w.Ada.Credential = "new" }, func() { w.Ada.Credential = "password" }, false},
	} {
		w.Run(name, func() {
			w.Change(test.off)
			if test.page {
				shown(w, w.Ask("prompt", "none"))
				shown(w, w.Ask())
			} else {
				failed(w, w.Back(w.Ask("prompt", "none")), "login_required")
				w.Waiting(w.Ask())
			}
			w.Change(test.on)
			w.Code()
		})
	}
}

// projectRoleCheck and hasProjectCheck: no role or no grant, no code and no new tokens.
func TestUserWithoutAccessToProjectGetsNoCode(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { w.Apps["web"].Project.ProjectRoleCheck = true })
	failed(w, w.Back(w.Ask()), "access_denied")
	w.Change(func() { w.Access.Roles = []*projectsv1.GrantedRole{{Key: "editor", OrgId: "o1"}} })
	tokens := w.LoggedIn()
	w.Change(func() { w.Apps["web"].Project.HasProjectCheck, w.Access.OrgHasProject = true, false })
	failed(w, w.Back(w.Ask("prompt", "none")), "access_denied")
	w.Refused(w.Refresh(tokens.Text("refresh_token")), 400, "access_denied")
	w.Change(func() { w.Access.OrgHasProject = true })
	w.Code()
	w.Good(w.Refresh(tokens.Text("refresh_token")))
}
