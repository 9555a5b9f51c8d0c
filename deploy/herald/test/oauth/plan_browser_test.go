package oauth_test

import (
	"testing"
	"time"

	"herald/shared/testkit/outside"
)

// An answer with the response mode form_post goes on by itself in a browser with scripts, and by a button in one
// without.
func TestFormPostInABrowser(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ada()
	p, c := w.party(t.Name(), "form_post"), open(t)
	c.leads("the application", c.visit(p.asks()), "Sign in")
	c.leads("the login", c.submit("name", "ada", "current", "correct horse"), "Back to the application")
	c.leads("the button", c.submit(), "Welcome")
	p.info(p.good(<-p.answers))
	scripted := chromium{t, outside.OpenBrowser(t, "accept-lang=en")}
	scripted.leads("the application", scripted.visit(p.asks()), "Sign in")
	scripted.submit("name", "ada", "current", "correct horse")
	select {
	case got := <-p.answers:
		p.info(p.good(got))
	case <-time.After(20 * time.Second):
		t.Error("the form waits for the person although the browser has scripts")
	}
}
