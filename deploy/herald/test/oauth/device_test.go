package oauth_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// device makes an application for devices and returns its client id.
func (w world) device(name string) string {
	w.TB.Helper()
	project := w.Must("POST", "/management/v1/projects", `{"name":"`+name+`"}`)["id"].(string)
	return w.Must("POST", "/management/v1/projects/"+project+"/apps/oidc", `{"name":"`+name+`",
		"appType":"OIDC_APP_TYPE_NATIVE","authMethodType":"OIDC_AUTH_METHOD_TYPE_NONE",
		"grantTypes":["OIDC_GRANT_TYPE_DEVICE_CODE","OIDC_GRANT_TYPE_REFRESH_TOKEN"]}`)["clientId"].(string)
}

// asks begins a login at a device.
func (w world) asks(clientID string) answer {
	w.TB.Helper()
	a := w.post("/oauth/v2/device_authorization", "", "client_id", clientID, "scope", "openid offline_access")
	if a.Status != http.StatusOK || a.Body["expires_in"] != 600.0 || a.Body["interval"] != 5.0 ||
		a.text("verification_uri") != w.URL+"/ui/login/device" || a.text("verification_uri_complete") !=
		a.text("verification_uri")+"?user_code="+url.QueryEscape(a.text("user_code")) || len(a.Body) != 6 ||
		a.Header.Get("Cache-Control") != "no-store" {
		w.Fatalf("%d %v", a.Status, a.Body)
	}
	return a
}

// polls asks for the tokens of a device.
func (w world) polls(clientID, code string) answer {
	w.TB.Helper()
	return w.post("/oauth/v2/token", "", "grant_type", deviceGrant, "client_id", clientID, "device_code", code)
}

// A person enters the code that a device shows, logs in, and lets the device in or refuses it (RFC 8628).
func TestDevices(t *testing.T) {
	t.Parallel()
	w, c := start(t), open(t)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	tv, other := w.device("TV"), w.device("Radio")
	first, second := w.asks(tv), w.asks(tv)
	code := second.text("device_code")
	w.refused(w.polls(tv, code), 400, "authorization_pending")
	w.refused(w.polls(tv, code), 400, "slow_down")
	w.refused(w.polls(other, code), 400, "invalid_grant")
	if got := c.visit(first.text("verification_uri")); got != "Connect a device" {
		t.Fatalf("the page is %q", got)
	}
	c.picture(t, "device")
	if got := c.submit("code", "BBBBBBBB"); got != "Connect a device" ||
		!strings.Contains(c.read(".fault"), "No device") {
		t.Errorf("a wrong code leads to %q", got)
	}
	typed := strings.ToLower(strings.ReplaceAll(first.text("user_code"), "-", " "))
	if got := c.submit("code", typed); got != "Sign in" || !strings.Contains(c.read(".whose"), "TV") {
		t.Fatalf("the code leads to %q", got)
	}
	if got := c.submit("name", "ada", "current", "correct horse"); got != "Let this device in?" ||
		!strings.Contains(c.read(".whose"), "TV") || c.read(".name") != first.text("user_code") {
		t.Fatalf("the login leads to %q", got)
	}
	c.picture(t, "deviceask")
	if got := c.submit(); got != "Your device is connected" {
		t.Fatalf("letting it in leads to %q", got)
	}
	c.picture(t, "devicedone")
	// The next device needs no login, but the person is asked again.
	if got := c.visit(second.text("verification_uri_complete")); got != "Connect a device" {
		t.Fatalf("the link leads to %q", got)
	}
	if got := c.submit(); got != "Let this device in?" {
		t.Fatalf("the code of the link leads to %q", got)
	}
	if _, err := chromedp.RunResponse(c.ctx, chromedp.Click(chromedp.CSS("button.quiet"))); err != nil {
		t.Fatal(err)
	}
	if got := c.read("h1"); got != "You have refused the device" {
		t.Errorf("refusing leads to %q", got)
	}
	w.refused(w.polls(tv, second.text("device_code")), 400, "access_denied")
	if got := c.visit(first.text("verification_uri")); got != "Connect a device" {
		t.Fatalf("the page is %q", got)
	}
	if got := c.submit("code", first.text("user_code")); got != "Connect a device" {
		t.Errorf("a code that was answered leads to %q", got)
	}
	got := w.polls(tv, first.text("device_code"))
	if got.Status != http.StatusOK || got.text("refresh_token") == "" || got.text("id_token") == "" {
		t.Fatalf("%d %v", got.Status, got.Body)
	}
	if status, id := w.me(got.text("access_token")); status != http.StatusOK || id != "ada" {
		t.Errorf("the device's token is %q's: %d", id, status)
	}
	w.refused(w.polls(tv, first.text("device_code")), 400, "invalid_grant")
}

// All devices without a secret at one address together begin at most 60 logins a minute. A client with a secret is not
// counted.
func TestDevicesOfOneAddress(t *testing.T) {
	t.Parallel()
	w := start(t)
	tv := w.device("TV")
	for range 60 {
		w.asks(tv)
	}
	for _, clientID := range []string{tv, w.device("Radio")} {
		a := w.post("/oauth/v2/device_authorization", "", "client_id", clientID)
		w.refused(a, http.StatusTooManyRequests, "temporarily_unavailable")
		if wait, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || wait < 2 || wait > 60 {
			t.Errorf("Retry-After: %q", a.Header.Get("Retry-After"))
		}
	}
	made := w.Must("POST", "/management/v1/projects/"+w.newProject("Kiosk", "")+"/apps/oidc", `{"name":"Kiosk",
		"redirectUris":["https://kiosk.example/"],
		"grantTypes":["OIDC_GRANT_TYPE_AUTHORIZATION_CODE","OIDC_GRANT_TYPE_DEVICE_CODE"]}`)
	basic := made["clientId"].(string) + ":" + made["clientSecret"].(string)
	if a := w.post("/oauth/v2/device_authorization", basic); a.Status != http.StatusOK {
		t.Errorf("a client with a secret: %d %v", a.Status, a.Body)
	}
}

// Requests that violate RFC 8628 sections 3.1 and 3.4 are refused.
func TestDeviceEndpointRefuses(t *testing.T) {
	t.Parallel()
	w := start(t)
	tv, shop := w.device("TV"), w.application("Shop")
	for _, c := range []struct {
		name   string
		form   []string
		status int
		code   string
	}{
		{"no client", nil, 401, "invalid_client"},
		{"unknown client", []string{"client_id", "nobody"}, 401, "invalid_client"},
		{"a client for browsers", []string{"client_id", shop.clientID}, 400, "unauthorized_client"},
		{"scope twice", []string{"client_id", tv, "scope", "openid", "scope", "email"}, 400, "invalid_request"},
		{"bad scope", []string{"client_id", tv, "scope", "a\tb"}, 400, "invalid_scope"},
	} {
		a := w.post("/oauth/v2/device_authorization", "", c.form...)
		if a.Status != c.status || a.text("error") != c.code {
			t.Errorf("%s: %d %v", c.name, a.Status, a.Body)
		}
	}
	w.refused(w.post("/oauth/v2/token", "", "grant_type", deviceGrant, "client_id", tv), 400, "invalid_request")
	w.refused(w.polls(tv, "unknown"), 400, "invalid_grant")
	w.refused(w.polls(shop.clientID, w.asks(tv).text("device_code")), 400, "unauthorized_client")
}
