package projects_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/caller"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// The creator of a project becomes its owner, unless the creator's roles have all permissions on every
// project of the organization.
func TestProjectCreators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, as := range []context.Context{w.inA, w.with("org-a", caller.Membership{Roles: []string{"IAM_OWNER"}}),
		w.as("org-a", "ORG_PROJECT_CREATOR")} {
		made, err := w.CreateProject(as, &projectsv1.CreateProjectRequest{Name: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		var want []*usersv1.MakeProjectOwnerRequest
		owner := ""
		if i == 2 {
			owner = "user-org-a"
			want = append(want, &usersv1.MakeProjectOwnerRequest{OrgId: "org-a", ProjectId: made.Id, UserId: owner})
		}
		if got := w.users.owners; !slices.EqualFunc(got, want, func(a, b *usersv1.MakeProjectOwnerRequest) bool {
			return proto.Equal(a, b)
		}) {
			t.Errorf("users heard %v, want %v", got, want)
		}
		if w.rows("events where aggregate_id = $1 and coalesce(data->>'ownerId', '') = $2", made.Id, owner) != 1 {
			t.Errorf("the event does not name %q", owner)
		}
	}
}

func TestProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const labeling = projectsv1.PrivateLabelingSetting_PRIVATE_LABELING_SETTING_ENFORCE_PROJECT_RESOURCE_OWNER_POLICY
	made, err := w.CreateProject(w.inA, &projectsv1.CreateProjectRequest{
		Name: " Shop ", HasProjectCheck: true, PrivateLabelingSetting: labeling,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.GetProject(w.inA, &projectsv1.GetProjectRequest{ProjectId: made.Id})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got.Project, &projectsv1.Project{
		Id: made.Id, Details: made.Details, Name: "Shop", State: projectsv1.ProjectState_PROJECT_STATE_ACTIVE,
		HasProjectCheck: true, PrivateLabelingSetting: labeling,
	})
	_, err = w.CreateProject(w.inA, &projectsv1.CreateProjectRequest{Name: "Shop"})
	refused(t, err, "PROJECT_NAME_TAKEN")
	w.project(w.inB, "Shop")
	lower := w.project(w.inA, "shop")

	update := &projectsv1.UpdateProjectRequest{ProjectId: made.Id, Name: "Store", ProjectRoleCheck: true}
	changed, err := w.UpdateProject(w.inA, update)
	if err != nil || changed.Details.Sequence <= made.Details.Sequence || changed.Details.CreationDate != nil {
		t.Fatalf("%v, %v", changed, err)
	}
	again, err := w.UpdateProject(w.inA, update)
	if err != nil {
		t.Fatal(err)
	}
	same(t, again, changed)
	if n := w.rows(`events where data->'changed' = '["name", "projectRoleCheck", "hasProjectCheck", ` +
		`"privateLabelingSetting"]'`); n != 1 {
		t.Errorf("%d events of the change", n)
	}
	_, err = w.UpdateProject(w.inA, &projectsv1.UpdateProjectRequest{ProjectId: made.Id, Name: "shop"})
	refused(t, err, "PROJECT_NAME_TAKEN")
	for _, name := range []string{"", "  ", "a\nb"} {
		_, err = w.UpdateProject(w.inA, &projectsv1.UpdateProjectRequest{ProjectId: made.Id, Name: name})
		refused(t, err, "INVALID_ARGUMENT", "name")
	}
	got, err = w.GetProject(w.inA, &projectsv1.GetProjectRequest{ProjectId: made.Id})
	if err != nil || got.Project.Name != "Store" || got.Project.HasProjectCheck || !got.Project.ProjectRoleCheck ||
		got.Project.Details.Sequence != changed.Details.Sequence {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := w.RemoveProject(w.inA, &projectsv1.RemoveProjectRequest{ProjectId: made.Id}); err != nil {
		t.Fatal(err)
	}
	_, err = w.RemoveProject(w.inA, &projectsv1.RemoveProjectRequest{ProjectId: made.Id})
	refused(t, err, "PROJECT_NOT_FOUND")
	w.project(w.inA, "Store")
	if _, err := w.GetProject(w.inA, &projectsv1.GetProjectRequest{ProjectId: lower}); err != nil {
		t.Errorf("another project: %v", err)
	}
}

// Objects that are removed with their project have events, with the project's event as the cause.
func TestRemovedWithProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, other := w.project(w.inA, "Shop"), w.project(w.inA, "Other")
	w.roles(w.inA, id, "admin", "guest")
	w.roles(w.inA, other, "admin")
	for _, sql := range []string{
		`insert into applications (id, project_id, org_id, name, name_folded, state, api_config, sequence, created_at,
			changed_at) select 'app of ' || $1, $1, 'org-a', '', '', 1, '{}', 1, now(), now()`,
		`insert into application_keys (id, application_id, public_key, expires_at, sequence, created_at, changed_at)
			select 'key of ' || $1, 'app of ' || $1, '', now(), 1, now(), now()`,
		`insert into project_grants (id, project_id, granted_org_id, role_keys, state, sequence, created_at, changed_at)
			select 'grant of ' || $1, $1, 'org-b', '{admin}', 1, 1, now(), now()`,
		`insert into user_grants (id, org_id, user_id, project_id, project_grant_id, role_keys, sequence, created_at,
			changed_at) select 'own of ' || $1, 'org-a', 'u', $1, null, '{admin}'::text[], 1, now(), now() union all
			select 'theirs of ' || $1, 'org-b', 'u', $1, 'grant of ' || $1, '{admin}', 1, now(), now()`,
	} {
		for _, project := range []string{id, other} {
			if _, err := w.service.DB.Exec(t.Context(), sql, project); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := w.RemoveProject(w.inA, &projectsv1.RemoveProjectRequest{ProjectId: id}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"project.role_removed " + id + ` org-a {"key": "admin"}`,
		"project.role_removed " + id + ` org-a {"key": "guest"}`,
		"application.removed app of " + id + ` org-a {"projectId": "` + id + `"}`,
		"application.key_removed app of " + id + ` org-a {"keyId": "key of ` + id + `", "projectId": "` + id + `"}`,
		"project_grant.removed grant of " + id + ` org-a {"projectId": "` + id + `", "grantedOrgId": "org-b"}`,
		"user_grant.removed own of " + id + ` org-a {"userId": "u", "projectId": "` + id + `"}`,
		"user_grant.removed theirs of " + id + ` org-b {"userId": "u", "projectId": "` + id + `"}`,
	} {
		if w.rows(`events e join events c on c.id = e.data ->> 'cause' where c.name = 'removed' and c.aggregate_id = $1
			and e.aggregate || '.' || e.name || ' ' || e.aggregate_id || ' ' || e.organization_id || ' ' ||
				(e.data - 'cause')::text = $2`, id, want) != 1 {
			t.Errorf("there is no event %s", want)
		}
	}
	if n := w.rows("events where data ? 'cause'"); n != 7+1 { // one more: the second role
		t.Errorf("%d events have a cause", n)
	}
	if w.rows("applications") != 1 || w.rows("application_keys") != 1 || w.rows("user_grants") != 2 ||
		w.rows("roles") != 1 {
		t.Error("not the project's parts are gone, or more")
	}
}

// Other services find a project in its own organization only.
func TestResolveProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.project(w.inA, "Shop")
	users := projectsv1.NewInternalClient(testkit.Calls(t, w.ground, "users"))
	if _, err := users.ResolveProject(t.Context(), &projectsv1.ResolveProjectRequest{OrgId: "org-a",
		ProjectId: id}); err != nil {
		t.Error(err)
	}
	_, err := users.ResolveProject(t.Context(), &projectsv1.ResolveProjectRequest{OrgId: "org-b", ProjectId: id})
	refused(t, err, "PROJECT_NOT_FOUND")
	_, err = users.ResolveProject(t.Context(), &projectsv1.ResolveProjectRequest{OrgId: "org-a", ProjectId: "nothing"})
	refused(t, err, "PROJECT_NOT_FOUND")
}

// A project is created also while users is away.
func TestProjectIsCreatedWhileUsersIsAway(t *testing.T) {
	t.Parallel()
	w := &world{TB: t, ground: testkit.Ground(t)}
	w.start()
	id := w.project(w.inA, "Shop")
	if w.rows("outbox") > 1 ||
		w.rows("events where name = 'created' and aggregate_id = $1 and actor = 'user-org-a'", id) != 1 {
		t.Error("the event does not name the creator")
	}
}

func TestSearchProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := []string{"Straße", "shop_1", "Shop%", "SHOP", "workshop"}
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = w.project(w.inA, name)
	}
	w.project(w.inB, "shop_1")
	name := func(text string, method heraldv1.TextQueryMethod) *projectsv1.ProjectFilter {
		return &projectsv1.ProjectFilter{NameQuery: &projectsv1.ProjectNameQuery{Name: text, Method: method}}
	}
	owner := func(id string) *projectsv1.ProjectFilter {
		return &projectsv1.ProjectFilter{
			ProjectResourceOwnerQuery: &projectsv1.ProjectResourceOwnerQuery{ResourceOwner: id},
		}
	}
	type filters = []*projectsv1.ProjectFilter
	for label, c := range map[string]struct {
		filters filters
		want    []int
	}{
		"all":                    {nil, []int{4, 3, 2, 1, 0}},
		"equals":                 {filters{name("SHOP", 0)}, []int{3}},
		"equals ignoring case":   {filters{name("sTRASSE", 1)}, []int{0}},
		"starts":                 {filters{name("shop", 2)}, []int{1}},
		"starts ignoring case":   {filters{name("shop", 3)}, []int{3, 2, 1}},
		"contains":               {filters{name("hop", 4)}, []int{4, 2, 1}},
		"contains ignoring case": {filters{name("hOp", 5)}, []int{4, 3, 2, 1}},
		"ends":                   {filters{name("shop", 6)}, []int{4}},
		"ends ignoring case":     {filters{name("Shop", 7)}, []int{4, 3}},
		"percent":                {filters{name("%", 4)}, []int{2}},
		"underline":              {filters{name("p_", 5)}, []int{1}},
		"empty equals":           {filters{name("", 0), name("", 1)}, nil},
		"empty starts": {filters{name("", 2), name("", 3), name("", 4), name("", 5), name("", 6),
			name("", 7)}, []int{4, 3, 2, 1, 0}},
		"and":             {filters{name("shop", 3), name("1", 6)}, []int{1}},
		"own":             {filters{owner("org-a")}, []int{4, 3, 2, 1, 0}},
		"foreign":         {filters{owner("org-b")}, nil},
		"own and foreign": {filters{owner("org-a"), owner("org-b")}, nil},
		"both members": {
			filters{{NameQuery: &projectsv1.ProjectNameQuery{Name: "SHOP"},
				ProjectResourceOwnerQuery: &projectsv1.ProjectResourceOwnerQuery{ResourceOwner: "org-a"}}}, []int{3},
		},
	} {
		var want []string
		for _, n := range c.want {
			want = append(want, ids[n])
		}
		found(t, label, want, func(q *heraldv1.ListQuery) ([]string, *heraldv1.ListDetails, error) {
			got, err := w.SearchProjects(w.inA, &projectsv1.SearchProjectsRequest{Query: q, Queries: c.filters})
			return projectIDs(got), got.GetDetails(), err
		})
	}
	_, err := w.SearchProjects(w.inA, &projectsv1.SearchProjectsRequest{Queries: filters{{}}})
	refused(t, err, "INVALID_ARGUMENT", "queries[0]")
	_, err = w.SearchProjects(w.inA, &projectsv1.SearchProjectsRequest{Query: &heraldv1.ListQuery{Limit: 1001}})
	refused(t, err, "LIMIT_EXCEEDED", "1000")
}

