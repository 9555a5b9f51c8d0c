package oauth_test

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// company is a system whose organization logs people in with a directory.
type company struct {
	world
	at *outside.Directory
	// idp is the provider.
	idp string
}

func newCompany(t testing.TB, settings string, more ...string) company {
	t.Helper()
	d := outside.StartDirectory(t)
	w := start(t, append(more, "HERALD_DIRECTORY_AUTHORITY="+d.URL, "HERALD_OUTBOUND_PRIVATE=true")...)
	idp := w.provider(`{"name":"Company","clientId":"` + outside.ClientID +
		`","clientSecret":"` + outside.ClientSecret + `"` + settings + `}`)
	return company{w, d, idp}
}

// provider creates a provider and offers it. It returns its id.
func (w world) provider(settings string) string {
	w.TB.Helper()
	id := w.Must("POST", "/management/v1/idps/directory", settings)["id"].(string)
	w.Must("POST", "/management/v1/idps/"+id+"/_reactivate", "")
	return id
}

// linked imports a person with an account of the company.
func (c company) linked(name, object, more string) {
	c.TB.Helper()
	c.Must("POST", "/management/v1/users/human/_import", person(name, `,"idps":[{"configId":"`+c.idp+
		`","externalUserId":"`+object+`","tenantId":"`+outside.Company+`","displayName":"`+name+`"}]`+more))
}

// arrive logs in at the directory from the login page, and returns where that leads.
func (c company) arrive(v *visitor, p page) page {
	c.TB.Helper()
	v.named(p, "Sign in")
	forward := v.press(p, "Company")
	v.named(forward, "You sign in elsewhere")
	return v.visit(forward.root.Find("main").Find("a").Attr("href"))
}

// history returns the reasons for which logins were refused. One is told at once, and then not in the next minute.
func (c company) history() (reasons []string) {
	c.TB.Helper()
	list := c.Must("POST", "/management/v1/idps/"+c.idp+"/changes/_search", `{}`)["result"].([]any)
	for _, entry := range list {
		change := entry.(map[string]any)
		if data, _ := change["data"].(map[string]any); change["eventType"] == "idp.login_refused" {
			reasons = append(reasons, data["reason"].(string))
		}
	}
	return reasons
}

// An employee logs in to somebody's application with the account of the company's directory. The session ends with the
// provider, and so do the tokens.
func TestEmployeeLogsIn(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "")
	c.linked("ada", outside.Ada, "")
	shop, v := c.application("Shop"), c.visitor()
	v.named(c.arrive(v, v.visit(shop.request("scope", apiScope))), "Let this application act for you?")
	tokens := func(a *application, p page) string {
		v.named(v.submit(p), "Welcome")
		return a.token()
	}
	first := tokens(shop, v.visit(shop.request("scope", apiScope)))
	if status, id := c.me(first); status != http.StatusOK || id != "ada" {
		t.Fatalf("%d, %q", status, id)
	}
	// The next application asks nothing, and one that wants a new login sends the person to the directory again.
	v.named(v.visit(c.application("Bank").request()), "Welcome")
	v.named(c.arrive(v, v.visit(c.application("Safe").request("prompt", "login"))), "Welcome")
	if begun := c.at.Begun(); begun.Get("prompt") != "login" || begun.Get("max_age") != "0" {
		t.Errorf("the directory was asked with %v", begun)
	}
}

