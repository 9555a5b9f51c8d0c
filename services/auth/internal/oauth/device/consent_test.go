package device_test

import (
	"html"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

const (
	askPath     = "/ui/login/device/confirm"
	consentPath = "/ui/login/consent"
)

// world has devices that the application web lets people log in to.
type world struct{ *testworld.OAuth }

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{testworld.NewOAuth(t)}
	w.Change(func() {
		o := w.Apps["web"].App.GetOidcConfig()
		o.GrantTypes = append(o.GrantTypes, projectsv1.OidcGrantType_OIDC_GRANT_TYPE_DEVICE_CODE)
		w.Access.OrgHasProject = false
	})
	return w
}

// begin asks for a login at a device. It returns the device code and the name of the device.
func (w world) begin(scope string) (code, name string) {
	w.Helper()
	a := w.Post("/oauth/v2/device_authorization", "scope", scope)
	if a.Status != 200 {
		w.Fatalf("%d %v", a.Status, a.Body)
	}
	entered := w.Visit("POST", "/ui/login/device", url.Values{"user_code": {a.Text("user_code")}}, "Sec-Fetch-Site",
		"same-origin")
	name, ok := strings.CutPrefix(entered.Header().Get("Location"), askPath+"?device=")
	if !ok {
		w.Fatalf("%d %v", entered.Code, entered.Header())
	}
	return a.Text("device_code"), name
}

func (w world) page(name string) string {
	w.Helper()
	return w.Visit("GET", askPath+"?device="+name, nil).Body.String()
}

func (w world) say(name, answer string) *httptest.ResponseRecorder {
	w.Helper()
	return w.Visit("POST", askPath, url.Values{"device": {name}, "answer": {answer}}, "Sec-Fetch-Site", "same-origin")
}

func (w world) redeem(code string) testworld.Answer {
	w.Helper()
	return w.Post("/oauth/v2/token", "grant_type", string(domain.GrantDevice), "device_code", code)
}

// described returns what a page says that the application gets: from its name to its form.
func described(page string) string {
	_, text, _ := strings.Cut(page, `<p class="whose">`)
	text, _, _ = strings.Cut(text, "<form")
	_, list, _ := strings.Cut(text, `<ul class="shared">`)
	return strings.TrimSpace(list)
}

// The page for a device says the same as the consent page. Its answer is remembered like the answer there.
func TestDeviceAsksForTheConsentOfThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const scope = "openid profile email offline_access"
	code, name := w.begin(scope)
	page := html.UnescapeString(w.page(name))
	asks := w.Ask("scope", scope)
	other := w.Visit("GET", asks.Header().Get("Location"), nil).Body.String()
	if want := described(html.UnescapeString(other)); described(page) != want || strings.Count(want, "<li>") != 4 {
		t.Errorf("the device says\n%s\nthe page\n%s", described(page), want)
	}
	if !strings.Contains(page, "belongs to another organization") || !strings.Contains(page, "Let this device in?") {
		t.Error(page)
	}
	w.say(name, "allow")
	w.Good(w.redeem(code))
	w.Code("scope", scope, "prompt", "none")
	if got := w.Ask("scope", scope+" phone").Header().Get("Location"); !strings.HasPrefix(got, consentPath) {
		t.Errorf("more data leads to %s", got)
	}
	// A person who has refused has agreed to nothing.
	_, refused := w.begin(scope + " phone")
	w.say(refused, "refuse")
	if got := w.Ask("scope", scope+" phone").Header().Get("Location"); !strings.HasPrefix(got, consentPath) {
		t.Errorf("after a refusal: %s", got)
	}
}

// The page for a device of an application that acts as the person says so, as the consent page does.
func TestDeviceThatActsAsPersonSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, name := w.begin("openid " + domain.ScopeService)
	if page := html.UnescapeString(w.page(name)); !strings.Contains(page, "everything that you may do here") {
		t.Error(page)
	}
}
