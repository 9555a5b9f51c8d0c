package authorize_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/oauth/authorize"
	"herald/services/auth/internal/testworld"
)

// OpenID Connect Core 3.1.2.1: a form of another site does what a GET does.
func TestPostedRequestIsAnswered(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	for _, site := range []string{"cross-site", "same-origin", ""} {
		posted := w.Visit("POST", authorize.Path, testworld.Query(), "Sec-Fetch-Site", site, "Origin",
			"https://app.example")
		to := posted.Header().Get("Location")
		if posted.Code != http.StatusSeeOther || !strings.HasPrefix(to, authorize.Path+"?") {
			t.Fatalf("%d %v", posted.Code, posted.Header())
		}
		if got := w.Back(w.Visit("GET", to, nil)); got.Get("code") == "" {
			t.Errorf("%v", got)
		}
	}
	shown(t, w.Visit("POST", authorize.Path+"?scope=openid", testworld.Query()))
	shown(t, w.Visit("POST", authorize.Path, testworld.Query("x", strings.Repeat("x", 9000))))
	other := w.Visit("POST", testworld.LoginPath+"continue", url.Values{}, "Sec-Fetch-Site", "cross-site")
	if other.Code != http.StatusForbidden {
		t.Errorf("a form of another site for another page: %d", other.Code)
	}
}

// OAuth 2.0 Form Post Response Mode: only the client's address gets the form, and only our script runs.
func TestFormPostAnswersClientOnly(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	for name, changes := range map[string][]string{
		"a code":   {"response_mode", "form_post", "state", `"><script>x`},
		"an error": {"response_mode", "form_post", "state", `"><script>x`, "scope", "\\"},
	} {
		w.Run(name, func() {
			got := w.Ask(changes...)
			body, policy := got.Body.String(), got.Header().Get("Content-Security-Policy")
			for _, part := range []string{
				`action="` + testworld.Callback + `"`, `name="iss" value="` + testworld.Public + `"`,
				`name="state" value="&#34;&gt;&lt;script&gt;x"`} {
				if !strings.Contains(body, part) {
					w.Errorf("%d, without %s: %s", got.Code, part, body)
				}
			}
			if strings.Contains(body, `"><script>x`) {
				w.Errorf("the state is not escaped: %s", body)
			}
			for _, part := range []string{"script-src 'sha256-", "default-src 'none'"} {
				if !strings.Contains(policy, part) {
					w.Errorf("the policy is %s", policy)
				}
			}
			if strings.Contains(policy, "form-action") { // the client may send the person on
				w.Errorf("the policy is %s", policy)
			}
		})
	}
}

// Native applications listen at any port of the loopback host, or have a scheme of their own (RFC 8252 section 7).
func TestNativeApplicationsGetAnswers(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	for _, address := range []string{"http://127.0.0.1:50123/cb", "com.example.app:/cb"} {
		to := w.Ask("client_id", "native", "redirect_uri", address).Header().Get("Location")
		if !strings.HasPrefix(to, address+"?code=hrlc_") {
			t.Errorf("%s: %s", address, to)
		}
		form := w.Ask("client_id", "native", "redirect_uri", address, "response_mode", "form_post")
		if policy := form.Header().Get("Content-Security-Policy"); strings.Contains(policy, "form-action") ||
			!strings.Contains(form.Body.String(), `action="`+address+`"`) {
			t.Errorf("%s: %s %s", address, policy, form.Body)
		}
	}
	// After a form, browsers start a program by a redirect, which the page with the form allows.
	id := w.Waiting(w.Ask("client_id", "native", "redirect_uri", "com.example.app:/cb", "prompt", "login"))
	asked := w.Visit("GET", testworld.LoginPath+"?request="+id, nil).Header().Get("Content-Security-Policy")
	w.Advance(time.Second)
	w.Login()
	if to := w.Finish(id).Header().Get("Location"); !strings.HasPrefix(to, "com.example.app:/cb?code=hrlc_") ||
		!strings.Contains(asked, "form-action 'self' com.example.app:;") {
		t.Errorf("%s, the policy was %s", to, asked)
	}
	with := w.Ask("redirect_uri", testworld.Callback+"?tenant=1").Header().Get("Location")
	if !strings.HasPrefix(with, testworld.Callback+"?tenant=1&code=hrlc_") {
		t.Errorf("an address with a query: %s", with)
	}
}
