package oauth_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"herald/shared/testkit/outside"
)

// inBrowser are modules that are run in a real browser too, because its rules for forms, cookies and redirects count.
var inBrowser = map[string]func(p *party, c chromium){
	"oidcc-formpost-basic-certification-test-plan/oidcc-server": func(p *party, c chromium) {
		c.expect(c.visit(p.asks("response_mode", "form_post")), "Sign in")
		c.expect(c.submit("name", "ada", "current", "correct horse"), "Back to the application")
		c.expect(c.submit(), "Welcome")
		p.info(p.good(<-p.answers))
		scripted := chromium{p.TB, outside.OpenBrowser(p.TB, chromedp.Flag("accept-lang", "en"))}
		scripted.expect(scripted.visit(p.asks("response_mode", "form_post")), "Sign in")
		scripted.submit("name", "ada", "current", "correct horse")
		select { // the page submits its form by itself
		case got := <-p.answers:
			p.info(p.good(got))
		case <-time.After(20 * time.Second):
			p.Error("the form waits for the person although the browser has scripts")
		}
	},
	"oidcc-basic-certification-test-plan/oidcc-max-age-1": func(p *party, c chromium) {
		login := func(more ...string) map[string]any {
			p.TB.Helper()
			c.expect(c.visit(p.asks(more...)), "Sign in")
			c.expect(c.submit("name", "ada", "current", "correct horse"), "Welcome")
			return p.checked(p.good(<-p.answers))
		}
		first := login()
		<-time.After(2 * time.Second) // as in newer
		second := login("max_age", "1")
		if first["auth_time"].(float64)+2 > second["auth_time"].(float64) || first["sid"] != second["sid"] {
			p.Errorf("%v, then %v", first, second)
		}
	},
	"oidcc-backchannel-rp-initiated-logout-certification-test-plan/oidcc-backchannel-rp-initiated-logout": func(
		p *party, c chromium,
	) {
		c.expect(c.visit(p.asks()), "Sign in")
		c.expect(c.submit("name", "ada", "current", "correct horse"), "Welcome")
		a := p.good(<-p.answers)
		c.expect(c.visit(p.end("id_token_hint", a.text("id_token"))), "Welcome")
		if told := p.ended(); c.address() != p.bye+"?state=s+t" || told.SessionID != p.sessionOf(a) {
			p.Errorf("the person is at %s; %+v", c.address(), told)
		}
		c.visit(p.asks("prompt", "none"))
		if got := <-p.answers; got.Get("error") != "login_required" {
			p.Errorf("%v", got)
		}
	},
}

func (c chromium) expect(got, want string) {
	c.Helper()
	if got != want {
		c.Fatalf("the browser is at %q, want %q", got, want)
	}
}

func TestOpenIDModulesInABrowser(t *testing.T) {
	t.Parallel()
	w := start(t, nearby)
	w.ada()
	for name, module := range inBrowser {
		t.Run(name, func(t *testing.T) { module(world{w.Instance, t}.party(t.Name(), "", hears), open(t)) })
	}
}
