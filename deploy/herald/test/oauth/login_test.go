package oauth_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"herald/shared/secret"
	"herald/shared/testkit/outside"
)

const otpSecret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

// shown returns the code that an authenticator app shows after that time.
func shown(t testing.TB, ahead time.Duration) string {
	t.Helper()
	return shownBy(t, otpSecret, ahead)
}

// shownBy does the same for an app with a secret.
func shownBy(t testing.TB, key string, ahead time.Duration) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "oathtool", "--totp", "--base32", "--now",
		time.Now().Add(ahead).UTC().Format("2006-01-02 15:04:05 UTC"), key).CombinedOutput()
	if err != nil {
		t.Fatalf("oathtool: %v %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// application is somebody else's web application, to which people log in.
type application struct {
	world
	// answers gets the query of each request to the redirect URI.
	answers chan url.Values
	// ends gets the logout token of each logout, if the application is registered for logout tokens.
	ends chan string
	// away reports whether the application cannot accept a logout token now. If away is nil, it always can.
	away func() bool
	// onward is where the application sends people on who come to it, if it is not empty.
	onward string
	// bye is the address to which people are sent after a logout.
	clientID, redirectURI, bye string
	// secret is empty for a public one.
	secret, verifier string
}

// application makes a public one with more settings, in which HOST stands for its address.
func (w world) application(name string, more ...string) *application {
	w.TB.Helper()
	return w.register(name, append(more, `,"authMethodType":"OIDC_AUTH_METHOD_TYPE_NONE"`)...)
}

// register makes an application with settings.
func (w world) register(name string, settings ...string) *application {
	w.TB.Helper()
	a := &application{world: w, answers: make(chan url.Values, 10), ends: make(chan string, 10),
		verifier: secret.RandomString(50)}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/callback":
			_ = r.ParseForm()
			a.answers <- r.Form
		case "/ended":
			if a.away != nil && a.away() {
				out.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			a.ends <- r.PostFormValue("logout_token")
		}
		if a.onward != "" {
			http.Redirect(out, r, a.onward, http.StatusFound)
			return
		}
		fmt.Fprint(out, "<!DOCTYPE html><title>App</title><h1>Welcome</h1>")
	}))
	w.TB.Cleanup(server.Close)
	a.redirectURI, a.bye = server.URL+"/callback", server.URL+"/bye"
	project := w.Must("POST", "/management/v1/projects", `{"name":"`+name+`"}`)["id"].(string)
	made := w.Must("POST", "/management/v1/projects/"+project+"/apps/oidc", strings.ReplaceAll(`{"name":"`+name+
		`","redirectUris":["HOST/callback"],"postLogoutRedirectUris":["HOST/bye"]`+strings.Join(settings, "")+`}`,
		"HOST", server.URL))
	a.clientID = made["clientId"].(string)
	a.secret, _ = made["clientSecret"].(string)
	return a
}

// request returns the address to which the application sends a browser.
func (a *application) request(more ...string) string {
	query := url.Values{"client_id": {a.clientID}, "redirect_uri": {a.redirectURI}, "response_type": {"code"},
		"scope": {"openid"}, "state": {"s"}, "code_challenge_method": {"S256"},
		"code_challenge": {s256(a.verifier)}}
	for i := 0; i < len(more); i += 2 {
		if query.Set(more[i], more[i+1]); more[i+1] == "" {
			query.Del(more[i])
		}
	}
	return a.URL + "/oauth/v2/authorize?" + query.Encode()
}

// token redeems the code that the browser has brought, and returns the access token.
func (a *application) token() string { return a.redeem().text("access_token") }

// end returns the address to which the application sends a browser to log out.
func (a *application) end(values ...string) string {
	query := url.Values{"post_logout_redirect_uri": {a.bye}, "state": {"s t"}}
	for i := 0; i < len(values); i += 2 {
		if query.Set(values[i], values[i+1]); values[i+1] == "" {
			query.Del(values[i])
		}
	}
	return a.URL + "/oidc/v1/end_session?" + query.Encode()
}

