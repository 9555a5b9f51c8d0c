package oauth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
)

// Applications send people on to other origins, such as from the address of a service to that of a tenant. Chromium
// checks the policy of a page with a form against all redirects after the form, so the form must not end in one.
func TestApplicationsSendPeopleOn(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ada()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		_, _ = out.Write([]byte(`<!DOCTYPE html><title>Shop</title><h1 id="elsewhere">Elsewhere</h1>`))
	}))
	t.Cleanup(elsewhere.Close)
	for _, mode := range []string{"query", "form_post"} {
		t.Run(mode, func(t *testing.T) {
			p, c := w.party(t.Name(), mode), open(t)
			p.onward = elsewhere.URL
			arrives := func(step string) {
				t.Helper()
				if err := chromedp.Do(c.ctx, chromedp.WaitVisible(chromedp.ID("elsewhere"))); err != nil {
					at, _ := chromedp.Run(c.ctx, chromedp.Location())
					t.Fatalf("%s: the browser is at %s: %v", step, at, err)
				}
			}
			c.leads("the application", c.visit(p.asks()), "Sign in")
			c.submit("name", "ada", "current", "correct horse")
			if mode == "form_post" {
				c.submit()
			}
			arrives("the login")
			c.visit(p.asks("prompt", "consent"))
			c.submit()
			if mode == "form_post" {
				c.submit()
			}
			arrives("the consent")
			c.leads("the logout", c.visit(p.end("client_id", p.clientID)), "Do you want to sign out?")
			c.submit()
			arrives("the logout")
		})
	}
}
