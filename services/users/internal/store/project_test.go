package store_test

import (
	"errors"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/testkit"
)

// The removal of a project's members waits for a member who is being added, and a later member is refused. So no member
// stays. Members of other projects and of the organization stay.
func TestMemberAddedWhileProjectRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	for _, id := range []string{"u1", "u2"} {
		w.user("org-a", id)
	}
	for _, m := range []domain.Member{owner("u1", "org-a", ""), owner("u1", "org-a", "p2")} {
		if err := w.createMember(m); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := w.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.must(tx.Exec(t.Context(), `insert into members (user_id, org_id, project_id, roles, state, sequence,
			created_at, changed_at)
		values ('u1', 'org-a', 'p1', '{PROJECT_OWNER}', 1, 1, now(), now())`))
	removed, later := make(chan error, 1), make(chan error, 1)
	go func() {
		removed <- w.RemoveProjectMembers(t.Context(),
			event.Delivery{ID: "c", OrganizationID: "org-a", AggregateID: "p1"})
	}()
	testkit.Waiting(t, w.db, 1)
	go func() { later <- w.createMember(owner("u2", "org-a", "p1")) }()
	testkit.Waiting(t, w.db, 2)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
	if err := <-later; !errors.Is(err, usersfault.ErrProjectRemoved) {
		t.Errorf("added afterwards: %v", err)
	}
	if n := testkit.Rows(t, w.db, "members where project_id = 'p1'"); n != 0 {
		t.Errorf("%d members stay", n)
	}
	if n := testkit.Rows(t, w.db, "members"); n != 2 {
		t.Errorf("%d of the other 2 stay", n)
	}
	if n := testkit.Rows(t, w.db, `events where aggregate = 'member' and name = 'removed' and aggregate_id = 'u1'
		and data = '{"userId": "u1", "projectId": "p1", "cause": "c"}'`); n != 1 {
		t.Errorf("%d events", n)
	}
}
