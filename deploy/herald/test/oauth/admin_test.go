package oauth_test

import (
	"regexp"
	"strings"
	"testing"
)

var firstLogin = regexp.MustCompile(`login name (\S+), one-time password (\S+) `)

// The administrator logs in with what the first start prints, and chooses another password.
func TestAdministratorLogsIn(t *testing.T) {
	t.Parallel()
	w := start(t)
	printed := firstLogin.FindStringSubmatch(strings.Join(w.Out, "\n"))
	if printed == nil {
		t.Fatalf("the first start prints %q", w.Out)
	}
	c := open(t)
	if got := c.visit(w.URL + "/ui/login/"); got != "Sign in" {
		t.Fatalf("the address leads to %q", got)
	}
	if got := c.submit("name", printed[1], "current", printed[2]); got != "Replace your password" {
		t.Fatalf("the one-time password leads to %q", got)
	}
	const chosen = "another horse"
	if got := c.submit("password", chosen, "confirmation", chosen); got != "You are signed in" {
		t.Errorf("the new password leads to %q", got)
	}
}
