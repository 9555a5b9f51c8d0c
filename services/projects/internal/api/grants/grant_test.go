package grants_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"herald/services/projects/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

var refused, race, once = testkit.Refused, testkit.Race, testkit.Once

// has returns the roles of a user's grant.
func has(ctx context.Context, w *testworld.World, userID, id string) []string {
	w.Helper()
	r, err := w.GetUserGrant(ctx, &projectsv1.GetUserGrantRequest{UserId: userID, GrantId: id})
	w.Must(r, err)
	return r.UserGrant.RoleKeys
}

func TestProjectGrantIsRefused(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "admin", "clerk", "guest")
	w.Grant(id, "org-c")
	for name, c := range map[string]struct {
		org, fault string
		keys       []string
		parts      []string
	}{
		"to the owner": {"org-a", "PROJECT_GRANT_TO_OWNER", nil, []string{"grantedOrgId"}},
		"to nobody":    {"nowhere", "GRANTED_ORG_UNKNOWN", nil, nil},
		"again":        {"org-c", "PROJECT_GRANT_EXISTS", nil, nil},
		"of no role": {"org-b", "PROJECT_ROLE_UNKNOWN", []string{"admin", "boss"},
			[]string{"roleKeys[1]", "boss"}},
		"of a role twice": {"org-b", "INVALID_ARGUMENT", []string{"admin", "admin"}, []string{"roleKeys"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.AddProjectGrant(w.InA, &projectsv1.AddProjectGrantRequest{
				ProjectId: id, GrantedOrgId: c.org, RoleKeys: c.keys,
			})
			refused(t, err, c.fault, c.parts...)
		})
	}
}

func TestProjectGrantIsSeenByBothOrganizations(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "admin", "clerk", "guest")
	made, err := w.AddProjectGrant(w.InA, &projectsv1.AddProjectGrantRequest{
		ProjectId: id, GrantedOrgId: "org-b", RoleKeys: []string{"guest", "admin"},
	})
	w.Must(made, err)
	want := &projectsv1.ProjectGrant{
		Id: made.GrantId, Details: made.Details, GrantedOrgId: "org-b", RoleKeys: []string{"admin", "guest"},
		State: projectsv1.ProjectGrantState_PROJECT_GRANT_STATE_ACTIVE, ProjectId: id, ProjectName: "Shop",
		Acceptance: pending,
	}
	got, err := w.GetProjectGrant(w.InA, &projectsv1.GetProjectGrantRequest{ProjectId: id, GrantId: made.GrantId})
	w.Must(got, err)
	testkit.Equal(t, got.ProjectGrant, want)
	toC := w.Grant(id, "org-c")
	for name, c := range map[string]struct {
		filter *projectsv1.ProjectGrantFilter
		id     string
	}{
		"role": {&projectsv1.ProjectGrantFilter{
			RoleKeyQuery: &projectsv1.ProjectGrantRoleKeyQuery{RoleKey: "guest"},
		}, made.GrantId},
		"organization": {&projectsv1.ProjectGrantFilter{
			GrantedOrgIdQuery: &projectsv1.ProjectGrantGrantedOrgIdQuery{GrantedOrgId: "org-c"},
		}, toC},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := w.SearchProjectGrants(w.InA, &projectsv1.SearchProjectGrantsRequest{
				ProjectId: id, Queries: []*projectsv1.ProjectGrantFilter{c.filter},
			})
			if err != nil || list.Details.TotalResult != 1 || len(list.Result) != 1 || list.Result[0].Id != c.id {
				t.Fatalf("%v, %v", list, err)
			}
			if c.id == made.GrantId {
				testkit.Equal(t, list.Result[0], want)
			}
		})
	}
	granted, err := w.SearchGrantedProjects(w.InB,
		&projectsv1.SearchGrantedProjectsRequest{Queries: []*projectsv1.GrantedProjectFilter{{
			ProjectNameQuery: &projectsv1.GrantedProjectNameQuery{
				ProjectName: "sho", Method: heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE,
			},
			ProjectResourceOwnerQuery: &projectsv1.ProjectResourceOwnerQuery{ResourceOwner: "org-a"},
		}}})
	if err != nil || granted.Details.TotalResult != 1 {
		t.Fatalf("%v, %v", granted, err)
	}
	testkit.Equal(t, granted.Result[0], &projectsv1.GrantedProject{
		ProjectGrantId: made.GrantId, Details: made.Details, ProjectId: id, ProjectName: "Shop",
		RoleKeys:     []string{"admin", "guest"},
		State:        projectsv1.ProjectGrantState_PROJECT_GRANT_STATE_ACTIVE,
		ProjectState: projectsv1.ProjectState_PROJECT_STATE_ACTIVE,
		Acceptance:   pending,
	})
	if own, err := w.SearchProjects(w.InB, &projectsv1.SearchProjectsRequest{}); err != nil ||
		own.Details.TotalResult != 0 {
		t.Errorf("a granted project shows among the own ones: %v, %v", own, err)
	}
	if none, err := w.SearchGrantedProjects(w.InA, &projectsv1.SearchGrantedProjectsRequest{}); err != nil ||
		none.Details.TotalResult != 0 {
		t.Errorf("%v, %v", none, err)
	}
}

func TestProjectGrantIsDeactivatedOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	this := &projectsv1.ProjectGrantRequest{ProjectId: id, GrantId: w.Grant(id, "org-b")}
	_, err := w.ReactivateProjectGrant(w.InA, this)
	refused(t, err, "PROJECT_GRANT_NOT_INACTIVE")
	once(t, 20, func(int) error {
		_, err := w.DeactivateProjectGrant(w.InA, this)
		return err
	}, "PROJECT_GRANT_NOT_ACTIVE")
	w.Must(w.ReactivateProjectGrant(w.InA, this))
	w.Must(w.RemoveProjectGrant(w.InA, this))
	_, err = w.RemoveProjectGrant(w.InA, this)
	refused(t, err, "PROJECT_GRANT_NOT_FOUND")
}

// adding returns a function that adds a user's grant in an organization.
func adding(w *testworld.World) func(ctx context.Context, user, project, grant string, keys ...string) error {
	return func(ctx context.Context, user, project, grant string, keys ...string) error {
		_, err := w.AddUserGrant(ctx, &projectsv1.AddUserGrantRequest{
			UserId: user, ProjectId: project, ProjectGrantId: grant, RoleKeys: keys,
		})
		return err
	}
}

func TestUserGrantIsRefused(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "admin", "clerk", "guest")
	grantID := w.Grant(id, "org-b", "clerk", "guest")
	type in = []string
	for name, c := range map[string]struct {
		inA                  bool
		user, project, grant string
		keys                 in
		fault                string
		parts                in
	}{
		"no user":          {true, "nobody", id, "", nil, "USER_NOT_FOUND", nil},
		"no project":       {true, "user-org-a", "nothing", "", nil, "USER_GRANT_PROJECT_UNKNOWN", nil},
		"no project's id":  {true, "user-org-a", "", "", nil, "INVALID_ARGUMENT", in{"projectId"}},
		"no grant's id":    {false, "user-org-b", id, "", nil, "USER_GRANT_PROJECT_UNKNOWN", nil},
		"grant to another": {true, "user-org-a", id, grantID, nil, "USER_GRANT_PROJECT_GRANT_UNKNOWN", nil},
		"no grant":         {false, "user-org-b", id, "nothing", nil, "USER_GRANT_PROJECT_GRANT_UNKNOWN", nil},
		"grant of another": {false, "user-org-b", "nothing", grantID, nil, "USER_GRANT_PROJECT_GRANT_UNKNOWN", nil},
		"no role":          {true, "user-org-a", id, "", in{"boss"}, "PROJECT_ROLE_UNKNOWN", in{"roleKeys[0]", "boss"}},
		"no role of the grant": {false, "user-org-b", id, grantID, in{"guest", "admin"}, "PROJECT_ROLE_UNKNOWN",
			in{"roleKeys[1]", "admin"}},
		"a foreign user": {false, "user-org-c", id, grantID, in{"guest"}, "USER_NOT_FOUND", nil},
		// The answer does not show whether the user exists.
		"no role and no user": {true, "nobody", id, "", in{"boss"}, "PROJECT_ROLE_UNKNOWN", nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := w.InB
			if c.inA {
				ctx = w.InA
			}
			refused(t, adding(w)(ctx, c.user, c.project, c.grant, c.keys...), c.fault, c.parts...)
		})
	}
}

func TestUserHasOneGrantOfAProject(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "admin")
	grantID := w.Grant(id, "org-b")
	add := adding(w)
	once(t, 20, func(int) error {
		return add(w.InA, "user-org-c", id, "", "admin")
	}, "USER_GRANT_EXISTS")
	once(t, 20, func(int) error { return add(w.InB, "user-org-b", id, grantID) }, "USER_GRANT_EXISTS")
}

