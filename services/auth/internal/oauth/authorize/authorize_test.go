package authorize_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/authorize"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// at returns the address of a request.
func at(changes ...string) string { return authorize.Path + "?" + query(changes...).Encode() }

// An error is not sent to an unknown client. It is a page without a redirect.
func TestErrorsWithoutRedirect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
		"a script":                 authorize.Path + "?" + query("redirect_uri", "javascript:alert(1)").Encode(),
		"markup":                   at("redirect_uri", "https://evil.example/<script>"),
		"another native address":   at("client_id", "native", "redirect_uri", callback),
		"RFC 9101 without address": at("redirect_uri", "", "request", "x"),
	} {
		got := w.visit("GET", uri, nil)
		body := got.Body.String()
		if got.Code != 400 || got.Header().Get("Location") != "" || !strings.Contains(body, "request") {
			t.Errorf("%s: %d %v", name, got.Code, got.Header())
		}
		if strings.Contains(body, "evil") || strings.Contains(body, "app.example") ||
			!strings.Contains(got.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: the page has\n%s", name, body)
		}
	}
	// The log has details for the application's owner that the page does not have.
	w.lines.Wait(t, "https://evil.example/cb")
	told := w.lines.String()
	if !strings.Contains(told, callback+"?tenant=1") || !strings.Contains(told, `"org":"o2"`) {
		t.Errorf("the log has\n%s", told)
	}
}

// RFC 6749 section 4.1.2.1, RFC 9207: errors after that go to the client, with the issuer and the state.
func TestErrorsForClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
		got := w.back(w.ask(test.changes...))
		if got.Get("error") != test.want || got.Get("state") != "st" || got.Get("error_description") == "" ||
			got.Get("code") != "" {
			t.Errorf("%s: %v", name, got)
		}
	}
	twice := w.back(w.visit("GET", authorize.Path+"?"+query().Encode()+"&state=other", nil))
	if twice.Get("error") != "invalid_request" || twice.Has("state") {
		t.Errorf("two states: %v", twice)
	}
}

// Deactivation: an error page without redirect for the client's side, and no code for the user's.
func TestInactive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]struct {
		off, on func()
		page    bool
	}{
		"the application": {
			func() { w.apps["web"].App.State = projectsv1.AppState_APP_STATE_INACTIVE },
			func() { w.apps["web"].App.State = projectsv1.AppState_APP_STATE_ACTIVE }, true,
		},
		"the project": {
			func() { w.apps["web"].Project.State = projectsv1.ProjectState_PROJECT_STATE_INACTIVE },
			func() { w.apps["web"].Project.State = projectsv1.ProjectState_PROJECT_STATE_ACTIVE }, true,
		},
		"the client's organization": {
			func() { w.orgs["o2"].State = usersv1.OrgState_ORG_STATE_INACTIVE },
			func() { w.orgs["o2"].State = usersv1.OrgState_ORG_STATE_ACTIVE }, true,
		},
		"the user's organization": {
			func() { w.orgs["o1"].State = usersv1.OrgState_ORG_STATE_INACTIVE },
			func() { w.orgs["o1"].State = usersv1.OrgState_ORG_STATE_ACTIVE }, false,
		},
		"the user": {
			func() { w.ada.State = usersv1.UserState_USER_STATE_INACTIVE },
			func() { w.ada.State = usersv1.UserState_USER_STATE_ACTIVE }, false,
		},
		"the user's generation": {func() { w.ada.Generation++ }, func() { w.ada.Generation-- }, false},
		"the password":          {func() { w.ada.Credential = "new" }, func() { w.ada.Credential = "password" }, false},
	} {
		w.change(test.off)
		silent, shown := w.ask("prompt", "none"), w.ask()
		if test.page && (silent.Code != 400 || silent.Header().Get("Location") != "" || shown.Code != 400) {
			t.Errorf("%s: %d %v", name, silent.Code, silent.Header())
		}
		if !test.page && (w.back(silent).Get("error") != "login_required" || w.waiting(shown) == "") {
			t.Errorf("%s: %v", name, silent.Header())
		}
		w.change(test.on)
		w.code()
	}
}

// change changes what the stand-ins say.
func (w *world) change(f func()) {
	w.projects.mu.Lock()
	defer w.projects.mu.Unlock()
	w.users.mu.Lock()
	defer w.users.mu.Unlock()
	f()
}

