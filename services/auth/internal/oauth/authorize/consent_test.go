package authorize_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/testkit"
)

const consentPath = "/ui/login/consent"

// asked returns the id of the request for which an answer asks the person.
func asked(t testing.TB, out *httptest.ResponseRecorder) string {
	t.Helper()
	id, ok := strings.CutPrefix(out.Header().Get("Location"), consentPath+"?request=")
	if !ok || out.Code != http.StatusSeeOther {
		t.Fatalf("%d %v", out.Code, out.Header())
	}
	return id
}

// say posts the person's answer.
func say(w *testworld.OAuth, id, answer string, headers ...string) *httptest.ResponseRecorder {
	w.Helper()
	headers = append([]string{"Sec-Fetch-Site", "same-origin"}, headers...)
	return w.Visit("POST", consentPath, url.Values{"request": {id}, "answer": {answer}}, headers...)
}

// A person of another organization is asked once which data an application gets, and again if it is more.
func TestPersonOfAnotherOrganizationMustAgree(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { w.Access.OrgHasProject, w.Apps["web"].App.Name = false, "Shop <b>" })
	id := asked(t, w.Ask("scope", "openid profile offline_access"))
	page := w.Visit("GET", consentPath+"?request="+id, nil)
	text := html.UnescapeString(page.Body.String())
	for _, want := range []string{"Share your data?", "Shop <b>", "Two", "that you have an account here",
		"your name and language", "all of this also while"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q: %s", want, text)
		}
	}
	if strings.Contains(page.Body.String(), "<b>") || strings.Contains(text, "your email address") {
		t.Errorf("%s", page.Body)
	}
	failed(t, w.Back(w.Ask("prompt", "none")), "consent_required")
	if out := say(w, id, "allow", "Sec-Fetch-Site", "cross-site"); out.Code != http.StatusForbidden {
		t.Errorf("another site agrees: %d", out.Code)
	}
	failed(t, w.Back(say(w, id, "refuse")), "access_denied")
	id = asked(t, w.Ask("scope", "openid profile offline_access"))
	tokens := w.Good(w.Redeem(w.Back(say(w, id, "allow")).Get("code")))
	shown(t, say(w, id, "allow"))
	w.Code("scope", "openid profile")
	w.Code("scope", "openid", "prompt", "none")
	more := asked(t, w.Ask("scope", "openid email"))
	asked(t, w.Ask("client_id", "other"))
	w.Back(say(w, more, "allow"))
	w.Code("scope", "openid profile email offline_access")
	_, err := w.Store.RevokeApp(t.Context(), "ada", "web", &authv1.ConsentWithdrawn{}, &authv1.AuthorizationEnded{})
	w.Must(err)
	w.Refused(w.Refresh(tokens.Text("refresh_token")), 400, "invalid_grant")
	asked(t, w.Ask("scope", "openid"))
}

// With prompt=consent a person is asked again. Nobody is asked for an application of the own organization, or of a
// project that it may use.
func TestConsentIsAskedAgainOnRequest(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { w.Access.OrgHasProject = false })
	w.Back(say(w, asked(t, w.Ask()), "allow"))
	w.Code()
	id := asked(t, w.Finish(w.Waiting(w.Ask("prompt", "consent"))))
	if got := w.Back(say(w, id, "allow")); got.Get("code") == "" {
		t.Errorf("%v", got)
	}
	later := asked(t, w.Ask("scope", "openid phone"))
	w.Logout()
	if got := w.Waiting(say(w, later, "allow")); got != later {
		t.Errorf("without a login the person logs in for %s, not for %s", got, later)
	}
	w.Login()
	w.Change(func() { w.Apps["web"].OrgId = "o1" })
	w.Code("scope", "openid phone")
	w.Change(func() { w.Apps["web"].OrgId, w.Access.OrgHasProject = "o2", true })
	w.Code("scope", "openid phone email")
}

