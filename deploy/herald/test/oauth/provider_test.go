package oauth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// independent starts a system whose organization logs people in with an independent OpenID provider, oidc-provider,
// where clients authenticate by a method.
func independent(t testing.TB, method, settings string) company {
	t.Helper()
	folder, origin := t.TempDir(), nodeOrigin(t)
	w := start(t, "HERALD_DIRECTORY_AUTHORITY="+origin, "HERALD_OUTBOUND_PRIVATE=true")
	whole.NodeProvider(t, folder)
	w.runNode(folder, "provider/directory.mjs", map[string]any{
		"Origin": origin, "Tenant": outside.Company, "ClientID": outside.ClientID, "Secret": outside.ClientSecret,
		"RedirectURI": w.URL + "/ui/login/externalidp/callback", "Method": method, "Account": "ada's sub",
		"Claims": outside.Claims{"tid": outside.Company, "oid": outside.Ada, "name": "Ada Lovelace",
			"given_name": "Ada", "family_name": "Lovelace", "preferred_username": "ada@company.example",
			"email": "ada@company.example", "locale": "de"},
	})
	idp := w.provider(`{"name":"Company","clientId":"` + outside.ClientID + `","clientSecret":"` +
		outside.ClientSecret + `","tenant":{"tenantId":"` + outside.Company + `"}` + settings + `}`)
	return company{world: w, idp: idp}
}

// The buttons of the login page and of the provider's page.
const (
	offer  = `form[action="/ui/login/externalidp"] button`
	agree  = `button[value="yes"]`
	refuse = `#no button`
	// atApplication is on the page of an application only: the provider's page has more than a heading.
	atApplication = `body > h1:only-child`
)

// clickTo presses a button that leads to where there is an element, possibly by a page that goes on by itself.
func (c chromium) clickTo(selector, arrived string) {
	c.Helper()
	c.do(chromedp.Click(chromedp.CSS(selector)))
	for {
		err := chromedp.Do(c.ctx, chromedp.WaitVisible(chromedp.CSS(arrived)))
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "-32000") { // the page went on while the browser looked at it
			c.Fatal(err)
		}
	}
}

// An employee logs in in a browser with an account of an independent OpenID provider. At first somebody refuses at its
// page, then agrees to get a user, whose names are those of its userinfo. The next application asks nothing, and one
// that wants a new login gets one that is made at the provider.
func TestIndependentProvider(t *testing.T) {
	t.Parallel()
	const create = `input[name="confirmed"] ~ button`
	c := independent(t, "client_secret_basic", `,"emailVerified":true,"providerOptions":{"isCreationAllowed":true}`)
	shop, b := c.application("Shop"), open(t)
	arrives := func(heading string) {
		t.Helper()
		if got := b.read("h1"); got != heading {
			t.Fatalf("%q instead of %q: %s", got, heading, b.read("body"))
		}
	}
	b.visit(shop.request())
	b.clickTo(offer, refuse)
	b.clickTo(refuse, "main a")
	arrives("You were not signed in there")
	b.visit(shop.request("scope", apiScope))
	b.clickTo(offer, agree)
	b.clickTo(agree, create)
	arrives("You are new here")
	// The browser is logged in at the provider, which sends it back at once.
	b.clickTo(create, `form[action="/ui/login/consent"] button`)
	arrives("Let this application act for you?")
	b.submit()
	arrives("Welcome")
	status, id := c.me(shop.token())
	user := fmt.Sprint(c.Must("GET", "/management/v1/users/"+id, ""))
	for _, want := range []string{"USER_STATE_ACTIVE", "userName:ada@company.example", "firstName:Ada",
		"lastName:Lovelace", "preferredLanguage:de", "email:ada@company.example", "isEmailVerified:true"} {
		if status != http.StatusOK || !strings.Contains(user, want) {
			t.Errorf("%d, %q is %s, without %s", status, id, user, want)
		}
	}
	if got := b.visit(c.application("Bank").request()); got != "Welcome" {
		t.Errorf("the next application leads to %q", got)
	}
	b.visit(c.application("Safe").request("prompt", "login"))
	b.clickTo(offer, agree)
	b.clickTo(agree, atApplication)
	arrives("Welcome")
}

// A linked employee logs in where clients authenticate only by parameters. The application learns how the provider says
// that it has authenticated the person.
func TestIndependentProviderOfLinkedEmployees(t *testing.T) {
	t.Parallel()
	c := independent(t, "client_secret_post", "")
	c.linked("ada", outside.Ada, "")
	p, b := c.party("Shop", ""), open(t)
	b.visit(p.asks())
	b.clickTo(offer, agree)
	b.clickTo(agree, atApplication)
	if got := b.read("h1"); got != "Welcome" {
		t.Fatalf("the login leads to %q: %s", got, b.read("body"))
	}
	if amr := fmt.Sprint(p.checked(p.good(<-p.answers))["amr"]); amr != "[pwd mfa]" {
		t.Errorf("the person was authenticated by %s", amr)
	}
}
