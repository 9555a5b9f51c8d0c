package oauth_test

import "testing"

// The administrator logs in with what the first start prints, and chooses another password.
func TestAdministratorLogsIn(t *testing.T) {
	t.Parallel()
	w := start(t)
	name, password := w.Administrator()
	c := open(t)
	if got := c.visit(w.URL + "/ui/login/"); got != "Sign in" {
		t.Fatalf("the address leads to %q", got)
	}
	if got := c.submit("name", name, "current", password); got != "Replace your password" {
		t.Fatalf("the one-time password leads to %q", got)
	}
	const chosen = "another horse"
	if got := c.submit("password", chosen, "confirmation", chosen); got != "You are signed in" {
		t.Errorf("the new password leads to %q", got)
	}
}
