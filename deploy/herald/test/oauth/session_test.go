package oauth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A person sees in which browsers they are logged in, and ends such a login from elsewhere.
func TestPeopleEndTheirSessions(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, name := range []string{"ada", "bob"} {
		w.Must("POST", "/management/v1/users/human/_import", person(name, ""))
	}
	shop, here, there := w.application("Shop"), open(t), open(t)
	token := func(c chromium, name string) string {
		t.Helper()
		c.visit(shop.request("scope", "openid urn:service:iam:org:project:id:service:aud"))
		c.submit("name", name, "current", "correct horse")
		if got := c.submit(); got != "Welcome" { // after the question whether the application may act in Herald
			t.Fatalf("the login leads to %q", got)
		}
		return shop.token()
	}
	lost, mine, bobs := token(there, "ada"), token(here, "ada"), token(open(t), "bob")
	found := w.sessions(mine)
	if len(found) != 2 {
		t.Fatalf("%v", found)
	}
	oldest := found[1]
	if agent, _ := oldest["userAgent"].(string); !strings.Contains(agent, "Chrome") ||
		oldest["clientAddress"] != "127.0.0.1" {
		t.Errorf("the session is %v", oldest)
	}
	id := oldest["id"].(string)
	if a := w.end(w.Token, id); a.Status != http.StatusForbidden {
		t.Errorf("a personal access token gets %d %v", a.Status, a.Body)
	}
	if a := w.end(mine, id); a.Status != http.StatusOK {
		t.Fatalf("%d %v", a.Status, a.Body)
	}
	for name, test := range map[string]struct {
		token string
		want  int
		chromium
		heading string
	}{
		"ended": {lost, http.StatusUnauthorized, there, "Sign in"}, "other": {mine, http.StatusOK, here, "Welcome"},
	} {
		if status, _ := w.me(test.token); status != test.want {
			t.Errorf("the token of the %s session gets %d", name, status)
		}
		if got := test.visit(shop.request()); got != test.heading {
			t.Errorf("the application leads the browser of the %s session to %q", name, got)
		}
	}
	foreign := w.sessions(bobs)
	if len(foreign) != 1 || foreign[0]["id"] == found[0]["id"] {
		t.Fatalf("bob has %v", foreign)
	}
	missing := w.end(mine, "missing")
	w.same(missing, w.end(mine, id))
	w.same(missing, w.end(mine, foreign[0]["id"].(string)))
	if status, _ := w.me(bobs); status != http.StatusOK || missing.text("message") != "Session not found" {
		t.Errorf("bob's token gets %d after %v", status, missing.Body)
	}
}

