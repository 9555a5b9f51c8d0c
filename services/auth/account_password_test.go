package auth

import "testing"

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

// A login that is too old for a method leads to another one from a page that asks for such a login. From any other page
// it would lead back at once, and so on.
func TestOldLoginLeadsToNoCircle(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.login("here")
	leads(t, a.send(session, "/password", "current", "old login", "password", "Tr0ub4dor3", "confirmation",
		"Tr0ub4dor3"), toLogin("/password"))
	if w := a.send(session, "/profile", "firstName", "old login", "lastName", "x"); w.Code < 400 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
