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

// same fails the test unless two refusals say that there is no session in the same words.
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