// The consent page has a sentence for each scope that gives an application data.
func TestConsentPageListsEveryScope(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { w.Access.OrgHasProject = false })
	id := asked(t, w.Ask("scope", strings.Join(domain.ConsentScopes(), " ")))
	page := w.Visit("GET", consentPath+"?request="+id, nil).Body.String()
	_, list, _ := strings.Cut(page, `<ul class="shared">`)
	list, _, _ = strings.Cut(list, "</ul>")
	if n := strings.Count(list, "<li>"); n != len(domain.ConsentScopes()) || strings.Contains(list, "<li></li>") {
		t.Errorf("%d sentences for %d scopes: %s", n, len(domain.ConsentScopes()), list)
	}
}

// The page names the projects for which an application of another organization gets tokens, with their organizations. A
// person is not asked if their organization has accepted grants of all projects. Of the application's own project
// nothing is said.
func TestConsentPageNamesProjects(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	const scope = "openid urn:service:iam:org:project:id:accepted:aud urn:service:iam:org:project:id:p1:aud"
	w.Code("scope", scope)
	w.Change(func() { w.Named["accepted"].OrgHasProject = false })
	id := asked(t, w.Ask("scope", scope))
	page := html.UnescapeString(w.Visit("GET", consentPath+"?request="+id, nil).Body.String())
	for _, want := range []string{"also gets access to these projects", "Project accepted", "Three"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q: %s", want, page)
		}
	}
	if n := strings.Count(page, "<li><bdi>"); n != 1 {
		t.Errorf("%d projects: %s", n, page)
	}
	w.Back(say(w, id, "allow"))
	w.Code("scope", scope, "prompt", "none")
	acting := asked(t, w.Ask("scope", scope+" "+domain.ScopeService))
	if page := w.Visit("GET", consentPath+"?request="+acting, nil).Body.String(); !strings.Contains(page,
		"Project accepted") {
		t.Error(page)
	}
	w.Change(func() { w.Named["accepted"].Grounds = "" })
	if page := w.Visit("GET", consentPath+"?request="+acting, nil); page.Code != http.StatusBadRequest {
		t.Errorf("%d %s", page.Code, page.Body)
	}
	failed(t, w.Back(say(w, acting, "allow")), "invalid_scope")
}

// An application of the own organization that wants to act for a person in Herald asks, unless the organization trusts
// it. What another organization trusts is asked.
func TestTrustedApplicationActsWithoutAQuestion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		orgID          string
		trusted, asked bool
	}{
		"own":                      {orgID: "o1", asked: true},
		"own and trusted":          {orgID: "o1", trusted: true},
		"trusted by another owner": {orgID: "o2", trusted: true, asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.NewOAuth(t)
			w.Change(func() {
				w.Apps["web"].OrgId = test.orgID
				w.Apps["web"].App.GetOidcConfig().Trusted = test.trusted
			})
			const scope = "openid " + domain.ScopeService
			if !test.asked {
				w.Code("scope", scope, "prompt", "none")
				return
			}
			failed(t, w.Back(w.Ask("scope", scope, "prompt", "none")), "consent_required")
			id := asked(t, w.Ask("scope", scope))
			page := html.UnescapeString(w.Visit("GET", consentPath+"?request="+id, nil).Body.String())
			if !strings.Contains(page, "change your account, and all that you manage") {
				t.Error(page)
			}
		})
	}
}

