package store_test

import (
	"testing"

	"herald/services/projects/internal/domain"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/testkit"
)

// Objects that are removed with their project have events, with the project's event as the cause.
func TestRemovedProjectTakesItsObjectsAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.make(clerk)
	w.make(ids{
		org: "org-a", project: "p2", role: "clerk", grant: "g2",
		app: "a2", key: "k2", user: "u2", userGrant: "ug2",
	})
	w.must(w.CreateRoles(t.Context(), "org-a", "p1", []domain.Role{{Key: "guest"}}, happened))
	theirs := i.more("3").aUserGrant()
	theirs.OrgID, theirs.ProjectGrantID = "org-c", "g1"
	w.must(w.CreateUserGrant(t.Context(), theirs, happened))
	w.must(w.RemoveProject(t.Context(), "org-a", "p1", &projectsv1.ProjectRemoved{}))
	for _, want := range []string{
		`project.role_removed p1 org-a {"key": "clerk"}`,
		`project.role_removed p1 org-a {"key": "guest"}`,
		`application.removed a1 org-a {"projectId": "p1"}`,
		`application.key_removed a1 org-a {"keyId": "k1", "projectId": "p1"}`,
		`project_grant.removed g1 org-a {"projectId": "p1", "grantedOrgId": "org-c"}`,
		`user_grant.removed ug1 org-a {"userId": "u1", "projectId": "p1"}`,
		`user_grant.removed ug13 org-c {"userId": "u13", "projectId": "p1"}`,
	} {
		t.Run(want, func(t *testing.T) {
			if testkit.Rows(t, w.db, `events e join events c on c.id = e.data ->> 'cause' where c.name = 'removed'
				and c.aggregate_id = 'p1' and e.aggregate || '.' || e.name || ' ' || e.aggregate_id || ' ' ||
				e.organization_id || ' ' || (e.data - 'cause')::text = $1`, want) != 1 {
				t.Error("there is no such event")
			}
		})
	}
	for sql, want := range map[string]int{
		"events where name like '%removed' and data ->> 'cause' <> ''": 7, "projects": 1, "roles": 1,
		"project_grant_acceptances": 0, "project_grants": 1, "user_grants": 1, "applications": 1, "application_keys": 1,
	} {
		if n := testkit.Rows(t, w.db, sql); n != want {
			t.Errorf("%d %s, want %d", n, sql, want)
		}
	}
}

// Only the objects of a removed organization are removed with it.
func TestOrganizationsAreRemovedWithTheirOwnObjectsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.make(clerk)
	for org, want := range map[string][2]int{"org-a": {1, 0}, "org-c": {0, 1}, "org-b": {}} {
		projects, err := w.SomeProjects(t.Context(), org, 10)
		grants, failed := w.SomeGrantsTo(t.Context(), org, 10)
		if len(projects) != want[0] || len(grants) != want[1] || err != nil || failed != nil {
			t.Errorf("%s has the projects %v and the grants %v: %v, %v", org, projects, grants, err, failed)
		}
	}
}