func (a *application) redeem() answer {
	a.TB.Helper()
	select {
	case got := <-a.answers:
		if got.Get("state") != "s" || got.Get("iss") != a.URL {
			a.Fatalf("the application got %v", got)
		}
		return a.world.token("", "grant_type", "authorization_code", "code", got.Get("code"), "client_id", a.clientID,
			"redirect_uri", a.redirectURI, "code_verifier", a.verifier)
	default:
		a.Fatal("the application got nothing")
		return answer{}
	}
}

// chromium is a browser without scripts.
type chromium struct {
	testing.TB
	ctx context.Context
}

func open(t testing.TB) chromium {
	t.Helper()
	c := chromium{t, outside.OpenBrowser(t, "accept-lang=en")}
	if _, err := chromedp.Call(c.ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c chromium) do(a chromedp.Action[chromedp.Void]) {
	c.Helper()
	if err := chromedp.Do(c.ctx, a); err != nil {
		c.Fatal(err)
	}
}

func (c chromium) read(selector string) string {
	c.Helper()
	text, err := chromedp.Run(c.ctx, chromedp.Text(chromedp.CSS(selector)))
	if err != nil {
		c.Fatal(err)
	}
	return text
}

// visit opens an address and returns the heading of where it leads.
func (c chromium) visit(address string) string {
	c.Helper()
	c.open(address)
	return c.arrive()
}

func (c chromium) open(address string) {
	c.Helper()
	if _, err := chromedp.RunResponse(c.ctx, chromedp.Navigate(address)); err != nil {
		c.Fatal(err)
	}
}

// arrive waits until the browser is on no page that leads on by itself, and returns the heading.
func (c chromium) arrive() string {
	c.Helper()
	return c.read("body:not(:has(a[rel=noreferrer])) h1")
}

// submit fills in fields by their ids, presses the button and returns the heading of where that leads.
func (c chromium) submit(fields ...string) string {
	c.Helper()
	for i := 0; i < len(fields); i += 2 {
		c.do(chromedp.Clear(chromedp.ID(fields[i])))
		c.do(chromedp.SendKeys(chromedp.ID(fields[i]), fields[i+1]))
	}
	if _, err := chromedp.RunResponse(c.ctx, chromedp.Click(chromedp.CSS("button"))); err != nil {
		c.Fatal(err)
	}
	return c.arrive()
}

// pictures reports whether pictures of pages are wanted.
func pictures() bool {
	kept := flag.Lookup("test.artifacts")
	return kept != nil && kept.Value.String() == "true"
}

// picture keeps a screenshot: go test -artifacts -outputdir DIR.
func (c chromium) picture(t *testing.T, name string) {
	c.Helper()
	if !pictures() {
		return
	}
	data, err := chromedp.Run(c.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name+".png"), data, 0o644); err != nil {
		c.Fatal(err)
	}
}

func person(name, more string) string {
	return `{"userId":"` + name + `","userName":"` + name + `","profile":{"firstName":"Ada","lastName":"Lovelace"},` +
		`"email":{"email":"` + name + `@example.com","isEmailVerified":true},"password":"correct horse"` + more + `}`
}

