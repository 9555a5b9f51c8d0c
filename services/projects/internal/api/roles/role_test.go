package roles_test

import (
	"os"
	"slices"
	"testing"

	"herald/services/projects/internal/testworld"
	"herald/shared/caller"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

var refused = testkit.Refused

// odd is a key that paths and patterns must escape.
const odd = "a/b%2F ?ü"

func TestAddedRolesAreDistinct(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, odd)
	for name, c := range map[string]struct {
		keys  []string
		fault string
		parts []string
	}{
		"two of a key": {[]string{"admin", "clerk", " admin"}, "PROJECT_ROLE_TWICE",
			[]string{"roles[2].key", "admin"}},
		"one that is there": {[]string{"admin", odd}, "PROJECT_ROLE_EXISTS", []string{"roles[1].key", odd}},
		"none":              {nil, "INVALID_ARGUMENT", []string{"roles"}},
		"one without a key": {[]string{"ok", " "}, "INVALID_ARGUMENT", []string{"roles[1].key"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &projectsv1.AddProjectRolesRequest{ProjectId: id}
			for _, key := range c.keys {
				r.Roles = append(r.Roles, &projectsv1.NewProjectRole{Key: key})
			}
			_, err := w.AddProjectRoles(w.InA, r)
			refused(t, err, c.fault, c.parts...)
		})
	}
	_, err := w.AddProjectRole(w.InA, &projectsv1.AddProjectRoleRequest{ProjectId: id, Key: odd})
	refused(t, err, "PROJECT_ROLE_EXISTS")
	if n := w.Rows("roles"); n != 1 {
		t.Errorf("%d roles, want one", n)
	}
}

func TestSearchFindsRolesByKeyAndDisplayName(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	added, err := w.AddProjectRole(w.InA, &projectsv1.AddProjectRoleRequest{ProjectId: id, Key: odd, Group: "Staff"})
	w.Must(added, err)
	w.Must(w.AddProjectRoles(w.InA, &projectsv1.AddProjectRolesRequest{
		ProjectId: id, Roles: []*projectsv1.NewProjectRole{
			{Key: "clerk", DisplayName: "The clerk"}, {Key: "admin", DisplayName: "The admin"},
		},
	}))
	for name, c := range map[string]struct {
		filter *projectsv1.ProjectRoleFilter
		want   []string
	}{
		"all": {nil, []string{odd, "admin", "clerk"}},
		"key": {&projectsv1.ProjectRoleFilter{KeyQuery: &projectsv1.ProjectRoleKeyQuery{
			Key: "ADMIN", Method: heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE,
		}}, []string{"admin"}},
		"display name": {&projectsv1.ProjectRoleFilter{DisplayNameQuery: &projectsv1.ProjectRoleDisplayNameQuery{
			DisplayName: "the ", Method: heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE,
		}}, []string{"admin", "clerk"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &projectsv1.SearchProjectRolesRequest{ProjectId: id, Query: &heraldv1.ListQuery{Asc: true}}
			if c.filter != nil {
				r.Queries = append(r.Queries, c.filter)
			}
			got, err := w.SearchProjectRoles(w.InA, r)
			w.Must(got, err)
			var keys []string
			for _, r := range got.Result {
				keys = append(keys, r.Key)
			}
			if !slices.Equal(keys, c.want) || got.Details.TotalResult != uint64(len(c.want)) {
				t.Errorf("%q of %d", keys, got.Details.TotalResult)
			}
			if c.filter == nil {
				testkit.Equal(t, got.Result[0], &projectsv1.ProjectRole{
					Key: odd, Details: added.Details, DisplayName: odd, Group: "Staff",
				})
			}
		})
	}
}

func TestRolesAreChangedAndRemovedOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	added, err := w.AddProjectRole(w.InA, &projectsv1.AddProjectRoleRequest{ProjectId: id, Key: odd, Group: "Staff"})
	w.Must(added, err)
	update := &projectsv1.UpdateProjectRoleRequest{ProjectId: id, Key: odd, DisplayName: "Odd"}
	changed, err := w.UpdateProjectRole(w.InA, update)
	w.Must(changed, err)
	if changed.Details.Sequence <= added.Details.Sequence {
		t.Errorf("%v", changed)
	}
	again, err := w.UpdateProjectRole(w.InA, update)
	w.Must(again, err)
	testkit.Equal(t, again, changed)
	if w.Rows(`events where name = 'role_changed' and data->'changed' = '["displayName", "group"]'`) != 1 {
		t.Error("the event does not name the fields")
	}
	_, err = w.UpdateProjectRole(w.InA, &projectsv1.UpdateProjectRoleRequest{ProjectId: id, Key: "nothing"})
	refused(t, err, "PROJECT_ROLE_NOT_FOUND")
	this := &projectsv1.RemoveProjectRoleRequest{ProjectId: id, Key: odd}
	w.Must(w.RemoveProjectRole(w.InA, this))
	_, err = w.RemoveProjectRole(w.InA, this)
	refused(t, err, "PROJECT_ROLE_NOT_FOUND")
}

func TestViewersReadRolesAndAddNone(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "admin")
	viewer := w.With("org-a", caller.Membership{
		OrganizationID: "org-a", ProjectID: id, Roles: []string{"PROJECT_OWNER_VIEWER"},
	})
	w.Must(w.SearchProjectRoles(viewer, &projectsv1.SearchProjectRolesRequest{ProjectId: id}))
	_, err := w.AddProjectRole(viewer, &projectsv1.AddProjectRoleRequest{ProjectId: id, Key: "mine"})
	refused(t, err, "PERMISSION_DENIED", "project.role.write")
}
