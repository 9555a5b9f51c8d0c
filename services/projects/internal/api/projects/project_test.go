package projects_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/testworld"
	"herald/shared/caller"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

var refused = testkit.Refused

// The creator of a project becomes its owner, unless the creator's roles have all permissions on every
// project of the organization.
func TestCreatorBecomesOwnerWithoutAWiderRole(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	for name, c := range map[string]struct {
		creator context.Context
		owner   string
	}{
		"owner of the organization": {w.InA, ""},
		"owner of the instance":     {w.With("org-a", caller.Membership{Roles: []string{"IAM_OWNER"}}), ""},
		"creator of projects":       {w.As("org-a", "ORG_PROJECT_CREATOR"), "user-org-a"},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := w.CreateProject(c.creator, &projectsv1.CreateProjectRequest{Name: name})
			w.Must(made, err)
			var want []*usersv1.MakeProjectOwnerRequest
			if c.owner != "" {
				want = append(want,
					&usersv1.MakeProjectOwnerRequest{OrgId: "org-a", ProjectId: made.Id, UserId: c.owner})
			}
			got := w.Users.Owners
			w.Users.Owners = nil
			if !slices.EqualFunc(got, want, func(a, b *usersv1.MakeProjectOwnerRequest) bool {
				return proto.Equal(a, b)
			}) {
				t.Errorf("users received %v, want %v", got, want)
			}
			if w.Rows("events where aggregate_id = $1 and coalesce(data->>'ownerId', '') = $2", made.Id, c.owner) != 1 {
				t.Errorf("the event does not name %q", c.owner)
			}
		})
	}
}

// Whoever creates a project can read it after an answer of success. If users could not make the creator its owner yet,
// the answer says that the outcome is unknown; the project is there, and the event makes the owner.
func TestCreatorWhoIsNotOwnerYetIsNotToldOfSuccess(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	w.Users.NoOwner = fault.ErrUnavailable
	_, err := w.CreateProject(w.As("org-a", "ORG_PROJECT_CREATOR"), &projectsv1.CreateProjectRequest{Name: "Later"})
	refused(t, err, "OUTCOME_UNKNOWN")
	if w.Rows("events where name = 'created' and data->>'ownerId' = 'user-org-a'") != 1 {
		t.Error("no event makes the owner")
	}
}

func TestProjectNameIsOneOfItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, " Shop ")
	w.Project(w.InB, "Shop")
	w.Project(w.InA, "shop")
	_, err := w.CreateProject(w.InA, &projectsv1.CreateProjectRequest{Name: "Shop"})
	refused(t, err, "PROJECT_NAME_TAKEN")
	for name, want := range map[string]string{
		"shop": "PROJECT_NAME_TAKEN", "": "INVALID_ARGUMENT", "  ": "INVALID_ARGUMENT", "a\nb": "INVALID_ARGUMENT",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.UpdateProject(w.InA, &projectsv1.UpdateProjectRequest{ProjectId: id, Name: name})
			refused(t, err, want, "name")
		})
	}
	w.Must(w.RemoveProject(w.InA, &projectsv1.RemoveProjectRequest{ProjectId: id}))
	w.Project(w.InA, "Shop")
}

func TestProjectIsReadAndReplacedWhole(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	const labeling = projectsv1.PrivateLabelingSetting_PRIVATE_LABELING_SETTING_ENFORCE_PROJECT_RESOURCE_OWNER_POLICY
	made, err := w.CreateProject(w.InA, &projectsv1.CreateProjectRequest{
		Name: " Shop ", HasProjectCheck: true, PrivateLabelingSetting: labeling,
	})
	w.Must(made, err)
	read := func() *projectsv1.Project {
		t.Helper()
		got, err := w.GetProject(w.InA, &projectsv1.GetProjectRequest{ProjectId: made.Id})
		w.Must(got, err)
		return got.Project
	}
	want := &projectsv1.Project{
		Id: made.Id, Details: made.Details, Name: "Shop", State: projectsv1.ProjectState_PROJECT_STATE_ACTIVE,
		HasProjectCheck: true, PrivateLabelingSetting: labeling,
	}
	testkit.Equal(t, read(), want)
	update := &projectsv1.UpdateProjectRequest{ProjectId: made.Id, Name: "Store", ProjectRoleCheck: true}
	changed, err := w.UpdateProject(w.InA, update)
	w.Must(changed, err)
	if changed.Details.Sequence <= made.Details.Sequence || changed.Details.CreationDate != nil {
		t.Errorf("%v", changed)
	}
	again, err := w.UpdateProject(w.InA, update)
	w.Must(again, err)
	testkit.Equal(t, again, changed)
	if n := w.Rows(`events where data->'changed' =
		'["name", "projectRoleCheck", "hasProjectCheck", "privateLabelingSetting"]'`); n != 1 {
		t.Errorf("%d events of the change", n)
	}
	want.Details = proto.CloneOf(changed.Details)
	want.Details.CreationDate = made.Details.CreationDate
	want.Name, want.ProjectRoleCheck, want.HasProjectCheck, want.PrivateLabelingSetting = "Store", true, false, 0
	testkit.Equal(t, read(), want)
}

func TestProjectIsRemovedOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, other := w.Project(w.InA, "Shop"), w.Project(w.InA, "Other")
	w.Must(w.RemoveProject(w.InA, &projectsv1.RemoveProjectRequest{ProjectId: id}))
	_, err := w.RemoveProject(w.InA, &projectsv1.RemoveProjectRequest{ProjectId: id})
	refused(t, err, "PROJECT_NOT_FOUND")
	w.Must(w.GetProject(w.InA, &projectsv1.GetProjectRequest{ProjectId: other}))
}

func TestProjectIsCreatedWithoutTheServiceUsers(t *testing.T) {
	t.Parallel()
	w := testworld.NewWithoutUsers(t, testkit.Ground(t))
	id := w.Project(w.InA, "Shop")
	if w.Rows("outbox") > 1 ||
		w.Rows("events where name = 'created' and aggregate_id = $1 and actor = 'user-org-a'", id) != 1 {
		t.Error("the event does not name the creator")
	}
}

func TestSearchFindsProjectsByNameAndOwner(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	names := []string{"Straße", "shop_1", "Shop%", "SHOP", "workshop"}
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = w.Project(w.InA, name)
	}
	w.Project(w.InB, "shop_1")
	name := func(text string, method heraldv1.TextQueryMethod) *projectsv1.ProjectFilter {
		return &projectsv1.ProjectFilter{NameQuery: &projectsv1.ProjectNameQuery{Name: text, Method: method}}
	}
	owner := func(id string) *projectsv1.ProjectFilter {
		return &projectsv1.ProjectFilter{
			ProjectResourceOwnerQuery: &projectsv1.ProjectResourceOwnerQuery{ResourceOwner: id},
		}
	}
	both := name("SHOP", 0)
	both.ProjectResourceOwnerQuery = owner("org-a").ProjectResourceOwnerQuery
	type filters = []*projectsv1.ProjectFilter
	for label, c := range map[string]struct {
		filters filters
		want    []int
	}{
		"all":                  {nil, []int{4, 3, 2, 1, 0}},
		"equals":               {filters{name("SHOP", 0)}, []int{3}},
		"equals ignoring case": {filters{name("sTRASSE", 1)}, []int{0}},
		"starts ignoring case": {filters{name("shop", 3)}, []int{3, 2, 1}},
		"ends":                 {filters{name("shop", 6)}, []int{4}},
		"and":                  {filters{name("shop", 3), name("1", 6)}, []int{1}},
		"own":                  {filters{owner("org-a")}, []int{4, 3, 2, 1, 0}},
		"foreign":              {filters{owner("org-b")}, nil},
		"own and foreign":      {filters{owner("org-a"), owner("org-b")}, nil},
		"both members":         {filters{both}, []int{3}},
	} {
		t.Run(label, func(t *testing.T) {
			var want []string
			for _, n := range c.want {
				want = append(want, ids[n])
			}
			testworld.Found(t, want, func(q *heraldv1.ListQuery) ([]string, *heraldv1.ListDetails, error) {
				got, err := w.SearchProjects(w.InA, &projectsv1.SearchProjectsRequest{Query: q, Queries: c.filters})
				return projectIDs(got), got.GetDetails(), err
			})
		})
	}
	_, err := w.SearchProjects(w.InA, &projectsv1.SearchProjectsRequest{Queries: filters{{}}})
	refused(t, err, "INVALID_ARGUMENT", "queries[0]")
	_, err = w.SearchProjects(w.InA, &projectsv1.SearchProjectsRequest{Query: &heraldv1.ListQuery{Limit: 1001}})
	refused(t, err, "LIMIT_EXCEEDED", "1000")
}

