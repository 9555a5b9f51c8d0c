package projects_test

import (
	"fmt"
	"slices"
	"testing"

	"herald/services/projects/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

func TestHistoryNamesEditorsAndPages(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.Project(w.InA, "Other")
	w.AddRoles(w.InA, id, "admin")
	w.Must(w.DeactivateProject(w.InA, &projectsv1.DeactivateProjectRequest{ProjectId: id}))
	w.Must(w.ReactivateProject(w.InA, &projectsv1.ReactivateProjectRequest{ProjectId: id}))
	got, err := w.SearchProjectChanges(w.InA, &projectsv1.SearchProjectChangesRequest{ProjectId: id})
	w.Must(got, err)
	var changes []string
	for _, c := range got.Result {
		changes = append(changes, fmt.Sprint(c.EventType, " by ", c.EditorId, c.Data.AsMap()))
		if c.ChangeDate == nil || c.Sequence == 0 {
			t.Errorf("%v has no date or sequence", c)
		}
	}
	want := []string{
		"project.reactivated by user-org-amap[]", "project.deactivated by user-org-amap[generation:2]",
		"project.role_added by user-org-amap[key:admin]", "project.created by user-org-amap[]",
	}
	if !slices.Equal(changes, want) || got.Details.TotalResult != 4 {
		t.Errorf("%d changes: %q, want %q", got.Details.TotalResult, changes, want)
	}
	first, err := w.SearchProjectChanges(w.InA, &projectsv1.SearchProjectChangesRequest{
		ProjectId: id, Query: &heraldv1.ListQuery{Asc: true, Limit: 1},
	})
	if err != nil || len(first.Result) != 1 || first.Result[0].EventType != "project.created" ||
		first.Details.TotalResult != 4 {
		t.Errorf("%v, %v", first, err)
	}
}

// A project's history has the events of all objects in it, each with its object's id.
func TestHistoryHasTheEventsOfAllObjects(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "admin")
	web, removed := w.WebApp(w.InA, id, "Web"), w.WebApp(w.InA, id, "Removed")
	other := w.Project(w.InA, "Other")
	w.WebApp(w.InA, other, "Web")
	grant := w.Grant(id, "org-b", "admin")
	own := w.Give(w.InA, "user-org-a", id, "", "admin")
	w.Give(w.InB, "user-org-b", id, grant, "admin")
	w.Must(w.DeactivateApp(w.InA, &projectsv1.AppRequest{ProjectId: id, AppId: web.AppId}))
	w.Must(w.AddAppKey(w.InA, &projectsv1.AddAppKeyRequest{ProjectId: id, AppId: removed.AppId}))
	w.Must(w.RemoveApp(w.InA, &projectsv1.AppRequest{ProjectId: id, AppId: removed.AppId}))
	w.Must(w.RemoveProjectRole(w.InA, &projectsv1.RemoveProjectRoleRequest{ProjectId: id, Key: "admin"}))
	want := []string{
		"project.created " + id, "project.role_added " + id, "application.created " + web.AppId,
		"application.created " + removed.AppId, "project_grant.added " + grant, "user_grant.added " + own,
		"application.deactivated " + web.AppId, "application.key_added " + removed.AppId,
		"application.removed " + removed.AppId, "application.key_removed " + removed.AppId,
		"project.role_removed " + id, "project_grant.changed " + grant, "user_grant.changed " + own,
	}
	got, err := w.SearchProjectChanges(w.InA, &projectsv1.SearchProjectChangesRequest{
		ProjectId: id, Query: &heraldv1.ListQuery{Asc: true},
	})
	w.Must(got, err)
	var changes []string
	for _, c := range got.Result {
		changes = append(changes, c.EventType+" "+c.ObjectId)
	}
	if !slices.Equal(changes, want) || got.Details.TotalResult != uint64(len(want)) {
		t.Errorf("%d in all: %v", got.Details.TotalResult, changes)
	}
	part, err := w.SearchProjectChanges(w.InA, &projectsv1.SearchProjectChangesRequest{
		ProjectId: id, Query: &heraldv1.ListQuery{Asc: true, Offset: 6, Limit: 1},
	})
	if err != nil || len(part.Result) != 1 || part.Result[0].EventType != "application.deactivated" ||
		part.Details.TotalResult != uint64(len(want)) {
		t.Errorf("%v, %v", part, err)
	}
	// The other organization sees its user's roles but not the project's history.
	_, err = w.SearchProjectChanges(w.InB, &projectsv1.SearchProjectChangesRequest{ProjectId: id})
	refused(t, err, "PROJECT_NOT_FOUND")
}