func TestUserGrantIsReadAndReplaced(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "admin", "clerk", "guest")
	made, err := w.AddUserGrant(w.InA, &projectsv1.AddUserGrantRequest{
		UserId: "user-org-a", ProjectId: id, RoleKeys: []string{"guest", "clerk"},
	})
	w.Must(made, err)
	got, err := w.GetUserGrant(w.InA, &projectsv1.GetUserGrantRequest{UserId: "user-org-a", GrantId: made.GrantId})
	w.Must(got, err)
	testkit.Equal(t, got.UserGrant, &projectsv1.UserGrant{
		Id: made.GrantId, Details: made.Details, UserId: "user-org-a", ProjectId: id, ProjectName: "Shop",
		RoleKeys: []string{"clerk", "guest"},
	})
	update := &projectsv1.UpdateUserGrantRequest{
		UserId: "user-org-a", GrantId: made.GrantId, RoleKeys: []string{"admin"},
	}
	changed, err := w.UpdateUserGrant(w.InA, update)
	w.Must(changed, err)
	again, err := w.UpdateUserGrant(w.InA, update)
	w.Must(again, err)
	testkit.Equal(t, again, changed)
	if roles := has(w.InA, w, "user-org-a", made.GrantId); !slices.Equal(roles, []string{"admin"}) {
		t.Errorf("roles %v", roles)
	}
}

func TestSearchFindsUserGrants(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "admin", "clerk")
	grantID := w.Grant(id, "org-b", "clerk")
	first := w.Give(w.InA, "user-org-c", id, "", "admin")
	second := w.Give(w.InA, "user-org-a", id, "", "admin", "clerk")
	by := w.Give(w.InB, "user-org-b", id, grantID)
	for label, c := range map[string]struct {
		ctx    context.Context
		filter *projectsv1.UserGrantFilter
		want   []string
	}{
		"all": {w.InA, nil, []string{second, first}},
		"user": {w.InA, &projectsv1.UserGrantFilter{
			UserIdQuery: &projectsv1.UserGrantUserIdQuery{UserId: "user-org-c"},
		}, []string{first}},
		"project": {w.InA, &projectsv1.UserGrantFilter{
			ProjectIdQuery: &projectsv1.UserGrantProjectIdQuery{ProjectId: "nothing"},
		}, nil},
		"role": {w.InA, &projectsv1.UserGrantFilter{
			RoleKeyQuery: &projectsv1.UserGrantRoleKeyQuery{RoleKey: "clerk"},
		}, []string{second}},
		"by grant": {w.InB, &projectsv1.UserGrantFilter{
			ProjectGrantIdQuery: &projectsv1.UserGrantProjectGrantIdQuery{ProjectGrantId: grantID},
		}, []string{by}},
	} {
		t.Run(label, func(t *testing.T) {
			r := &projectsv1.SearchUserGrantsRequest{}
			if c.filter != nil {
				r.Queries = append(r.Queries, c.filter)
			}
			list, err := w.SearchUserGrants(c.ctx, r)
			w.Must(list, err)
			var ids []string
			for _, g := range list.Result {
				ids = append(ids, g.Id)
			}
			if !slices.Equal(ids, c.want) || list.Details.TotalResult != uint64(len(c.want)) {
				t.Errorf("%v, want %v", list, c.want)
			}
		})
	}
}

func TestUserGrantIsOfItsUserOnly(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	grantID := w.Give(w.InA, "user-org-a", id, "")
	const of = "user-org-c" // another user of the organization
	_, err := w.GetUserGrant(w.InA, &projectsv1.GetUserGrantRequest{UserId: of, GrantId: grantID})
	refused(t, err, "USER_GRANT_NOT_FOUND")
	_, err = w.UpdateUserGrant(w.InA, &projectsv1.UpdateUserGrantRequest{UserId: of, GrantId: grantID})
	refused(t, err, "USER_GRANT_NOT_FOUND")
	_, err = w.RemoveUserGrant(w.InA, &projectsv1.RemoveUserGrantRequest{UserId: of, GrantId: grantID})
	refused(t, err, "USER_GRANT_NOT_FOUND")
	this := &projectsv1.RemoveUserGrantRequest{UserId: "user-org-a", GrantId: grantID}
	w.Must(w.RemoveUserGrant(w.InA, this))
	_, err = w.RemoveUserGrant(w.InA, this)
	refused(t, err, "USER_GRANT_NOT_FOUND")
	if w.Rows(`events where aggregate = 'user_grant' and name = 'removed' and organization_id = 'org-a'
		and data = jsonb_build_object('userId', 'user-org-a', 'projectId', $1::text)`, id) != 1 {
		t.Error("the removal's event is missing")
	}
}