// Who has a role is asked before an application acts for them, also a trusted one. What others gave it silently ends
// when they get a role, or it is not trusted any more. What somebody has agreed to does not.
func TestTrustEndsWhereRolesBegin(t *testing.T) {
	t.Parallel()
	const scope = "openid offline_access " + domain.ScopeService
	trusting := func(t *testing.T) *testworld.OAuth {
		w := testworld.NewOAuth(t)
		w.Change(func() { w.Apps["web"].OrgId, w.Apps["web"].App.GetOidcConfig().Trusted = "o1", true })
		return w
	}
	t.Run("who has a role is asked", func(t *testing.T) {
		t.Parallel()
		w := trusting(t)
		w.Change(func() { w.Ada.Manages = true })
		failed(t, w.Back(w.Ask("scope", scope, "prompt", "none")), "consent_required")
		w.Logout()
		waiting := w.Waiting(w.Ask("scope", scope))
		w.Login()
		if id := asked(t, w.Finish(waiting)); id != waiting {
			t.Errorf("after the login the person is asked about %s, not about %s", id, waiting)
		}
		tokens := w.Good(w.Redeem(w.Back(say(w, asked(t, w.Ask("scope", scope)), "allow")).Get("code")))
		w.Change(func() { w.Apps["web"].App.GetOidcConfig().Trusted = false })
		w.Good(w.Refresh(tokens.Text("refresh_token")))
		w.Code("scope", "openid", "prompt", "none") // it does not act for anybody
	})
	for name, end := range map[string]func(*testworld.OAuth){
		"a role":   func(w *testworld.OAuth) { w.Ada.Manages = true },
		"no trust": func(w *testworld.OAuth) { w.Apps["web"].App.GetOidcConfig().Trusted = false },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := trusting(t)
			code := w.Code("scope", scope)
			tokens := w.Good(w.Redeem(w.Code("scope", scope)))
			w.Change(func() { end(w) })
			w.Refused(w.Redeem(code), 400, "invalid_grant")
			w.Refused(w.Refresh(tokens.Text("refresh_token")), 400, "invalid_grant")
			w.Refused(w.Userinfo(tokens.Text("access_token")), 401, "invalid_token")
		})
	}
}

// An application is trusted in the API only with what a person gave it while it was trusted, and only as long as it is.
func TestAuthorizationStaysAsItWasGiven(t *testing.T) {
	t.Parallel()
	const scope = "openid " + domain.ScopeService
	for name, test := range map[string]struct{ manages, before, after, elsewhere, want bool }{
		"trusted later, agreed":              {manages: true, after: true},
		"trusted, agreed":                    {manages: true, before: true, after: true, want: true},
		"trusted, nobody asked":              {before: true, after: true, want: true},
		"trusted, agreed, not trusted later": {manages: true, before: true},
		"never trusted":                      {},
		"trusted by another organization":    {elsewhere: true, before: true, after: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.NewOAuth(t)
			trust := func(trusted bool) {
				w.Change(func() { w.Apps["web"].App.GetOidcConfig().Trusted = trusted })
			}
			w.Change(func() {
				w.Ada.Manages = test.manages
				if !test.elsewhere {
					w.Apps["web"].OrgId = "o1"
				}
			})
			trust(test.before)
			r := w.Ask("scope", scope)
			if test.manages || test.elsewhere || !test.before {
				r = say(w, asked(t, r), "allow")
			}
			token := w.Good(w.Redeem(w.Back(r).Get("code"))).Text("access_token")
			trust(test.after)
			if c := w.Caller(token); c.ClientID != "web" || c.ClientTrusted != test.want {
				t.Errorf("%+v", c)
			}
		})
	}
}

// Nothing is stored of what people agree to for an application of their own organization: they are never asked what it
// may know.
func TestConsentForTheOwnOrganizationIsNotStored(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { w.Apps["web"].OrgId = "o1" })
	id := asked(t, w.Ask("scope", "openid profile "+domain.ScopeService))
	page := html.UnescapeString(w.Visit("GET", consentPath+"?request="+id, nil).Body.String())
	if strings.Contains(page, "Share your data?") || strings.Contains(page, "your name and language") {
		t.Error(page)
	}
	if got := w.Back(say(w, id, "allow")); got.Get("code") == "" {
		t.Errorf("%v", got)
	}
	if n := testkit.Rows(t, w.DB, "consents"); n != 0 {
		t.Errorf("%d consents", n)
	}
	w.Change(func() { w.Apps["web"].OrgId, w.Access.OrgHasProject = "o2", false })
	w.Back(say(w, asked(t, w.Ask("scope", "openid profile")), "allow"))
	if n := testkit.Rows(t, w.DB, "consents"); n != 1 {
		t.Errorf("%d consents for another organization", n)
	}
}