// A login is refused if no user is linked to the account, if the account is of another tenant, or if the provider is
// not active any more. The administrators see the reason. An e-mail address alone is not enough for a login.
func TestStrangersOfTheDirectory(t *testing.T) {
	t.Parallel()
	ops := whole.FreeAddress(t)
	c := newCompany(t, `,"emailVerified":true`, "HERALD_OPS_LISTEN="+ops)
	c.linked("ada", outside.Ada, "")
	shop, refused := c.application("Shop"), map[string]int{}
	for _, a := range []struct {
		claims          outside.Claims
		heading, reason string
	}{
		{outside.Claims{"tid": outside.OtherCompany}, "Nobody here has this account", "IDP_LINK_OTHER_TENANT"},
		{outside.Claims{"tid": outside.Personal}, "Nobody here has this account", "IDP_LINK_OTHER_TENANT"},
		{outside.Claims{"oid": outside.OtherCompany, "email": "ada@example.com", "preferred_username": "ada"},
			"Nobody here has this account", "IDP_LINK_NOT_FOUND"},
		{outside.Claims{"iss": "https://evil.example/" + outside.Company + "/v2.0"},
			"This account cannot be used here", "IDP_TENANT_REFUSED"},
		{outside.Claims{"nonce": "another"}, "We could not sign you in", "IDP_TOKEN_INVALID"},
		{outside.Claims{"aud": "another"}, "We could not sign you in", "IDP_TOKEN_INVALID"},
	} {
		c.at.Honest()
		c.at.Change(outside.IDToken, func(claims outside.Claims) { maps.Copy(claims, a.claims) })
		if tid, there := a.claims["tid"]; there {
			c.at.LogIn(outside.Claims{"tid": tid})
		}
		v := c.visitor()
		v.named(c.arrive(v, v.visit(shop.request())), a.heading)
		refused[a.reason]++
		if got := counted(t, ops, "herald_external_logins_total")[a.reason]; got != strconv.Itoa(refused[a.reason]) {
			t.Errorf("%v: counted %q", a.claims, got)
		}
	}
	if got := c.history(); len(got) == 0 || got[len(got)-1] != "IDP_LINK_OTHER_TENANT" {
		t.Errorf("the history has %v", got)
	}
	c.at.Honest()
	v := c.visitor()
	offered := v.visit(shop.request())
	c.Must("POST", "/management/v1/idps/"+c.idp+"/_deactivate", "{}")
	v.named(v.press(offered, "Company"), "This way to sign in is switched off")
}

// A new employee agrees to get a user, which is active at once. The next login updates the names. An account with the
// address of an existing user belongs to another person.
func TestNewEmployee(t *testing.T) {
	t.Parallel()
	c := newCompany(t, `,"emailVerified":true,"providerOptions":{"isCreationAllowed":true,"isAutoUpdate":true}`)
	c.Must("POST", "/management/v1/users/human/_import", person("eve", ""))
	c.at.LogIn(outside.Claims{"email": "eve@example.com"})
	shop, v := c.application("Shop"), c.visitor()
	asked := c.arrive(v, v.visit(shop.request("scope", apiScope)))
	v.named(asked, "You are new here")
	forward := v.press(asked, "Create my account")
	agreed := v.visit(forward.root.Find("main").Find("a").Attr("href"))
	v.named(agreed, "Let this application act for you?")
	v.named(v.submit(agreed), "Welcome")
	_, id := c.me(shop.token())
	user := func() string { return fmt.Sprint(c.Must("GET", "/management/v1/users/"+id, "")) }
	if got := user(); id == "eve" || !strings.Contains(got, "USER_STATE_ACTIVE") ||
		!strings.Contains(got, "isEmailVerified:true") || !strings.Contains(got, "userName:ada@company.example") {
		t.Errorf("%q is %s", id, got)
	}
	c.at.LogIn(outside.Claims{"family_name": "Byron"})
	other := c.visitor()
	other.named(c.arrive(other, other.visit(shop.request())), "Welcome")
	if got := user(); !strings.Contains(got, "lastName:Byron") {
		t.Errorf("after the next login: %s", got)
	}
	c.at.LogIn(outside.Claims{"oid": outside.OtherCompany, "preferred_username": "eve"})
	third := c.visitor()
	p := c.arrive(third, third.visit(shop.request()))
	third.named(third.visit(third.press(p, "Create my account").root.Find("main").Find("a").Attr("href")),
		"Your account cannot be created")
}