// projectRoleCheck and hasProjectCheck: no role or no grant, no code.
func TestAccessToProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(func() { w.apps["web"].Project.ProjectRoleCheck = true })
	if got := w.back(w.ask()); got.Get("error") != "access_denied" || got.Get("state") != "st" {
		t.Errorf("without a role: %v", got)
	}
	w.change(func() { w.access.Roles = []*projectsv1.GrantedRole{{Key: "editor", OrgId: "o1"}} })
	tokens := w.loggedIn()
	w.change(func() { w.apps["web"].Project.HasProjectCheck, w.access.OrgHasProject = true, false })
	if got := w.back(w.ask("prompt", "none")); got.Get("error") != "access_denied" {
		t.Errorf("without a grant: %v", got)
	}
	w.refused(w.refresh(tokens.text("refresh_token")), 400, "access_denied")
	w.change(func() { w.access.OrgHasProject = true })
	w.code()
	w.good(w.refresh(tokens.text("refresh_token")))
}

// waiting returns the id of the stored request for which an answer sends the person to the login pages.
func (w *world) waiting(out interface{ Result() *http.Response }) string {
	w.Helper()
	id, ok := strings.CutPrefix(out.Result().Header.Get("Location"), "/ui/login/?request=")
	if !ok || out.Result().StatusCode != http.StatusSeeOther || len(id) < 22 {
		w.Fatalf("%d %v", out.Result().StatusCode, out.Result().Header)
	}
	return id
}

// A person who has to log in comes back to the client afterwards, once.
func TestLoggingIn(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string][]string{
		"nobody is logged in": nil,
		"prompt=login":        {"prompt", "login"},
		"prompt=consent":      {"prompt", "consent"},
		"another account":     {"prompt", "select_account"},
		"max_age":             {"max_age", "1"},
		"max_age=0":           {"max_age", "0"},
		"their organization":  {"scope", "openid urn:service:iam:org:id:o1", "prompt", "login"},
		"an answer by a form": {"response_mode", "form_post", "prompt", "login"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if changes == nil {
				w.logout()
			}
			w.pass(2 * time.Second)
			id := w.waiting(w.ask(changes...))
			request, client, err := w.Request(t.Context(), id)
			if err != nil || client.Name != "Shop" || request.ClientID != "web" || request.State != "st" {
				t.Fatalf("%+v %+v %v", request, client, err)
			}
			finish := func() (int, string) {
				out := w.finish(id)
				return out.Code, out.Header().Get("Location") + out.Body.String()
			}
			if strings.Contains(strings.Join(changes, " "), "login") || strings.Contains(name, "max_age") {
				if _, to := finish(); !strings.HasPrefix(to, "/ui/login/?request="+id) {
					t.Errorf("with the old login: %s", to)
				}
			}
			w.pass(time.Second)
			w.login()
			w.pass(time.Minute)
			if status, got := finish(); !strings.Contains(got, "hrlc_") || !strings.Contains(got, "st") ||
				status != map[bool]int{true: 200, false: 303}[strings.Contains(name, "form")] {
				t.Errorf("%d %s", status, got)
			}
			if status, got := finish(); status != 400 || strings.Contains(got, "hrlc_") {
				t.Errorf("again: %d %s", status, got)
			}
		})
	}
}

// Requests without end from one address do not fill the database: those that lead to a login do not count.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 299 {
		w.waiting(w.ask("prompt", "login"))
	}
	for range 3 {
		id := w.waiting(w.ask("prompt", "login"))
		w.pass(time.Millisecond)
		w.login()
		w.back(w.finish(id))
	}
	w.waiting(w.ask("prompt", "login"))
	if got := w.ask("prompt", "login"); got.Code != 429 || got.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	w.code() // the request of a person who is logged in is not stored
	w.pass(time.Minute)
	w.waiting(w.ask("prompt", "login"))
}

