package projects_test

import (
	"slices"
	"testing"

	"herald/services/projects/internal/apitest"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

func TestHistoryNamesEditorsAndPages(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	id := w.Project(w.InA, "Shop")
	w.Project(w.InA, "Other")
	w.AddRoles(w.InA, id, "admin")
	w.Must(w.DeactivateProject(w.InA, &projectsv1.DeactivateProjectRequest{ProjectId: id}))
	w.Must(w.ReactivateProject(w.InA, &projectsv1.ReactivateProjectRequest{ProjectId: id}))
	got, err := w.SearchProjectChanges(w.InA, &projectsv1.SearchProjectChangesRequest{ProjectId: id})
	if err != nil || got.Details.TotalResult != 4 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, want := range []string{
		"project.reactivated", "project.deactivated", "project.role_added", "project.created",
	} {
		if c := got.Result[i]; c.EventType != want || c.EditorId != "user-org-a" || c.ChangeDate == nil ||
			c.Sequence == 0 {
			t.Errorf("change %d is %v, want %s", i, c, want)
		}
	}
	if key := got.Result[2].Data.Fields["key"].GetStringValue(); key != "admin" {
		t.Errorf("role added: %v", got.Result[2])
	}
	if g := got.Result[1].Data.Fields["generation"].GetStringValue(); g != "2" {
		t.Errorf("generation %q", g)
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
	w := apitest.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "admin")
	web, gone := w.WebApp(w.InA, id, "Web"), w.WebApp(w.InA, id, "Gone")
	other := w.Project(w.InA, "Other")
	w.WebApp(w.InA, other, "Web")
	grant := w.Grant(id, "org-b", "admin")
	own := w.Give(w.InA, "user-org-a", id, "", "admin")
	w.Give(w.InB, "user-org-b", id, grant, "admin")
	w.Must(w.DeactivateApp(w.InA, &projectsv1.AppRequest{ProjectId: id, AppId: web.AppId}))
	w.Must(w.AddAppKey(w.InA, &projectsv1.AddAppKeyRequest{ProjectId: id, AppId: gone.AppId}))
	w.Must(w.RemoveApp(w.InA, &projectsv1.AppRequest{ProjectId: id, AppId: gone.AppId}))
	w.Must(w.RemoveProjectRole(w.InA, &projectsv1.RemoveProjectRoleRequest{ProjectId: id, Key: "admin"}))
	want := []string{
		"project.created " + id, "project.role_added " + id, "application.created " + web.AppId,
		"application.created " + gone.AppId, "project_grant.added " + grant, "user_grant.added " + own,
		"application.deactivated " + web.AppId, "application.key_added " + gone.AppId,
		"application.removed " + gone.AppId, "application.key_removed " + gone.AppId,
		"project.role_removed " + id, "project_grant.changed " + grant, "user_grant.changed " + own,
	}
	got, err := w.SearchProjectChanges(w.InA, &projectsv1.SearchProjectChangesRequest{
		ProjectId: id, Query: &heraldv1.ListQuery{Asc: true},
	})
	if err != nil {
		t.Fatal(err)
	}
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
