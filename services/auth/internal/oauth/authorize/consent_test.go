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
	id := asked(t, w.Ask("scope", strings.Join(domain.ScopesSupported(), " ")))
	page := w.Visit("GET", consentPath+"?request="+id, nil).Body.String()
	_, list, _ := strings.Cut(page, `<ul class="shared">`)
	list, _, _ = strings.Cut(list, "</ul>")
	if n := strings.Count(list, "<li>"); n != len(domain.ScopesSupported()) || strings.Contains(list, "<li></li>") {
		t.Errorf("%d sentences for %d scopes: %s", n, len(domain.ScopesSupported()), list)
	}
}