// Finish checks the person who has logged in, and the client once more.
func TestFinishing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hint := w.loggedIn().text("id_token")
	w.pass(2 * time.Hour) // the hint has expired, and counts
	w.login()
	finish := func(id string) url.Values {
		return w.back(w.finish(id))
	}
	if got := w.back(w.ask("id_token_hint", hint, "prompt", "none")); got.Get("code") == "" {
		t.Errorf("as the subject of the hint: %v", got)
	}
	w.session.UserID = "bob"
	if got := w.back(w.ask("id_token_hint", hint, "prompt", "none")); got.Get("error") != "login_required" {
		t.Errorf("as somebody else than the subject of the hint: %v", got)
	}
	if got := finish(w.waiting(w.ask("id_token_hint", hint))); got.Get("error") != "login_required" {
		t.Errorf("somebody else than the subject of the hint logged in: %v", got)
	}
	w.login()
	elsewhere := w.waiting(w.ask("scope", "openid urn:service:iam:org:id:o9"))
	if got := finish(elsewhere); got.Get("error") != "account_selection_required" || got.Get("state") != "st" {
		t.Errorf("a user of another organization logged in: %v", got)
	}
	for name, change := range map[string]func(){
		"another address is registered": func() {
			w.apps["web"].App.GetOidcConfig().RedirectUris = []string{"https://b.example"}
		},
		"the grant was taken away": func() { w.apps["web"].App.GetOidcConfig().GrantTypes = nil },
		"it is not active":         func() { w.apps["web"].App.State = projectsv1.AppState_APP_STATE_INACTIVE },
		"it is gone":               func() { delete(w.apps, "web") },
	} {
		w.change(func() { w.apps["web"] = newProjects().apps["web"] })
		id := w.waiting(w.ask("prompt", "login"))
		w.change(change)
		got := w.finish(id)
		if got.Code != 400 || got.Header().Get("Location") != "" {
			t.Errorf("%s: %d %v", name, got.Code, got.Header())
		}
	}
	w.change(func() { w.apps["web"] = newProjects().apps["web"] })
	late := w.waiting(w.ask("prompt", "login"))
	w.pass(domain.RequestLifetime)
	if _, _, err := w.Request(t.Context(), late); err != domain.ErrRequestGone {
		t.Errorf("after an hour: %v", err)
	}
}

// OpenID Connect Core 3.1.2.1: a form of another site does what a GET does.
func TestPostedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, site := range []string{"cross-site", "same-origin", ""} {
		posted := w.visit("POST", authorize.Path, query(), "Sec-Fetch-Site", site, "Origin", "https://app.example")
		to := posted.Header().Get("Location")
		if posted.Code != http.StatusSeeOther || !strings.HasPrefix(to, authorize.Path+"?") {
			t.Fatalf("%d %v", posted.Code, posted.Header())
		}
		if got := w.back(w.visit("GET", to, nil)); got.Get("code") == "" {
			t.Errorf("%v", got)
		}
	}
	for name, test := range map[string]struct {
		uri  string
		form url.Values
	}{
		"parameters in both": {authorize.Path + "?scope=openid", query()},
		"a huge form":        {authorize.Path, query("x", strings.Repeat("x", 9000))},
	} {
		if got := w.visit("POST", test.uri, test.form); got.Code != 400 || got.Header().Get("Location") != "" {
			t.Errorf("%s: %d %v", name, got.Code, got.Header())
		}
	}
	other := w.visit("POST", "/ui/login/finish", url.Values{}, "Sec-Fetch-Site", "cross-site")
	if other.Code != 403 {
		t.Errorf("a form of another site for another page: %d", other.Code)
	}
}

// OAuth 2.0 Form Post Response Mode: only the client's address gets the form, and only our script runs.
func TestFormPost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, changes := range map[string][]string{
		"a code":   {"response_mode", "form_post", "state", `"><script>x`},
		"an error": {"response_mode", "form_post", "state", `"><script>x`, "scope", "\\"},
	} {
		got := w.ask(changes...)
		body, policy := got.Body.String(), got.Header().Get("Content-Security-Policy")
		if got.Code != 200 || !strings.Contains(body, `action="`+callback+`"`) ||
			!strings.Contains(body, `name="iss" value="`+issuer+`"`) || strings.Contains(body, `"><script>x`) ||
			!strings.Contains(body, `name="state" value="&#34;&gt;&lt;script&gt;x"`) {
			t.Errorf("%s: %d %s", name, got.Code, body)
		}
		if !strings.Contains(policy, "form-action 'self' https://app.example;") ||
			!strings.Contains(policy, "script-src 'sha256-") || !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: %s", name, policy)
		}
	}
}

// Native applications listen at any port of the loopback host, or have a scheme of their own (RFC 8252 section 7).
func TestNativeApplications(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, address := range []string{"http://127.0.0.1:50123/cb", "com.example.app:/cb"} {
		to := w.ask("client_id", "native", "redirect_uri", address).Header().Get("Location")
		if !strings.HasPrefix(to, address+"?code=hrlc_") {
			t.Errorf("%s: %s", address, to)
		}
		form := w.ask("client_id", "native", "redirect_uri", address, "response_mode", "form_post")
		scheme, _, _ := strings.Cut(address, "/cb")
		if policy := form.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "'self' "+scheme+";") ||
			!strings.Contains(form.Body.String(), `action="`+address+`"`) {
			t.Errorf("%s: %s %s", address, policy, form.Body)
		}
	}
	with := w.ask("redirect_uri", callback+"?tenant=1").Header().Get("Location")
	if !strings.HasPrefix(with, callback+"?tenant=1&code=hrlc_") {
		t.Errorf("an address with a query: %s", with)
	}
}
