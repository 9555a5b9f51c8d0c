package oauth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// keyboard is a browser without scripts, whose reader has no mouse.
type keyboard struct{ chromium }

// mostTabs is how often a reader presses Tab to reach something on a page.
const mostTabs = 40

// focus is where the focus is on a page.
type focus struct {
	There, Nowhere, Shown bool
	Outline               string
}

// at reports whether the element with the focus is one of a selector. It fails the test unless the reader sees where
// the focus is.
func (k keyboard) at(selector string) bool {
	k.Helper()
	at, err := chromedp.Run(k.ctx, chromedp.Evaluate[focus](fmt.Sprintf(`(() => {
		const e = document.activeElement, s = getComputedStyle(e), box = e.getBoundingClientRect();
		return {There: e.matches(%q), Nowhere: e === document.body || e === document.documentElement,
			Outline: s.outlineStyle + " " + s.outlineWidth,
			Shown: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight};
	})()`, selector)))
	if err != nil {
		k.Fatal(err)
	}
	if !at.Nowhere && (at.Outline != "solid 3px" || !at.Shown) {
		k.Errorf("%q, on the way to %s: nobody sees where the focus is: %+v", k.read("h1"), selector, at)
	}
	return at.There
}

// starts fails the test unless a page has the heading, and the focus is on what the reader does first.
func (k keyboard) starts(heading, selector string) {
	k.Helper()
	if got := k.read("h1"); got != heading {
		k.Fatalf("the page is %q, not %q: %s", got, heading, k.read("body"))
	}
	if !k.at(selector) {
		k.Errorf("%q: the focus is not on %s", heading, selector)
	}
}

// press presses keys.
func (k keyboard) press(keys string) {
	k.Helper()
	k.do(chromedp.KeyEvent(keys))
}

// tabTo presses Tab until the focus is on an element.
func (k keyboard) tabTo(selector string) {
	k.Helper()
	for range mostTabs {
		if k.at(selector) {
			return
		}
		k.press("\t")
	}
	k.Fatalf("%q: Tab does not lead to %s", k.read("h1"), selector)
}

// goes presses keys of which the last leads to another page.
func (k keyboard) goes(keys string) {
	k.Helper()
	last := len(keys) - 1
	if last > 0 {
		k.press(keys[:last])
	}
	if _, err := chromedp.RunResponse(k.ctx, chromedp.KeyEvent(keys[last:])); err != nil {
		k.Fatal(err)
	}
	k.arrive()
}

// Somebody without a mouse logs in, agrees, picks a language, enrols an authenticator app, logs out, and logs in with
// a code of the app. The focus is always seen, and begins at the first field or at the one that is wrong.
func TestKeyboardIsEnough(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	shop, k := w.application("Shop"), keyboard{open(t)}
	agrees := func(heading string) {
		t.Helper()
		if got := k.read("h1"); got != heading {
			t.Fatalf("the login leads to %q: %s", got, k.read("body"))
		}
		k.tabTo(`button[value="allow"]`)
		k.goes(" ")
		if status, id := w.me(shop.token()); status != 200 || id != "ada" {
			t.Errorf("the application got a token of %q: %d", id, status)
		}
	}
	k.visit(shop.request("scope", apiScope))
	k.starts("Sign in", "#name")
	k.goes("ada\twrong horse\r")
	k.starts("Sign in", "#current[aria-invalid=true]")
	k.goes("correct horse\r")
	agrees("Let this application act for you?")

	k.visit(w.URL + "/ui/account")
	k.tabTo(".languages summary")
	k.press("\r")
	k.tabTo(`.languages a[lang="de"]`)
	k.goes("\r")
	k.tabTo(`a[href^="/ui/account/otp"]`)
	k.goes("\r")
	k.tabTo("a.button")
	k.goes("\r")
	k.tabTo("button")
	k.goes(" ")
	k.starts("Diesen Code scannen", "#code")
	k.goes("000000\r")
	k.starts("Diesen Code scannen", "#code[aria-invalid=true]")
	for range mostTabs { // the key is above the field
		if k.at(".key summary") {
			break
		}
		k.do(chromedp.KeyEvent("\t", chromedp.KeyModifiers(chromedp.ModifierShift)))
	}
	k.press("\r")
	secret := strings.ReplaceAll(k.read(".key code"), " ", "")
	k.tabTo("#code")
	k.goes(shownBy(t, secret, 0) + "\r")
	k.tabTo("button")
	k.goes(" ")
	if got := k.read("h1"); got != "Authenticator-App" {
		t.Fatalf("the app leads to %q", got)
	}

	k.visit(w.URL + "/ui/account")
	k.tabTo(`form[action="/ui/login/logout"] button`)
	k.goes("\r")
	if got := k.read("h1"); got != "Sie sind abgemeldet" { // the language is kept
		t.Fatalf("the logout leads to %q", got)
	}
	k.visit(shop.request("scope", apiScope))
	k.starts("Anmelden", "#name")
	k.goes("ada\tcorrect horse\r")
	k.starts("Noch ein Schritt", "#code")
	k.goes("000000\r")
	k.starts("Noch ein Schritt", "#code[aria-invalid=true]")
	k.goes(shownBy(t, secret, 30*time.Second) + "\r")
	agrees("Soll diese Anwendung für Sie handeln?")
}
