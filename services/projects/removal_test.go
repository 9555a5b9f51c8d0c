package projects_test

import (
	"testing"

	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// shared makes a project of org-a that is granted to org-b, which gives its role to a user.
func (w *world) shared(name string) (projectID string) {
	w.Helper()
	id := w.project(w.inA, name)
	w.roles(w.inA, id, "clerk")
	granted, err := w.AddProjectGrant(w.inA, &projectsv1.AddProjectGrantRequest{ProjectId: id, GrantedOrgId: "org-b",
		RoleKeys: []string{"clerk"}})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.AddUserGrant(w.inB, &projectsv1.AddUserGrantRequest{UserId: "user-org-b", ProjectId: id,
		ProjectGrantId: granted.GrantId, RoleKeys: []string{"clerk"}}); err != nil {
		w.Fatal(err)
	}
	return id
}

// What an organization had goes with it, and what others granted to it; theirs stays.
func TestRemovedOrganization(t *testing.T) {
	t.Parallel()
	for org, left := range map[string]int{"org-a": 1, "org-b": 2} {
		w := newWorld(t)
		w.shared("Shop")
		w.shared("Second")
		w.project(w.inB, "Other")
		cause := kit.Herald(t, w.ground, "users").Tell(org, org, "admin", &usersv1.OrgRemoved{})
		testkit.Until(t, w.service.DB, "project_grants", "not exists (select from project_grants)")
		testkit.Until(t, w.service.DB, "projects", "not exists (select from projects where org_id = $1)", org)
		if w.rows("user_grants") != 0 || w.rows("projects") != left {
			t.Errorf("%s: %d user grants and %d projects are left", org, w.rows("user_grants"), w.rows("projects"))
		}
		if w.rows("events where name = 'removed' and actor = 'admin' and data->>'cause' = $1 and "+
			"aggregate in ('project', 'project_grant')", cause) == 0 {
			t.Errorf("%s: no event names the cause", org)
		}
		if w.rows("events where name = 'removed' and actor <> 'admin'") != 0 {
			t.Errorf("%s: somebody else is blamed", org)
		}
	}
}

// A removed user's roles go in every organization that gave some, each with an event.
func TestRolesOfARemovedUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shared("Shop")
	own := w.project(w.inB, "Other")
	for _, user := range []string{"user-org-b", "user-org-c"} {
		if _, err := w.AddUserGrant(w.inB, &projectsv1.AddUserGrantRequest{UserId: user, ProjectId: own}); err != nil {
			t.Fatal(err)
		}
	}
	users := kit.Herald(t, w.ground, "users")
	cause := users.Tell("org-b", "user-org-b", "admin", &usersv1.UserRemoved{})
	testkit.Until(t, w.service.DB, "user_grants", "not exists (select from user_grants where user_id = 'user-org-b')")
	if w.rows("user_grants") != 1 || w.rows(`events where aggregate = 'user_grant' and name = 'removed'
		and data->>'cause' = $1 and actor = 'admin'`, cause) != 2 {
		t.Error("another user's went too, or events are missing")
	}
	users.Tell("org-b", "user-org-b", "admin", &usersv1.UserRemoved{}) // a repeat
	last := users.Tell("org-c", "user-org-c", "admin", &usersv1.UserRemoved{})
	testkit.Until(t, w.service.DB, "events", "exists (select from events where data->>'cause' = $1)", last)
	if n := w.rows("events where aggregate = 'user_grant' and name = 'removed'"); n != 3 {
		t.Errorf("%d events", n)
	}
}