// checkLossEvents fails the test unless each object that lost a removed role has an event. The objects are a project
// grant, a user's grant by the project's owner (own), and one by the project grant (other), which had lost roles
// before.
func checkLossEvents(w *testworld.World, removed uint64, grant *projectsv1.ProjectGrant, own, other string) {
	w.Helper()
	if w.Rows(`events e join events c on c.id = e.data ->> 'cause' where c.position = $1 and c.name = 'role_removed'
		and e.position = $2 and e.aggregate = 'project_grant' and e.name = 'changed' and e.aggregate_id = $3`,
		removed, grant.Details.Sequence, grant.Id) != 1 {
		w.Error("the grant's sequence is not that of its own event")
	}
	for id, times := range map[string]int{own: 1, other: 2} {
		if n := w.Rows(`events e join events c on c.id = e.data ->> 'cause' where e.aggregate = 'user_grant'
			and e.name = 'changed' and e.aggregate_id = $1 and e.data -> 'changed' = '["roleKeys"]'
			and (c.name = 'role_removed' or c.aggregate_id = $2)`, id, grant.Id); n != times {
			w.Errorf("%d events of a user's grant", n)
		}
		if w.Rows("user_grants u join events e on e.position = u.sequence where u.id = $1 and e.aggregate_id = $1",
			id) != 1 {
			w.Error("the user's grant's sequence is not that of its own event")
		}
	}
}

// A user loses a role when the role or the project grant is removed, or the grant loses the role.
func TestUsersLoseRemovedRoles(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "admin", "clerk", "guest")
	grantID := w.Grant(id, "org-b", "admin", "clerk", "guest")
	own := w.Give(w.InA, "user-org-a", id, "", "admin", "clerk")
	other := w.Give(w.InB, "user-org-b", id, grantID, "admin", "clerk", "guest")
	check := func(step string, inA, inB []string) {
		t.Helper()
		if got := has(w.InA, w, "user-org-a", own); !slices.Equal(got, inA) {
			t.Errorf("%s: the owner's user has %v, want %v", step, got, inA)
		}
		if got := has(w.InB, w, "user-org-b", other); !slices.Equal(got, inB) {
			t.Errorf("%s: the other's user has %v, want %v", step, got, inB)
		}
	}
	changed, err := w.UpdateProjectGrant(w.InA, &projectsv1.UpdateProjectGrantRequest{ProjectId: id, GrantId: grantID,
		RoleKeys: []string{"guest", "admin"}})
	w.Must(changed, err)
	check("a smaller grant", []string{"admin", "clerk"}, []string{"admin", "guest"})
	again, err := w.UpdateProjectGrant(w.InA, &projectsv1.UpdateProjectGrantRequest{
		ProjectId: id, GrantId: grantID, RoleKeys: []string{"admin", "guest"},
	})
	w.Must(again, err)
	testkit.Equal(t, again, changed)
	_, err = w.UpdateUserGrant(w.InB, &projectsv1.UpdateUserGrantRequest{
		UserId: "user-org-b", GrantId: other, RoleKeys: []string{"clerk"},
	})
	refused(t, err, "PROJECT_ROLE_UNKNOWN", "clerk")
	removed, err := w.RemoveProjectRole(w.InA, &projectsv1.RemoveProjectRoleRequest{ProjectId: id, Key: "admin"})
	w.Must(removed, err)
	check("a removed role", []string{"clerk"}, []string{"guest"})
	g, err := w.GetProjectGrant(w.InA, &projectsv1.GetProjectGrantRequest{ProjectId: id, GrantId: grantID})
	if err != nil || !slices.Equal(g.ProjectGrant.RoleKeys, []string{"guest"}) ||
		g.ProjectGrant.Details.Sequence <= removed.Details.Sequence {
		t.Errorf("%v, %v", g, err)
	}
	checkLossEvents(w, removed.Details.Sequence, g.ProjectGrant, own, other)
	this := &projectsv1.ProjectGrantRequest{ProjectId: id, GrantId: grantID}
	w.Must(w.DeactivateProjectGrant(w.InA, this))
	_, err = w.AddUserGrant(w.InB, &projectsv1.AddUserGrantRequest{
		UserId: "user-org-b", ProjectId: id, ProjectGrantId: grantID,
	})
	refused(t, err, "PROJECT_GRANT_NOT_ACTIVE")
	w.Must(w.RemoveProjectGrant(w.InA, this))
	_, err = w.GetUserGrant(w.InB, &projectsv1.GetUserGrantRequest{UserId: "user-org-b", GrantId: other})
	refused(t, err, "USER_GRANT_NOT_FOUND")
	if w.Rows(`events e join events c on c.id = e.data ->> 'cause' where e.aggregate = 'user_grant'
		and e.name = 'removed' and e.aggregate_id = $1 and c.name = 'removed'
			and c.aggregate_id = $2`, other, grantID) != 1 {
		t.Error("the user's grant has no event")
	}
	w.Must(w.RemoveProject(w.InA, &projectsv1.RemoveProjectRequest{ProjectId: id}))
	if n := w.Rows("roles") + w.Rows("project_grants") + w.Rows("user_grants"); n != 0 {
		t.Errorf("%d rows are left of a removed project", n)
	}
}

