package consumer_test

import (
	"os"
	"testing"

	"herald/services/projects/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

// shared makes a project of org-a that is granted to org-b, which gives its role to a user.
func shared(w *testworld.World, name string) {
	w.Helper()
	id := w.Project(w.InA, name)
	w.AddRoles(w.InA, id, "clerk")
	w.Give(w.InB, "user-org-b", id, w.Grant(id, "org-b", "clerk"), "clerk")
}

// The projects of a removed organization are removed, and so are the grants to it. The projects of others stay.
func TestRemovedOrganizationTakesItsProjectsAndGrantsAlong(t *testing.T) {
	t.Parallel()
	for org, left := range map[string]int{"org-a": 1, "org-b": 2} {
		t.Run(org, func(t *testing.T) {
			w := testworld.New(t)
			shared(w, "Shop")
			shared(w, "Second")
			w.Project(w.InB, "Other")
			cause := testworld.Kit.Publisher(t, w.Ground, "users").Publish(org, org, "admin", &usersv1.OrgRemoved{})
			testkit.Until(t, w.Service.DB, "project_grants", "not exists (select from project_grants)")
			testkit.Until(t, w.Service.DB, "projects", "not exists (select from projects where org_id = $1)", org)
			if w.Rows("user_grants") != 0 || w.Rows("projects") != left {
				t.Errorf("%d user grants and %d projects are left", w.Rows("user_grants"), w.Rows("projects"))
			}
			if w.Rows(`events where name = 'removed' and actor = 'admin' and data->>'cause' = $1
					and aggregate in ('project', 'project_grant')`, cause) == 0 {
				t.Error("no event names the cause")
			}
			if w.Rows("events where name = 'removed' and actor <> 'admin'") != 0 {
				t.Error("an event names another actor")
			}
		})
	}
}

// The roles of a removed user are removed in every organization that granted some, each with an event.
func TestRemovedUserLosesRolesEverywhere(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	shared(w, "Shop")
	own := w.Project(w.InB, "Other")
	for _, user := range []string{"user-org-b", "user-org-c"} {
		w.Must(w.AddUserGrant(w.InB, &projectsv1.AddUserGrantRequest{UserId: user, ProjectId: own}))
	}
	users := testworld.Kit.Publisher(t, w.Ground, "users")
	cause := users.Publish("org-b", "user-org-b", "admin", &usersv1.UserRemoved{})
	testkit.Until(t, w.Service.DB, "user_grants", "not exists (select from user_grants where user_id = 'user-org-b')")
	if w.Rows("user_grants") != 1 || w.Rows(`events where aggregate = 'user_grant' and name = 'removed'
		and data->>'cause' = $1 and actor = 'admin'`, cause) != 2 {
		t.Error("the grants of another user were removed too, or events are missing")
	}
	users.Publish("org-b", "user-org-b", "admin", &usersv1.UserRemoved{}) // delivered again
	last := users.Publish("org-c", "user-org-c", "admin", &usersv1.UserRemoved{})
	testkit.Until(t, w.Service.DB, "events", "exists (select from events where data->>'cause' = $1)", last)
	if n := w.Rows("events where aggregate = 'user_grant' and name = 'removed'"); n != 3 {
		t.Errorf("%d events", n)
	}
}
