package authorize_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	authv1 "herald/shared/gen/herald/auth/v1"
)

const consentPath = "/ui/login/consent"

// asked returns the id of the request for which an answer asks the person.
func (w *world) asked(out *httptest.ResponseRecorder) string {
	w.Helper()
	id, ok := strings.CutPrefix(out.Header().Get("Location"), consentPath+"?request=")
	if !ok || out.Code != http.StatusSeeOther {
		w.Fatalf("%d %v", out.Code, out.Header())
	}
	return id
}

func (w *world) say(id, answer string, headers ...string) *httptest.ResponseRecorder {
	w.Helper()
	headers = append([]string{"Sec-Fetch-Site", "same-origin"}, headers...)
	return w.visit("POST", consentPath, url.Values{"request": {id}, "answer": {answer}}, headers...)
}

// A person of another organization is asked once what an application learns, and again if it is more.
func TestConsentOfStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(func() { w.access.OrgHasProject, w.apps["web"].App.Name = false, "Shop <b>" })
	id := w.asked(w.ask("scope", "openid profile offline_access"))
	page := w.visit("GET", consentPath+"?request="+id, nil)
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
	if got := w.back(w.ask("prompt", "none")); got.Get("error") != "consent_required" || got.Get("state") != "st" {
		t.Errorf("silently: %v", got)
	}
	if out := w.say(id, "allow", "Sec-Fetch-Site", "cross-site"); out.Code != http.StatusForbidden {
		t.Errorf("another site agrees: %d", out.Code)
	}
	if got := w.back(w.say(id, "refuse")); got.Get("error") != "access_denied" || got.Get("state") != "st" {
		t.Errorf("refused: %v", got)
	}
	id = w.asked(w.ask("scope", "openid profile offline_access"))
	tokens := w.redeem(w.back(w.say(id, "allow")).Get("code"))
	w.good(tokens)
	if out := w.say(id, "allow"); out.Code != http.StatusBadRequest {
		t.Errorf("twice: %d %v", out.Code, out.Header())
	}
	w.code("scope", "openid profile")
	w.code("scope", "openid", "prompt", "none")
	more := w.asked(w.ask("scope", "openid email"))
	w.asked(w.ask("client_id", "other"))
	w.back(w.say(more, "allow"))
	w.code("scope", "openid profile email offline_access")
	_, err := w.db.WithdrawConsent(t.Context(), "ada", "web", &authv1.ConsentWithdrawn{UserId: "ada"})
	w.must(err)
	w.refused(w.refresh(tokens.text("refresh_token")), 400, "invalid_grant")
	w.asked(w.ask("scope", "openid"))
}

// Who wants the person asked anew gets that, and who belongs to the organization or has a grant is not asked.
func TestConsentIsAskedAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(func() { w.access.OrgHasProject = false })
	w.back(w.say(w.asked(w.ask()), "allow"))
	w.code()
	id := w.asked(w.finish(w.waiting(w.ask("prompt", "consent"))))
	if got := w.back(w.say(id, "allow")); got.Get("code") == "" {
		t.Errorf("%v", got)
	}
	later := w.asked(w.ask("scope", "openid phone"))
	w.logout()
	if out := w.say(later, "allow"); out.Header().Get("Location") != "/ui/login/?request="+later {
		t.Errorf("without a login: %d %v", out.Code, out.Header())
	}
	w.login()
	w.change(func() { w.apps["web"].OrgId = "o1" })
	w.code("scope", "openid phone")
	w.change(func() { w.apps["web"].OrgId, w.access.OrgHasProject = "o2", true })
	w.code("scope", "openid phone email")
}
