package auth

import (
	"testing"
)

// Somebody who logs in with an account of a directory alone gets no form for a password, whose old one nobody knows.
func TestAccountWithoutPassword(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.login("here")
	shows(t, a.open(session, "/password"), 200, "changepassword")
	a.users.own.noPassword = true
	explained := a.open(session, "/password")
	shows(t, explained, 200, "nopassword")
	root := parse(t, explained.Body.String())
	if element(root, "input", "type", "password") != nil || element(root, "a", "href", accountPath+"/idplinks") == nil {
		t.Error(explained.Body)
	}
	shows(t, a.send(session, "/password", "current", "", "password", "Tr0ub4dor3"), 200, "nopassword")
}
