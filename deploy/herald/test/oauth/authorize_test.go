package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const (
	appCallback  = "https://app.example/cb"
	appChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" // RFC 7636 appendix B
)

// visit sends a browser's request without following redirects.
func (w world) visit(method, uri string, form url.Values) *http.Response {
	w.TB.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.URL+uri, strings.NewReader(form.Encode()))
	if err != nil {
		w.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://app.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := browser.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { answer.Body.Close() })
	return answer
}

// An application can send people to log in as soon as it was made. It cannot any more as soon as it was deactivated.
func TestSendingPeopleToLogIn(t *testing.T) {
	t.Parallel()
	w := start(t)
	project := w.newProject("shop", "")
	made := w.Must("POST", "/management/v1/projects/"+project+"/apps/oidc",
		`{"name":"web","redirectUris":["`+appCallback+`"]}`)
	q := url.Values{
		"client_id": {made["clientId"].(string)}, "redirect_uri": {appCallback}, "response_type": {"code"},
		"scope": {"openid"}, "state": {"st"}, "code_challenge": {appChallenge}, "code_challenge_method": {"S256"},
	}
	ask := func() *http.Response { return w.visit("GET", "/oauth/v2/authorize?"+q.Encode(), nil) }
	if to := ask(); to.StatusCode != 303 || !strings.HasPrefix(to.Header.Get("Location"), "/ui/login/?request=") {
		t.Errorf("%d %v", to.StatusCode, to.Header)
	}
	posted := w.visit("POST", "/oauth/v2/authorize", q)
	if to := posted.Header.Get("Location"); posted.StatusCode != 303 || to != "/oauth/v2/authorize?"+q.Encode() {
		t.Errorf("posted by another site: %d %v", posted.StatusCode, posted.Header)
	}
	q.Set("prompt", "none")
	silent, err := url.Parse(ask().Header.Get("Location"))
	if err != nil || silent.Host != "app.example" || silent.Query().Get("error") != "login_required" ||
		silent.Query().Get("iss") != w.URL || silent.Query().Get("state") != "st" {
		t.Errorf("prompt=none: %v, %v", silent, err)
	}
	basic := made["clientId"].(string) + ":" + made["clientSecret"].(string)
	w.refused(w.post("/oauth/v2/token", basic, "grant_type", "authorization_code", "code", "hrlc_x",
		"redirect_uri", appCallback), 400, "invalid_grant")
	w.refused(w.post("/oauth/v2/token", basic, "grant_type", "refresh_token", "refresh_token", "hrlr_x"), 400,
		"unauthorized_client") // not one of the application's grants
	w.Must("POST", "/management/v1/projects/"+project+"/apps/"+made["appId"].(string)+"/_deactivate", "{}")
	if off := ask(); off.StatusCode != 400 || off.Header.Get("Location") != "" {
		t.Errorf("deactivated: %d %v", off.StatusCode, off.Header)
	}
	w.refused(w.post("/oauth/v2/token", basic, "grant_type", "authorization_code", "code", "hrlc_x"), 401,
		"invalid_client")
}