// Administrators see where a person is logged in and end that: the browser must log in again, and the application's
// tokens stop working at once. Those of another organization find nobody, and those with fewer permissions are refused.
func TestAdministratorsEndSessionsOfPeople(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	owner, manager := w.administrator("owner", "ORG_OWNER"), w.administrator("manager", "ORG_USER_MANAGER")
	home, there := w.Org, w.Must("POST", "/management/v1/orgs", `{"name":"Strangers"}`)["id"].(string)
	w.Org = there
	stranger := w.administrator("stranger", "ORG_OWNER")
	w.Org = home
	shop, other := w.party("Shop", "query"), w.party("Other", "query")
	const all = "/management/v1/users/ada/sessions"
	list := func() []any {
		t.Helper()
		a := w.call(owner, "POST", all+"/_search")
		found, _ := a.Body["result"].([]any)
		if a.Status != http.StatusOK {
			t.Errorf("%d %v", a.Status, a.Body)
		}
		return found
	}
	alive := func(p *party, tokens answer, want bool) answer {
		t.Helper()
		if status, _ := w.me(tokens.text("access_token")); (status == http.StatusOK) != want {
			t.Errorf("the token gets %d", status)
		}
		next := p.grant("grant_type", "refresh_token", "refresh_token", tokens.text("refresh_token"))
		if (next.Status == http.StatusOK) != want {
			t.Errorf("the refresh token gets %d %v", next.Status, next.Body)
		}
		if p.browser.visit(w.URL+"/ui/account").heading() == "Sign in" == want {
			t.Error("the browser is in another state")
		}
		return next
	}
	const scope = "openid offline_access"
	tokens := []answer{shop.loggedIn("scope", scope), other.loggedIn("scope", scope)}
	found := list()
	if len(found) != 2 {
		t.Fatalf("the administrator sees %v", found)
	}
	first := found[1].(map[string]any)
	if first["browser"] != "visitor" || first["network"] != "127.0.0.0/24" || first["clientAddress"] != "" ||
		first["userAgent"] != "" || fmt.Sprint(first["amr"]) != "[pwd]" || first["creationDate"] == nil {
		t.Errorf("the administrator sees %v", first)
	}
	one := all + "/" + first["id"].(string)
	refused := func(token string, status int, endOne, endAll string) {
		t.Helper()
		for path, id := range map[string]string{one: endOne, all: endAll} {
			if a := w.call(token, "DELETE", path); a.Status != status || !strings.Contains(fmt.Sprint(a.Body), id) {
				t.Errorf("%s answers %d %v", path, a.Status, a.Body)
			}
		}
	}
	refused(manager, http.StatusForbidden, "PERMISSION_DENIED", "PERMISSION_DENIED")
	refused(stranger, http.StatusNotFound, "SESSION_NOT_FOUND", "USER_NOT_FOUND")
	w.same(w.call(stranger, "POST", "/management/v1/users/nobody/sessions/_search"),
		w.call(stranger, "POST", all+"/_search"))
	w.Must("POST", "/admin/v1/members", `{"userId":"ada","roles":["IAM_OWNER_VIEWER"]}`)
	refused(owner, http.StatusForbidden, "ESCALATION", "ESCALATION")
	w.Must("DELETE", "/admin/v1/members/ada", "")
	tokens[0], tokens[1] = alive(shop, tokens[0], true), alive(other, tokens[1], true)
	if a := w.call(owner, "DELETE", one); a.Status != http.StatusOK {
		t.Fatal(a.Status, a.Body)
	}
	alive(shop, tokens[0], false)
	tokens[1] = alive(other, tokens[1], true)
	if a := w.call(owner, "DELETE", one); a.Status != http.StatusNotFound {
		t.Errorf("the same again: %d %v", a.Status, a.Body)
	}
	if a := w.call(owner, "DELETE", all); a.Status != http.StatusOK || a.Body["ended"] != 1.0 || len(list()) != 0 {
		t.Errorf("%d %v", a.Status, a.Body)
	}
	alive(other, tokens[1], false)
}

// administrator makes a machine user of the organization with roles there, and returns its token.
func (w world) administrator(name, role string) string {
	w.TB.Helper()
	id := w.machine(name)
	w.Must("POST", "/management/v1/orgs/me/members", `{"userId":"`+id+`","roles":["`+role+`"]}`)
	return w.Must("POST", "/management/v1/users/"+id+"/pats", `{}`)["token"].(string)
}

// same fails the test unless two refusals say that there is no such thing in the same words.
func (w world) same(missing, other answer) {
	w.TB.Helper()
	if other.Status != http.StatusNotFound || other.Status != missing.Status ||
		fmt.Sprint(other.Body) != fmt.Sprint(missing.Body) {
		w.Errorf("%d %v, and of a missing one %d %v", other.Status, other.Body, missing.Status, missing.Body)
	}
}

// sessions returns the sessions of a token's user, the newest first.
func (w world) sessions(token string) (all []map[string]any) {
	w.TB.Helper()
	a := w.call(token, "POST", "/auth/v1/users/me/sessions/_search")
	list, _ := a.Body["result"].([]any)
	for _, s := range list {
		all = append(all, s.(map[string]any))
	}
	return all
}

func (w world) end(token, id string) answer {
	w.TB.Helper()
	return w.call(token, "DELETE", "/auth/v1/users/me/sessions/"+id)
}

// call calls a method of the API with a token.
func (w world) call(token, verb, path string) answer {
	w.TB.Helper()
	return w.ask(verb, path, "{}", "Authorization", "Bearer "+token, "Content-Type", "application/json")
}