// A user with roles on projects only sees these projects; a user without roles sees none.
func TestVisibleProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.project(w.inA, "First"), w.project(w.inA, "Second")
	foreign := w.project(w.inB, "Foreign")
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
		got, err := w.SearchProjects(w.with("org-a", c.memberships...), &projectsv1.SearchProjectsRequest{})
		if err != nil || !slices.Equal(projectIDs(got), c.want) || got.Details.TotalResult != uint64(len(c.want)) ||
			got.Details.ViewTimestamp == nil {
			t.Errorf("%s: %v, %v", label, got, err)
		}
	}
}

func projectIDs(r *projectsv1.SearchProjectsResponse) (ids []string) {
	for _, p := range r.GetResult() {
		ids = append(ids, p.Id)
	}
	return ids
}

// found checks that a search finds the ids, newest first, in both orders, and its second page of one.
func found(
	t *testing.T, label string, ids []string,
	search func(*heraldv1.ListQuery) ([]string, *heraldv1.ListDetails, error),
) {
	t.Helper()
	for _, asc := range []bool{false, true} {
		want := slices.Clone(ids)
		if asc {
			slices.Reverse(want)
		}
		got, list, err := search(&heraldv1.ListQuery{Asc: asc})
		if err != nil || !slices.Equal(got, want) || list.TotalResult != uint64(len(want)) {
			t.Errorf("%s: %v %v, %v", label, got, list, err)
		}
		got, list, err = search(&heraldv1.ListQuery{Asc: asc, Offset: 1, Limit: 1})
		if err != nil || !slices.Equal(got, want[min(1, len(want)):min(2, len(want))]) ||
			list.TotalResult != uint64(len(want)) {
			t.Errorf("%s, second: %v %v, %v", label, got, list, err)
		}
	}
}
