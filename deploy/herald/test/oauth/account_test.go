package oauth_test

import (
	"net/http"
	"net/url"
	"testing"
)

// goTo opens a page of the own account by its link on the first page.
func (c chromium) goTo(w world, page string) string {
	c.Helper()
	c.visit(w.URL + "/ui/account")
	return c.click(`.links a[href^="/ui/account/` + page + `"]`)
}

// leads fails the test unless the page after a step has that heading.
func (c chromium) leads(step, got, want string) {
	c.Helper()
	if got != want {
		c.Fatalf("%s leads to %q, not %q: %s", step, got, want, c.read("body"))
	}
}

// People change their own account in a browser without scripts: names, password, e-mail address and tokens.
func TestOwnAccount(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	here, there := open(t), open(t)
	for _, c := range []chromium{here, there} {
		c.leads("the account", c.visit(w.URL+"/ui/account/profile"), "Sign in")
		c.leads("the login", c.submit("name", "ada", "current", "correct horse"), "Your profile")
	}
	here.leads("the form", here.submit("firstName", "Augusta", "nickName", `<b>"Countess"</b>`), "Your profile")
	if got := here.read("p[role=status]"); got != "Your change has been made." {
		t.Errorf("the page says %q", got)
	}
	here.picture(t, "profile")

	here.leads("the link", here.goTo(w, "sessions"), "Where you are signed in")
	if got := here.read(".rows li:nth-child(2) strong"); got != "Chrome, Linux" {
		t.Errorf("the other browser is %q", got)
	}
	here.picture(t, "sessions")
	here.leads("the link", here.goTo(w, "password"), "Change your password")
	here.leads("a wrong password", here.submit("current", "wrong horse", "password", "another horse", "confirmation",
		"another horse"), "Change your password")
	here.leads("the form", here.submit("current", "correct horse", "password", "another horse", "confirmation",
		"another horse"), "Your account")
	there.leads("the account", there.visit(w.URL+"/ui/account"), "Sign in")
	here.leads("the link", here.goTo(w, "sessions"), "Where you are signed in")
	w.ownEmail(t, here)
	w.ownToken(t, here)
}

// ownEmail changes the address and confirms it with the code that is mailed there.
func (w world) ownEmail(t *testing.T, c chromium) {
	t.Helper()
	c.leads("the link", c.goTo(w, "email"), "Your email address")
	c.leads("the link", c.click(`main > a.button`), "Change your email address")
	c.leads("the form", c.submit("email", "king@example.com"), "Your email address")
	link, err := url.Parse(w.link("king@example.com"))
	if err != nil {
		t.Fatal(err)
	}
	c.leads("a wrong code", c.submit("code", "AAAAAAAA"), "Your email address")
	c.picture(t, "email")
	c.leads("the code", c.submit("code", link.Query().Get("code")), "Your email address")
	if got := c.read(".whose bdi:nth-child(2)"); got != "The address is confirmed." {
		t.Errorf("the page says %q", got)
	}
}

// ownToken makes a token, uses it and removes it.
func (w world) ownToken(t *testing.T, c chromium) {
	t.Helper()
	c.leads("the link", c.goTo(w, "tokens"), "Personal access tokens")
	c.leads("the link", c.click(`main > a.button`), "Create a token")
	c.leads("the form", c.submit(), "Your new token")
	token := c.read("code")
	c.picture(t, "token")
	a := w.call(token, "GET", "/auth/v1/users/me")
	user, _ := a.Body["user"].(map[string]any)
	human, _ := user["human"].(map[string]any)
	profile, _ := human["profile"].(map[string]any)
	email, _ := human["email"].(map[string]any)
	if a.Status != http.StatusOK || profile["firstName"] != "Augusta" || profile["nickName"] != `<b>"Countess"</b>` ||
		email["email"] != "king@example.com" || email["isEmailVerified"] != true {
		t.Errorf("%d %v", a.Status, a.Body)
	}
	changes := w.call(token, "POST", "/auth/v1/users/me/changes/_search")
	list, _ := changes.Body["result"].([]any)
	by := map[any]bool{}
	for _, one := range list[:min(len(list), 4)] { // the last: token, address, its confirmation, password
		by[one.(map[string]any)["editorId"]] = true
	}
	if len(list) < 5 || len(by) != 1 || !by["ada"] {
		t.Errorf("changed by %v: %v", by, changes.Body)
	}
	c.leads("the link", c.goTo(w, "tokens"), "Personal access tokens")
	c.leads("the link", c.click(".rows a"), "Remove this token?")
	c.leads("the button", c.submit(), "Personal access tokens")
	if a := w.call(token, "GET", "/auth/v1/users/me"); a.Status != http.StatusUnauthorized {
		t.Errorf("the token is worth something: %d", a.Status)
	}
}
