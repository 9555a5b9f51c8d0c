package store_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/testkit"
)

// A list of what a user has contains nothing of another user of the same organization. The members of
// an organization are not those of its projects.
func TestListsAreOfOneUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.user("org-a", "u1")
	w.user("org-a", "u2")
	w.machine("org-a", "m1")
	w.must(w.CreatePAT(t.Context(), token("u1", "org-a", "t1"), []byte{1}, noted))
	w.must(w.CreateOTP(t.Context(), app("u1", "org-a"), happened))
	w.must(w.AddMachineKey(t.Context(), machineKey("m1", "org-a", "k1"), []byte{1}, happened))
	w.must(nil, w.createLinked("org-a", "u3", "idp-a", "mini"))
	w.must(w.SetMetadata(t.Context(), "org-a", "u1", "size", func(m *domain.Metadata) (proto.Message, error) {
		m.Set([]byte("s"))
		return happened, nil
	}))
	w.must(w.CreateMember(t.Context(), owner("u1", "org-a", "p1"), joined))
	for what, list := range map[string]func(ctx context.Context, userID string) (int, error){
		"u1 has tokens": func(ctx context.Context, id string) (int, error) {
			return many(w.SearchPATs(ctx, "org-a", id, page))
		},
		"u1 has factors": func(ctx context.Context, id string) (int, error) {
			return many(w.SearchOTP(ctx, "org-a", id, page))
		},
		"m1 has keys": func(ctx context.Context, id string) (int, error) {
			return many(w.SearchMachineKeys(ctx, "org-a", id, page))
		},
		"u3 has linked accounts": func(ctx context.Context, id string) (int, error) {
			return many(w.SearchIdpLinks(ctx, "org-a", id, page))
		},
		"u1 has memberships": func(ctx context.Context, id string) (int, error) {
			return many(w.SearchMemberships(ctx, "org-a", id, page))
		},
		"u1 has metadata": func(ctx context.Context, id string) (int, error) {
			return many(w.SearchMetadata(ctx, "org-a", id, page))
		},
	} {
		if n, err := list(t.Context(), "u2"); n != 0 || err != nil {
			t.Errorf("%s, and another user %d, %v", what, n, err)
		}
		if n, err := list(t.Context(), what[:2]); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
	if n, err := many(w.SearchMetadata(t.Context(), "org-b", "u1", page)); n != 0 || err != nil {
		t.Errorf("another organization finds %d metadata, %v", n, err)
	}
	if n, err := many(w.SearchMembers(t.Context(), w.Members("org-a", ""), page)); n != 0 || err != nil {
		t.Errorf("the organization has %d members, %v", n, err)
	}
}

// A user who is a member of two organizations stays one of the second when the first changes. The removal of one
// organization removes nothing of another one.
func TestOneOrganizationOfTwo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.org("org-b")
	w.user("org-a", "u1")
	for _, m := range []domain.Member{
		owner("u1", "org-a", ""), owner("u1", "org-b", ""), owner("u1", "org-a", "p1"), owner("u1", "org-b", "p1"),
	} {
		w.must(w.CreateMember(t.Context(), m, joined))
	}
	for org, want := range map[string]int{"org-a": 2, "org-b": 0} {
		if of, err := w.MembershipsOf(t.Context(), org, []string{"u1", "nobody"}); len(of) != want || err != nil {
			t.Errorf("a user of org-a has, among others, in %s the memberships %v, %v", org, of, err)
		}
	}
	w.must(w.ChangeMember(t.Context(), "org-a", "", "u1", roles("ORG_OWNER_VIEWER")))
	if n := testkit.Rows(t, w.db, "members where roles = '{ORG_OWNER_VIEWER}'"); n != 1 {
		t.Errorf("%d memberships have the new role", n)
	}
	w.must(w.ChangeMember(t.Context(), "org-a", "", "u1", roles()))
	if n := testkit.Rows(t, w.db, "members"); n != 3 {
		t.Errorf("%d of four memberships are left after one was removed", n)
	}
	for org, want := range map[string][2]int{"org-a": {1, 1}, "org-b": {0, 2}, "org-c": {}} {
		users, err := w.SomeUsers(t.Context(), org, 10)
		members, failed := w.SomeMembers(t.Context(), org, 10)
		if len(users) != want[0] || len(members) != want[1] || err != nil || failed != nil {
			t.Errorf("%s has the users %v and the members %v: %v, %v", org, users, members, err, failed)
		}
	}
	w.must(nil, w.RemoveProjectMembers(t.Context(), event.Delivery{
		ID: "e1", AggregateID: "p1", OrganizationID: "org-a",
	}))
	if n := testkit.Rows(t, w.db, "members where org_id = 'org-b'"); n != 2 {
		t.Errorf("%d of two memberships in another organization are left", n)
	}
	if n := testkit.Rows(t, w.db, "events where organization_id = 'org-b' and name = 'removed'"); n != 0 {
		t.Errorf("%d events of removals in another organization", n)
	}
}

// The holder of a token has roles on a project beside a role in another organization. A removed organization does not
// exist, neither for the holder nor in a list.
func TestHoldersElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.org("org-b")
	w.user("org-a", "u1")
	w.must(w.CreatePAT(t.Context(), token("u1", "org-a", "t1"), []byte{1}, noted))
	w.must(w.CreateMember(t.Context(), owner("u1", "org-b", ""), joined))
	w.must(w.CreateMember(t.Context(), owner("u1", "org-a", "p1"), joined))
	rows, err := w.Holders(t.Context(), []byte{1}, "org-a")
	if err != nil || len(rows) != 1 || rows[0].Project == nil || *rows[0].Project != "p1" {
		t.Errorf("in org-a: %+v, %v", rows, err)
	}
	w.must(w.RemoveOrg(t.Context(), "org-b", happened))
	rows, err = w.Holders(t.Context(), []byte{1}, "org-b")
	if err != nil || len(rows) == 0 || rows[0].RequestedState != nil {
		t.Errorf("in a removed organization: %+v, %v", rows, err)
	}
	if n, err := many(w.SearchOrgs(t.Context(), w.Orgs(), page)); n != 1 || err != nil {
		t.Errorf("%d organizations are listed, %v", n, err)
	}
}

// The id of a removed user is taken, and no name.
func TestTakenByRemovedUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.user("org-a", "u1")
	w.user("org-a", "u2")
	w.must(w.RemoveUser(t.Context(), "org-a", "u2", happened))
	taken, err := w.Taken(t.Context(), []string{"u1", "u2"}, nil, nil)
	if err != nil || len(taken.IDs) != 2 || len(taken.Names) != 1 || !taken.Names["u1"] {
		t.Errorf("%+v, %v", taken, err)
	}
}
