package account_test

import (
	"testing"

	"herald/services/auth/internal/testworld"
)

// A person who only logs in with an account of a directory gets no form for a password, because there is no old one.
func TestAccountWithoutPasswordHasNoFormForOne(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	testworld.Shows(t, a.open(session, "/password"), 200, "changepassword")
	a.Users.Own.NoPassword = true
	explained := a.open(session, "/password")
	testworld.Shows(t, explained, 200, "nopassword")
	root := testworld.Page(t, explained)
	if root.Find("input", "type", "password").Exists() || !root.Find("a", "href", accountPath+"/idplinks").Exists() {
		t.Error(explained.Body)
	}
	testworld.Shows(t, a.send(session, "/password", "current", "", "password", "Tr0ub4dor3"), 200, "nopassword")
}

// A login that is too old for a method leads to another one from a page that asks for such a login. From any other page
// it would lead back at once, and so on.
func TestPageThatNeedsNoFreshLoginDoesNotRedirectToTheLogin(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	a.lost("/password", a.send(session, "/password", "current", "old login", "password", "Tr0ub4dor3", "confirmation",
		"Tr0ub4dor3"))
	if w := a.send(session, "/profile", "firstName", "old login", "lastName", "x"); w.Code < 400 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
