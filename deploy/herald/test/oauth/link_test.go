package oauth_test

import (
	"fmt"
	"strings"
	"testing"

	"herald/shared/testkit/outside"
)

// addLink is the link to the page on which an account is linked, toLogIn the field of the login page.
const (
	addLink = `main a[href^="/ui/account/idplinks/add"]`
	toLogIn = `#current`
)

// A user with a password logs in at the directory, and then links that account after a login at Herald. The application
// gets the user at once. Later logins with the account of the directory lead to the same user.
func TestEmployeeLinksAccount(t *testing.T) {
	t.Parallel()
	c := newCompany(t, `,"emailVerified":true,"providerOptions":{"isLinkingAllowed":true}`)
	c.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	c.at.LogIn(outside.Claims{"email": "ada@example.com"}) // the address alone links nothing
	shop, v := c.application("Shop"), c.visitor()
	p := c.arrive(v, v.visit(shop.request("scope", apiScope)))
	v.named(p, "Nobody here has this account")
	p = v.enter(v.visit(c.URL+p.root.Find("main").Find("a").Attr("href")), "ada")
	v.named(p, "Link an account")
	forward := v.press(p, "Link an account")
	v.named(forward, "You sign in elsewhere")
	to := forward.root.Find("main").Find("a").Attr("href")
	thief := c.visitor()
	thief.named(thief.visit(to), "This sign-in has expired") // another browser has begun the link
	p = v.visit(to)
	v.named(p, "Let this application act for you?")
	if begun := c.at.Begun(); begun.Get("prompt") != "login" {
		t.Errorf("the directory was asked with %v", begun)
	}
	v.named(v.submit(p), "Welcome")
	if _, id := c.me(shop.token()); id != "ada" {
		t.Errorf("%q is logged in", id)
	}
	other := c.visitor()
	other.named(c.arrive(other, other.visit(shop.request())), "Welcome")
	links := fmt.Sprint(c.Must("POST", "/management/v1/users/ada/idps/_search", "{}"))
	changes := fmt.Sprint(c.Must("POST", "/management/v1/users/ada/changes/_search", "{}"))
	if !strings.Contains(links, "externalUserId:"+outside.Ada) || !strings.Contains(changes, "idp_link.added") {
		t.Errorf("links %s, changes %s", links, changes)
	}
	// Somebody else cannot have the account too.
	c.Must("POST", "/management/v1/users/human/_import", person("eve", ""))
	p = thief.enter(thief.visit(c.URL+"/ui/account/idplinks/add?id="+c.idp), "eve")
	forward = thief.press(p, "Link an account")
	thief.named(thief.visit(forward.root.Find("main").Find("a").Attr("href")),
		"This account is already linked")
}

// In a browser a user links an account from the login page, and sees it in the list of their linked accounts. No page
// on the way has a barrier.
func TestLinkingHasNoBarriers(t *testing.T) {
	t.Parallel()
	for language, page := range map[string]struct{ options, name string }{
		"en": {`{"isLinkingAllowed":true}`, "externalunlinked"},
		"de": {`{"isLinkingAllowed":true,"isCreationAllowed":true}`, "externalnew"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t, `,"providerOptions":`+page.options)
			r := c.reader(t, language)
			r.shop = c.application("Shop")
			r.Must("POST", "/management/v1/users/human/_import", r.person("ada", ""))
			r.chromium.visit(r.shop.request())
			r.clickTo(offer, addLink)
			r.on(page.name)
			r.clickTo(addLink, toLogIn)
			r.sends("idplinkadd", "name", "ada", "current", "correct horse")
			r.clickTo("main form button", "body > h1") // that of the application
			r.opens("/ui/account/idplinks", "idplinks")
			if rows := r.read(".rows"); !strings.Contains(rows, "ada@company.example") {
				t.Errorf("the page shows %q", rows)
			}
		})
	}
}