// A user with roles on projects only sees these projects; a user without roles sees none.
// A name is stored, compared and searched in NFC: keyboards write the same letter in two ways.
func TestNamesOfProjectsAreInNFC(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	const composed, decomposed = "Caf\u00e9", "Cafe\u0301"
	id := w.Project(w.InA, decomposed)
	got, err := w.GetProject(w.InA, &projectsv1.GetProjectRequest{ProjectId: id})
	if err != nil || got.Project.Name != composed {
		t.Errorf("%+q, %v", got.GetProject().GetName(), err)
	}
	for _, name := range []string{composed, decomposed} {
		_, err := w.CreateProject(w.InA, &projectsv1.CreateProjectRequest{Name: name})
		testkit.Refused(t, err, "PROJECT_NAME_TAKEN")
		for method := range heraldv1.TextQueryMethod_name {
			query := &projectsv1.ProjectNameQuery{Name: name, Method: heraldv1.TextQueryMethod(method)}
			found, err := w.SearchProjects(w.InA, &projectsv1.SearchProjectsRequest{
				Queries: []*projectsv1.ProjectFilter{{NameQuery: query}},
			})
			if err != nil || len(found.Result) != 1 {
				t.Errorf("%+q, method %d: %v, %v", name, method, found, err)
			}
		}
	}
	before := w.Rows("events")
	w.Must(w.UpdateProject(w.InA, &projectsv1.UpdateProjectRequest{ProjectId: id, Name: decomposed}))
	if w.Rows("events") != before {
		t.Error("the same name is a change")
	}
}

func TestSearchFindsProjectsThatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	first, second := w.Project(w.InA, "First"), w.Project(w.InA, "Second")
	foreign := w.Project(w.InB, "Foreign")
	on := func(id string, roles ...string) caller.Membership {
		return caller.Membership{OrganizationID: "org-a", ProjectID: id, Roles: roles}
	}
	for label, c := range map[string]struct {
		memberships []caller.Membership
		want        []string
	}{
		"none": {nil, nil},
		"creator": {
			[]caller.Membership{{OrganizationID: "org-a", Roles: []string{"ORG_PROJECT_CREATOR"}}}, nil,
		},
		"reader": {
			[]caller.Membership{{OrganizationID: "org-a", Roles: []string{"ORG_USER_MANAGER"}}},
			[]string{second, first},
		},
		"everywhere": {[]caller.Membership{{Roles: []string{"IAM_OWNER_VIEWER"}}},
			[]string{second, first}},
		"elsewhere": {[]caller.Membership{{OrganizationID: "org-b", Roles: []string{"ORG_OWNER"}}},
			nil},
		"owner of one": {[]caller.Membership{on(first, "PROJECT_OWNER")}, []string{first}},
		"viewer of both": {[]caller.Membership{on(first, "PROJECT_OWNER_VIEWER"),
			on(second, "PROJECT_OWNER_VIEWER")}, []string{second, first}},
		"role of no project":     {[]caller.Membership{on(first, "ORG_OWNER")}, nil},
		"owner of a foreign one": {[]caller.Membership{on(foreign, "PROJECT_OWNER")}, nil},
		"owner beside a stranger": {[]caller.Membership{on(first, "PROJECT_OWNER"),
			{OrganizationID: "org-b", ProjectID: second, Roles: []string{"PROJECT_OWNER"}}}, []string{first}},
	} {
		t.Run(label, func(t *testing.T) {
			got, err := w.SearchProjects(w.With("org-a", c.memberships...), &projectsv1.SearchProjectsRequest{})
			if err != nil || !slices.Equal(projectIDs(got), c.want) || got.Details.TotalResult != uint64(len(c.want)) ||
				got.Details.ViewTimestamp == nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func projectIDs(r *projectsv1.SearchProjectsResponse) (ids []string) {
	for _, p := range r.GetResult() {
		ids = append(ids, p.Id)
	}
	return ids
}
