package projects_test

import (
	"context"
	"slices"
	"testing"

	"herald/shared/caller"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

func (w *world) roles(ctx context.Context, projectID string, keys ...string) {
	w.Helper()
	r := &projectsv1.AddProjectRolesRequest{ProjectId: projectID}
	for _, key := range keys {
		r.Roles = append(r.Roles, &projectsv1.NewProjectRole{Key: key})
	}
	if _, err := w.AddProjectRoles(ctx, r); err != nil {
		w.Fatal(err)
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.project(w.inA, "Shop")
	const odd = "a/b%2F ?ü"
	added, err := w.AddProjectRole(w.inA, &projectsv1.AddProjectRoleRequest{ProjectId: id, Key: odd, Group: "Staff"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.AddProjectRole(w.inA, &projectsv1.AddProjectRoleRequest{ProjectId: id, Key: odd})
	refused(t, err, "PROJECT_ROLE_EXISTS")
	bulk := func(keys ...string) error {
		r := &projectsv1.AddProjectRolesRequest{ProjectId: id}
		for _, key := range keys {
			r.Roles = append(r.Roles, &projectsv1.NewProjectRole{Key: key, DisplayName: "The " + key})
		}
		_, err := w.AddProjectRoles(w.inA, r)
		return err
	}
	refused(t, bulk("admin", "clerk", " admin"), "PROJECT_ROLE_TWICE", "roles[2].key", "admin")
	refused(t, bulk("admin", odd), "PROJECT_ROLE_EXISTS", "roles[1].key", odd)
	refused(t, bulk(), "INVALID_ARGUMENT", "roles")
	refused(t, bulk("ok", " "), "INVALID_ARGUMENT", "roles[1].key")
	if n := w.rows("roles"); n != 1 {
		t.Errorf("%d roles, want one", n)
	}
	if err := bulk("clerk", "admin"); err != nil {
		t.Fatal(err)
	}
	search := func(queries ...*projectsv1.ProjectRoleFilter) (keys []string) {
		t.Helper()
		got, err := w.SearchProjectRoles(w.inA, &projectsv1.SearchProjectRolesRequest{
			ProjectId: id, Query: &heraldv1.ListQuery{Asc: true}, Queries: queries,
		})
		if err != nil || got.Details.TotalResult != uint64(len(got.Result)) {
			t.Fatalf("%v, %v", got, err)
		}
		for _, r := range got.Result {
			keys = append(keys, r.Key)
			if r.Key == odd {
				same(t, r, &projectsv1.ProjectRole{Key: odd, Details: added.Details, DisplayName: odd, Group: "Staff"})
			}
		}
		return keys
	}
	if got := search(); !slices.Equal(got, []string{odd, "admin", "clerk"}) {
		t.Errorf("roles %q", got)
	}
	if got := search(&projectsv1.ProjectRoleFilter{KeyQuery: &projectsv1.ProjectRoleKeyQuery{Key: "ADMIN",
		Method: 1}}); !slices.Equal(got, []string{"admin"}) {
		t.Errorf("roles %q", got)
	}
	if got := search(&projectsv1.ProjectRoleFilter{
		DisplayNameQuery: &projectsv1.ProjectRoleDisplayNameQuery{DisplayName: "the ", Method: 3},
	}); !slices.Equal(got, []string{"admin", "clerk"}) {
		t.Errorf("roles %q", got)
	}

	update := &projectsv1.UpdateProjectRoleRequest{ProjectId: id, Key: odd, DisplayName: "Odd"}
	changed, err := w.UpdateProjectRole(w.inA, update)
	if err != nil || changed.Details.Sequence <= added.Details.Sequence {
		t.Fatalf("%v, %v", changed, err)
	}
	again, err := w.UpdateProjectRole(w.inA, update)
	if err != nil {
		t.Fatal(err)
	}
	same(t, again, changed)
	if w.rows(`events where name = 'role_changed' and data->'changed' = '["displayName", "group"]'`) != 1 {
		t.Error("the event does not name the fields")
	}
	_, err = w.UpdateProjectRole(w.inA, &projectsv1.UpdateProjectRoleRequest{ProjectId: id, Key: "nothing"})
	refused(t, err, "PROJECT_ROLE_NOT_FOUND")
	if _, err := w.RemoveProjectRole(w.inA, &projectsv1.RemoveProjectRoleRequest{ProjectId: id, Key: odd}); err != nil {
		t.Fatal(err)
	}
	_, err = w.RemoveProjectRole(w.inA, &projectsv1.RemoveProjectRoleRequest{ProjectId: id, Key: odd})
	refused(t, err, "PROJECT_ROLE_NOT_FOUND")
}

// A viewer of the project reads its roles and adds none.
func TestRolesForViewers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.project(w.inA, "Shop")
	w.roles(w.inA, id, "admin")
	viewer := w.with("org-a", caller.Membership{
		OrganizationID: "org-a", ProjectID: id, Roles: []string{"PROJECT_OWNER_VIEWER"},
	})
	if _, err := w.SearchProjectRoles(viewer, &projectsv1.SearchProjectRolesRequest{ProjectId: id}); err != nil {
		t.Error(err)
	}
	_, err := w.AddProjectRole(viewer, &projectsv1.AddProjectRoleRequest{ProjectId: id, Key: "mine"})
	refused(t, err, "PERMISSION_DENIED", "project.role.write")
}