// After simultaneous grants and removals nobody has a removed role, and there is no deadlock.
func TestRoleGrantedDuringItsRemovalIsNotKept(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	refusals := []string{"PROJECT_ROLE_UNKNOWN", "PROJECT_ROLE_NOT_FOUND", "USER_GRANT_OUTDATED", "PROJECT_NOT_FOUND",
		"PROJECT_GRANT_NOT_FOUND",
		"USER_GRANT_PROJECT_UNKNOWN", "USER_GRANT_PROJECT_GRANT_UNKNOWN", "USER_GRANT_EXISTS", "PROJECT_GRANT_EXISTS",
		"PROJECT_ROLE_EXISTS"}
	for round := range 6 {
		id := w.Project(w.InA, "Shop "+string(rune('a'+round)))
		w.AddRoles(w.InA, id, "admin", "clerk")
		grantID := w.Grant(id, "org-b", "admin", "clerk")
		race(t, 24, func(i int) error {
			var err error
			switch {
			case i == 11:
				_, err = w.RemoveProjectRole(w.InA, &projectsv1.RemoveProjectRoleRequest{ProjectId: id, Key: "admin"})
			case i == 17:
				_, err = w.UpdateProjectGrant(w.InA, &projectsv1.UpdateProjectGrantRequest{
					ProjectId: id, GrantId: grantID, RoleKeys: []string{"admin"},
				})
			case i == 23 && round%2 == 1:
				_, err = w.RemoveProject(w.InA, &projectsv1.RemoveProjectRequest{ProjectId: id})
			case i%3 == 0:
				_, err = w.AddUserGrant(w.InA, &projectsv1.AddUserGrantRequest{UserId: "user-" + string(rune('a'+i)),
					ProjectId: id, RoleKeys: []string{"admin", "clerk"}})
			case i%3 == 1:
				_, err = w.AddUserGrant(w.InB, &projectsv1.AddUserGrantRequest{
					UserId: "user-org-b", ProjectId: id, ProjectGrantId: grantID, RoleKeys: []string{"admin", "clerk"},
				})
			default:
				_, err = w.AddProjectGrant(w.InA, &projectsv1.AddProjectGrantRequest{
					ProjectId: id, GrantedOrgId: "org-" + string(rune('c'+i)), RoleKeys: []string{"admin"},
				})
			}
			return err
		}, refusals...)
	}
	if n := w.Rows(`user_grants u where not role_keys <@ array(select key from roles r where r.project_id = ` +
		`u.project_id)`); n != 0 {
		t.Errorf("%d users have removed roles", n)
	}
	if n := w.Rows(`project_grants g where not role_keys <@ array(select key from roles r where r.project_id = ` +
		`g.project_id)`); n != 0 {
		t.Errorf("%d grants have removed roles", n)
	}
	if n := w.Rows(`user_grants u join project_grants g on g.id = u.project_grant_id where not u.role_keys <@ ` +
		`g.role_keys`); n != 0 {
		t.Errorf("%d users have roles that their grant lacks", n)
	}
}