// A person with an authenticator app logs in to somebody else's application, once for all of them, and logs out.
func TestPersonLogsIn(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", `,"otpCode":"`+otpSecret+`"`))
	shop, c := w.application("Shop"), open(t)
	got := c.visit(shop.request("login_hint", "ada"))
	if got != "Sign in" || !strings.Contains(c.read(".whose"), "Shop") {
		t.Fatalf("the application leads to %q", got)
	}
	c.picture(t, "name")
	if got := c.submit("current", "wrong horse"); got != "Sign in" || !strings.Contains(c.read(".fault"), "wrong") {
		t.Errorf("a wrong password leads to %q", got)
	}
	if got := c.submit("name", "ADA@example.com", "current", "correct horse"); got != "One more step" {
		t.Fatalf("the password leads to %q", got)
	}
	c.picture(t, "factor")
	if got := c.submit("code", "000000"); got != "One more step" || !strings.Contains(c.read(".fault"), "wrong") {
		t.Errorf("a wrong code leads to %q", got)
	}
	if got := c.submit("code", shown(t, 0)); got != "Welcome" {
		t.Fatalf("the code leads to %q", got)
	}
	token := shop.token()
	if status, id := w.me(token); status != http.StatusOK || id != "ada" {
		t.Errorf("the application's token is %q's: %d", id, status)
	}
	bank := w.application("Bank")
	if got := c.visit(bank.request()); got != "Welcome" {
		t.Errorf("a second application leads to %q", got)
	}
	second := bank.token()
	if got := c.visit(bank.request("prompt", "select_account")); got != "Is this the right account?" ||
		!strings.Contains(c.read(".whose"), "ada") {
		t.Errorf("the choice of an account is %q", got)
	}
	c.picture(t, "choose")
	if got := c.submit(); got != "Welcome" || bank.token() == "" {
		t.Errorf("the account leads to %q", got)
	}
	if got := c.visit(bank.request("prompt", "login")); got != "Sign in" {
		t.Errorf("prompt=login leads to %q", got)
	}
	if got := c.visit(w.URL + "/ui/login/"); got != "You are signed in" {
		t.Fatalf("without an application: %q", got)
	}
	c.picture(t, "session")
	if got := c.submit(); got != "You are signed out" {
		t.Errorf("the logout leads to %q", got)
	}
	for name, token := range map[string]string{"first": token, "second": second} {
		if status, _ := w.me(token); status != http.StatusUnauthorized {
			t.Errorf("after the logout the %s token gets %d", name, status)
		}
	}
	if got := c.visit(bank.request()); got != "Sign in" {
		t.Errorf("after the logout the application leads to %q", got)
	}
}

// An application may act as the person in Herald only if the person agrees each time, also if the person is logged in
// already. The reason is that any organization can make such an application.
func TestPersonAgrees(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	w.Must("POST", "/management/v1/orgs/me/members", `{"userId":"ada","roles":["ORG_OWNER_VIEWER"]}`)
	shop, c := w.application("Shop"), open(t)
	asks := shop.request("scope", apiScope)
	if got := c.visit(asks); got != "Sign in" {
		t.Fatalf("the application leads to %q", got)
	}
	if got := c.submit("name", "ada", "current", "correct horse"); got != "Let this application act for you?" ||
		!strings.Contains(c.read(".whose"), "Shop") {
		t.Fatalf("the login leads to %q", got)
	}
	c.picture(t, "consent")
	if got := c.submit(); got != "Welcome" {
		t.Fatalf("agreeing leads to %q", got)
	}
	if a := w.get("/management/v1/users/ada", shop.token()); a.Status != http.StatusOK {
		t.Errorf("a token with the scope gets %d", a.Status)
	}
	if got := c.visit(asks); got != "Let this application act for you?" {
		t.Errorf("the second time the application leads to %q", got)
	}
	if _, err := chromedp.RunResponse(c.ctx, chromedp.Click(chromedp.CSS("button.quiet"))); err != nil {
		t.Fatal(err)
	}
	if got := <-shop.answers; got.Get("error") != "access_denied" || got.Get("state") != "s" {
		t.Errorf("after a refusal the application got %v", got)
	}
	c.visit(shop.request("scope", apiScope, "prompt", "none"))
	if got := <-shop.answers; got.Get("error") != "consent_required" {
		t.Errorf("silently the application got %v", got)
	}
	if got := c.visit(shop.request()); got != "Welcome" {
		t.Errorf("without the scope the application leads to %q", got)
	}
	if a := w.get("/management/v1/users/ada", shop.token()); a.Status != http.StatusForbidden {
		t.Errorf("a token without the scope gets %d", a.Status)
	}
}

