package store_test

import (
	"errors"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/testkit"
)

// The organization of the only owner of the instance cannot be removed. No method finds another one after its
// removal, and its names are free.
func TestRemoveOrg(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(nil, w.CreateInstance(t.Context(), instance("first"), instanceHappened))
	w.org("org-a")
	asOwner := caller.With(t.Context(), caller.Caller{UserID: "first-admin", OrganizationID: "first-org",
		Memberships: []caller.Membership{{Roles: []string{"IAM_OWNER"}}}})
	if _, err := w.RemoveOrg(asOwner, "first-org", happened); !errors.Is(err, usersfault.ErrLastIAMOwner) {
		t.Errorf("the organization of the only owner: %v", err)
	}
	w.user("org-a", "u1")
	w.must(w.RemoveOrg(t.Context(), "org-a", happened))
	_, read := w.Org(t.Context(), "org-a")
	_, removed := w.RemoveOrg(t.Context(), "org-a", happened)
	_, user := w.AnyUser(t.Context(), "u1")
	if !errors.Is(read, usersfault.ErrOrgNotFound) || !errors.Is(removed, usersfault.ErrOrgNotFound) ||
		!errors.Is(user, usersfault.ErrUserNotFound) {
		t.Errorf("it is read %v, removed %v, its user %v", read, removed, user)
	}
	other := org("org-b")
	other.Name, other.PrimaryDomain = "ORG-A", "org-a"
	w.must(w.CreateOrg(t.Context(), other, "", happened))

	w.must(nil, w.ForgetOrg(t.Context(), "org-a")) // org-a still has a user
	w.must(nil, w.ForgetOrg(t.Context(), "org-b")) // org-b was not removed
	if n := testkit.Rows(t, w.db, "organizations"); n != 3 {
		t.Errorf("%d organizations", n)
	}
	w.must(w.RemoveUser(t.Context(), "org-a", "u1", happened))
	w.must(nil, w.ForgetOrg(t.Context(), "org-a"))
	if n := testkit.Rows(t, w.db, "organizations where id = 'org-a'"); n != 0 {
		t.Error("it has no users any more, and is there")
	}
	again := org("org-a")
	again.Name, again.PrimaryDomain = "again", "again"
	if _, err := w.CreateOrg(t.Context(), again, "", happened); !errors.Is(err, usersfault.ErrOrgIDTaken) {
		t.Errorf("its id again: %v", err)
	}
}

// Auth reads users and organizations of tokens and logins. It finds none of an organization that was removed, while the
// rows still wait for the sweep.
func TestSubjectsOfRemovedOrgsAreNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.org("org-b")
	w.must(nil, w.createLinked("org-a", "u1", "idp-a", "account"))
	w.user("org-b", "u2")
	both := []string{"org-a", "org-b"}
	seen := func() (with, beside int, subject, login error) {
		_, subject = w.Subject(t.Context(), "u1", domain.Proof{}, nil)
		_, login = w.ExternalLogin(t.Context(), "idp-a", "account")
		orgs, err := w.OrgsWith(t.Context(), both)
		w.must(nil, err)
		other, err := w.Subject(t.Context(), "u2", domain.Proof{}, both)
		w.must(nil, err)
		return len(orgs), len(other.Orgs), subject, login
	}
	if with, beside, subject, login := seen(); subject != nil || login != nil || with != 2 || beside != 2 {
		t.Errorf("before: %v, %v, %d and %d organizations", subject, login, with, beside)
	}
	w.must(w.RemoveOrg(t.Context(), "org-a", happened))
	if with, beside, subject, login := seen(); !errors.Is(subject, usersfault.ErrUserNotFound) ||
		!errors.Is(login, usersfault.ErrIdpLinkNotFound) || with != 1 || beside != 1 {
		t.Errorf("after: %v, %v, %d and %d organizations", subject, login, with, beside)
	}
}