// A change that ends a person's logins also ends the logins in browsers. A person who must change the password has to
// do so at the next login.
func TestLoginsEnd(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", person("bob", `,"passwordChangeRequired":true`))
	shop, c := w.application("Shop"), open(t)
	login := func(fields ...string) {
		t.Helper()
		if got := c.visit(shop.request()); got != "Sign in" {
			t.Fatalf("nobody has logged in, and the application leads to %q", got)
		}
		c.submit(fields...)
	}
	login("name", "bob", "current", "correct horse")
	c.picture(t, "next")
	if got := c.submit("password", "short", "confirmation", "short"); got != "Replace your password" {
		t.Errorf("a short password leads to %q", got)
	}
	if got := c.submit("password", "another horse", "confirmation", "another horse"); got != "Welcome" {
		t.Fatalf("the new password leads to %q", got)
	}
	for path, body := range map[string]string{
		"/_deactivate": "{}", "/_lock": "{}", "/password": `{"password":"another horse"}`,
	} {
		token := shop.token()
		w.Must("POST", "/management/v1/users/bob"+path, body)
		if status, _ := w.me(token); status != http.StatusUnauthorized {
			t.Errorf("after %s the token gets %d", path, status)
		}
		if back := map[string]string{"/_deactivate": "/_reactivate", "/_lock": "/_unlock"}[path]; back != "" {
			login("name", "bob", "current", "another horse")
			if got := c.read("h1"); got != "This account is not active" {
				t.Errorf("after %s: %q", path, got)
			}
			w.Must("POST", "/management/v1/users/bob"+back, "{}")
		}
		login("name", "bob", "current", "another horse")
	}
}

// An application logs a person out by its id token. Without an id token the person is asked first. After the logout the
// browser is never sent to an address that is not registered.
func TestApplicationsLogPeopleOut(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", person("eve", ""))
	shop, bank, c := w.application("Shop"), w.application("Bank"), open(t)
	login := func() answer {
		t.Helper()
		c.visit(shop.request())
		if got := c.submit("name", "eve", "current", "correct horse"); got != "Welcome" {
			t.Fatalf("the login leads to %q", got)
		}
		return shop.redeem()
	}
	ended := func(tokens answer, want bool) {
		t.Helper()
		status, _ := w.me(tokens.text("access_token"))
		if (status == http.StatusUnauthorized) != want {
			t.Errorf("the token gets %d", status)
		}
	}
	tokens := login()
	hint := tokens.text("id_token")
	for name, address := range map[string]string{
		"an address of nobody":     shop.end(),
		"an unknown client":        shop.end("client_id", "nobody"),
		"another client's address": shop.end("client_id", bank.clientID),
		"another client's token":   shop.end("client_id", bank.clientID, "id_token_hint", hint),
		"an unregistered address":  shop.end("client_id", shop.clientID, "post_logout_redirect_uri", shop.bye+"/"),
		"an access token":          shop.end("id_token_hint", tokens.text("access_token")),
		"a token that is not ours": shop.end("id_token_hint", hint[:len(hint)-8]+"AAAAAAAA"),
		"NUL in the client id":     shop.end("client_id", "a\x00"),
		"two client ids":           shop.end("client_id", shop.clientID) + "&client_id=" + shop.clientID,
		"two hints":                shop.end("client_id", shop.clientID) + "&logout_hint=eve&logout_hint=bob",
	} {
		if got := c.visit(address); got != "This application cannot sign you out" {
			t.Errorf("%s leads to %q", name, got)
		}
		ended(tokens, false)
	}
	if got := c.visit(shop.end("client_id", shop.clientID, "logout_hint", "eve")); got != "Do you want to sign out?" {
		t.Errorf("without a token: %q", got)
	}
	c.picture(t, "endsession")
	ended(tokens, false)
	if got := c.submit(); got != "Welcome" || c.address() != shop.bye+"?state=s+t" {
		t.Errorf("the logout leads to %q", c.address())
	}
	ended(tokens, true)
	tokens = login()
	if c.visit(shop.end("id_token_hint", tokens.text("id_token"))); c.address() != shop.bye+"?state=s+t" {
		t.Errorf("the id token leads to %q", c.address())
	}
	ended(tokens, true)
	if c.visit(shop.end("id_token_hint", hint)); c.address() != shop.bye+"?state=s+t" {
		t.Errorf("after the logout the id token leads to %q", c.address())
	}
	if got := c.visit(w.URL + "/oidc/v1/end_session"); got != "You are signed out" {
		t.Errorf("without a client: %q", got)
	}
}

// address returns where the browser is.
func (c chromium) address() string {
	c.Helper()
	at, err := chromedp.Run(c.ctx, chromedp.Location())
	if err != nil {
		c.Fatal(err)
	}
	return at
}
