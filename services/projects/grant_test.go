package projects_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	projectsv1 "herald/shared/gen/herald/projects/v1"
)

// grant grants a project of org-a and returns the grant's id.
func (w *world) grant(projectID, orgID string, keys ...string) string {
	w.Helper()
	r, err := w.AddProjectGrant(w.inA, &projectsv1.AddProjectGrantRequest{
		ProjectId: projectID, GrantedOrgId: orgID, RoleKeys: keys,
	})
	if err != nil {
		w.Fatal(err)
	}
	return r.GrantId
}

// give grants a user roles, with a project grant if grantID is not empty.
func (w *world) give(ctx context.Context, userID, projectID, grantID string, keys ...string) string {
	w.Helper()
	r, err := w.AddUserGrant(ctx, &projectsv1.AddUserGrantRequest{
		UserId: userID, ProjectId: projectID, ProjectGrantId: grantID, RoleKeys: keys,
	})
	if err != nil {
		w.Fatal(err)
	}
	return r.GrantId
}

// has returns the roles of a user's grant.
func (w *world) has(ctx context.Context, userID, id string) []string {
	w.Helper()
	r, err := w.GetUserGrant(ctx, &projectsv1.GetUserGrantRequest{UserId: userID, GrantId: id})
	if err != nil {
		w.Fatal(err)
	}
	return r.UserGrant.RoleKeys
}

func TestProjectGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.project(w.inA, "Shop")
	w.roles(w.inA, id, "admin", "clerk", "guest")
	add := func(ctx context.Context, project, org string, keys ...string) error {
		_, err := w.AddProjectGrant(ctx, &projectsv1.AddProjectGrantRequest{
			ProjectId: project, GrantedOrgId: org, RoleKeys: keys,
		})
		return err
	}
	refused(t, add(w.inA, id, "org-a"), "PROJECT_GRANT_TO_OWNER", "grantedOrgId")
	refused(t, add(w.inA, id, "nowhere"), "GRANTED_ORG_UNKNOWN")
	refused(t, add(w.inA, id, "org-b", "admin", "boss"), "PROJECT_ROLE_UNKNOWN", "roleKeys[1]", "boss")
	refused(t, add(w.inA, id, "org-b", "admin", "admin"), "INVALID_ARGUMENT", "roleKeys")
	made, err := w.AddProjectGrant(w.inA, &projectsv1.AddProjectGrantRequest{
		ProjectId: id, GrantedOrgId: "org-b", RoleKeys: []string{"guest", "admin"},
	})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, add(w.inA, id, "org-b"), "PROJECT_GRANT_EXISTS")
	got, err := w.GetProjectGrant(w.inA, &projectsv1.GetProjectGrantRequest{ProjectId: id, GrantId: made.GrantId})
	if err != nil {
		t.Fatal(err)
	}
	want := &projectsv1.ProjectGrant{
		Id: made.GrantId, Details: made.Details, GrantedOrgId: "org-b", RoleKeys: []string{"admin", "guest"},
		State: projectsv1.ProjectGrantState_PROJECT_GRANT_STATE_ACTIVE, ProjectId: id, ProjectName: "Shop",
	}
	same(t, got.ProjectGrant, want)
	w.grant(id, "org-c")
	list, err := w.SearchProjectGrants(w.inA, &projectsv1.SearchProjectGrantsRequest{ProjectId: id,
		Queries: []*projectsv1.ProjectGrantFilter{
			{RoleKeyQuery: &projectsv1.ProjectGrantRoleKeyQuery{RoleKey: "guest"}},
		}})
	if err != nil || list.Details.TotalResult != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	same(t, list.Result[0], want)
	list, err = w.SearchProjectGrants(w.inA, &projectsv1.SearchProjectGrantsRequest{
		ProjectId: id, Queries: []*projectsv1.ProjectGrantFilter{
			{GrantedOrgIdQuery: &projectsv1.ProjectGrantGrantedOrgIdQuery{GrantedOrgId: "org-c"}},
		},
	})
	if err != nil || list.Details.TotalResult != 1 || list.Result[0].GrantedOrgId != "org-c" {
		t.Errorf("%v, %v", list, err)
	}

	granted, err := w.SearchGrantedProjects(w.inB,
		&projectsv1.SearchGrantedProjectsRequest{Queries: []*projectsv1.GrantedProjectFilter{{
			ProjectNameQuery:          &projectsv1.GrantedProjectNameQuery{ProjectName: "sho", Method: 3},
			ProjectResourceOwnerQuery: &projectsv1.ProjectResourceOwnerQuery{ResourceOwner: "org-a"},
		}}})
	if err != nil || granted.Details.TotalResult != 1 {
		t.Fatalf("%v, %v", granted, err)
	}
	same(t, granted.Result[0], &projectsv1.GrantedProject{
		ProjectGrantId: made.GrantId, Details: made.Details, ProjectId: id, ProjectName: "Shop",
		RoleKeys:     []string{"admin", "guest"},
		State:        projectsv1.ProjectGrantState_PROJECT_GRANT_STATE_ACTIVE,
		ProjectState: projectsv1.ProjectState_PROJECT_STATE_ACTIVE,
	})
	if own, err := w.SearchProjects(w.inB, &projectsv1.SearchProjectsRequest{}); err != nil ||
		own.Details.TotalResult != 0 {
		t.Errorf("a granted project shows among the own ones: %v, %v", own, err)
	}
	if none, err := w.SearchGrantedProjects(w.inA, &projectsv1.SearchGrantedProjectsRequest{}); err != nil ||
		none.Details.TotalResult != 0 {
		t.Errorf("%v, %v", none, err)
	}
}

func TestProjectGrantStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.project(w.inA, "Shop")
	grantID := w.grant(id, "org-b")
	this := &projectsv1.ProjectGrantRequest{ProjectId: id, GrantId: grantID}
	_, err := w.ReactivateProjectGrant(w.inA, this)
	refused(t, err, "PROJECT_GRANT_NOT_INACTIVE")
	if n := race(t, 20, func(int) error {
		_, err := w.DeactivateProjectGrant(w.inA, this)
		return err
	}, "PROJECT_GRANT_NOT_ACTIVE"); n != 1 {
		t.Errorf("%d of 20 deactivations succeeded", n)
	}
	if _, err := w.ReactivateProjectGrant(w.inA, this); err != nil {
		t.Error(err)
	}
	if _, err := w.RemoveProjectGrant(w.inA, this); err != nil {
		t.Fatal(err)
	}
	_, err = w.RemoveProjectGrant(w.inA, this)
	refused(t, err, "PROJECT_GRANT_NOT_FOUND")
}

func (w *world) addUserGrant(ctx context.Context, user, project, grant string, keys ...string) error {
	_, err := w.AddUserGrant(ctx, &projectsv1.AddUserGrantRequest{
		UserId: user, ProjectId: project, ProjectGrantId: grant, RoleKeys: keys,
	})
	return err
}

func TestUserGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.project(w.inA, "Shop")
	w.roles(w.inA, id, "admin", "clerk", "guest")
	grantID := w.grant(id, "org-b", "clerk", "guest")
	add := w.addUserGrant
	refused(t, add(w.inA, "nobody", id, ""), "USER_NOT_FOUND")
	refused(t, add(w.inA, "user-org-a", "nothing", ""), "USER_GRANT_PROJECT_UNKNOWN")
	refused(t, add(w.inA, "user-org-a", "", ""), "INVALID_ARGUMENT", "projectId")
	refused(t, add(w.inB, "user-org-b", id, ""), "USER_GRANT_PROJECT_UNKNOWN") // without the grant's id
	refused(t, add(w.inA, "user-org-a", id, grantID), "USER_GRANT_PROJECT_GRANT_UNKNOWN")
	refused(t, add(w.inB, "user-org-b", id, "nothing"), "USER_GRANT_PROJECT_GRANT_UNKNOWN")
	refused(t, add(w.inB, "user-org-b", "nothing", grantID), "USER_GRANT_PROJECT_GRANT_UNKNOWN")
	refused(t, add(w.inA, "user-org-a", id, "", "boss"), "PROJECT_ROLE_UNKNOWN", "roleKeys[0]", "boss")
	refused(t, add(w.inB, "user-org-b", id, grantID, "guest", "admin"), "PROJECT_ROLE_UNKNOWN", "roleKeys[1]", "admin")
	refused(t, add(w.inB, "user-org-c", id, grantID, "guest"), "USER_NOT_FOUND")
	refused(t, add(w.inA, "nobody", id, "", "boss"), "PROJECT_ROLE_UNKNOWN") // not whether there is such a user
	if n := race(t, 20, func(int) error {
		return add(w.inA, "user-org-c", id, "", "admin")
	}, "USER_GRANT_EXISTS"); n != 1 {
		t.Errorf("%d of 20 creations succeeded", n)
	}
	if n := race(t, 20, func(int) error { return add(w.inB, "user-org-b", id, grantID) }, "USER_GRANT_EXISTS"); n != 1 {
		t.Errorf("%d of 20 creations by a grant succeeded", n)
	}
}

func TestReadAndChangeUserGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.project(w.inA, "Shop")
	w.roles(w.inA, id, "admin", "clerk", "guest")
	grantID := w.grant(id, "org-b", "clerk", "guest")
	if err := errors.Join(w.addUserGrant(w.inA, "user-org-c", id, "", "admin"),
		w.addUserGrant(w.inB, "user-org-b", id, grantID)); err != nil {
		t.Fatal(err)
	}
	made, err := w.AddUserGrant(w.inA, &projectsv1.AddUserGrantRequest{
		UserId: "user-org-a", ProjectId: id, RoleKeys: []string{"guest", "clerk"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.GetUserGrant(w.inA, &projectsv1.GetUserGrantRequest{UserId: "user-org-a", GrantId: made.GrantId})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got.UserGrant, &projectsv1.UserGrant{
		Id: made.GrantId, Details: made.Details, UserId: "user-org-a", ProjectId: id, ProjectName: "Shop",
		RoleKeys: []string{"clerk", "guest"},
	})
	update := &projectsv1.UpdateUserGrantRequest{
		UserId: "user-org-a", GrantId: made.GrantId, RoleKeys: []string{"admin"},
	}
	changed, err := w.UpdateUserGrant(w.inA, update)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.UpdateUserGrant(w.inA, update)
	if err != nil {
		t.Fatal(err)
	}
	same(t, again, changed)
	if roles := w.has(w.inA, "user-org-a", made.GrantId); !slices.Equal(roles, []string{"admin"}) {
		t.Errorf("roles %v", roles)
	}
	for label, c := range map[string]struct {
		ctx    context.Context
		filter *projectsv1.UserGrantFilter
		want   int
	}{
		"all": {w.inA, nil, 2},
		"user": {w.inA,
			&projectsv1.UserGrantFilter{UserIdQuery: &projectsv1.UserGrantUserIdQuery{UserId: "user-org-c"}}, 1},
		"project": {w.inA,
			&projectsv1.UserGrantFilter{ProjectIdQuery: &projectsv1.UserGrantProjectIdQuery{ProjectId: "nothing"}}, 0},
		"role": {w.inA, &projectsv1.UserGrantFilter{RoleKeyQuery: &projectsv1.UserGrantRoleKeyQuery{RoleKey: "admin"}},
			2},
		"by grant": {
			w.inB, &projectsv1.UserGrantFilter{
				ProjectGrantIdQuery: &projectsv1.UserGrantProjectGrantIdQuery{ProjectGrantId: grantID},
			}, 1,
		},
	} {
		r := &projectsv1.SearchUserGrantsRequest{}
		if c.filter != nil {
			r.Queries = append(r.Queries, c.filter)
		}
		if list, err := w.SearchUserGrants(c.ctx, r); err != nil || len(list.Result) != c.want ||
			list.Details.TotalResult != uint64(c.want) {
			t.Errorf("%s: %v, %v", label, list, err)
		}
	}
}

func TestRemoveUserGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.project(w.inA, "Shop")
	made, err := w.AddUserGrant(w.inA, &projectsv1.AddUserGrantRequest{UserId: "user-org-a", ProjectId: id})
	if err != nil {
		t.Fatal(err)
	}
	of := "user-org-c" // another user of the organization
	_, err = w.GetUserGrant(w.inA, &projectsv1.GetUserGrantRequest{UserId: of, GrantId: made.GrantId})
	refused(t, err, "USER_GRANT_NOT_FOUND")
	_, err = w.UpdateUserGrant(w.inA, &projectsv1.UpdateUserGrantRequest{UserId: of, GrantId: made.GrantId})
	refused(t, err, "USER_GRANT_NOT_FOUND")
	_, err = w.RemoveUserGrant(w.inA, &projectsv1.RemoveUserGrantRequest{UserId: of, GrantId: made.GrantId})
	refused(t, err, "USER_GRANT_NOT_FOUND")
	if _, err := w.RemoveUserGrant(w.inA, &projectsv1.RemoveUserGrantRequest{UserId: "user-org-a",
		GrantId: made.GrantId}); err != nil {
		t.Fatal(err)
	}
	_, err = w.RemoveUserGrant(w.inA, &projectsv1.RemoveUserGrantRequest{
		UserId: "user-org-a", GrantId: made.GrantId,
	})
	refused(t, err, "USER_GRANT_NOT_FOUND")
	if w.rows(`events where aggregate = 'user_grant' and name = 'removed' and organization_id = 'org-a' and data = `+
		`jsonb_build_object('userId', 'user-org-a', 'projectId', $1::text)`, id) != 1 {
		t.Error("the removal's event is missing")
	}
}

// tellOfTaken fails the test unless each object that lost a removed role has an event: a project
// grant, a user's grant by the project's owner (own), and one by the project grant (other), which
// had lost roles before.
func (w *world) tellOfTaken(removed uint64, grant *projectsv1.ProjectGrant, own, other string) {
	w.Helper()
	if w.rows(`events e join events c on c.id = e.data ->> 'cause' where c.position = $1 and c.name = 'role_removed'
		and e.position = $2 and e.aggregate = 'project_grant' and e.name = 'changed' and e.aggregate_id = $3`,
		removed, grant.Details.Sequence, grant.Id) != 1 {
		w.Error("the grant's sequence is not that of its own event")
	}
	for id, times := range map[string]int{own: 1, other: 2} {
		if n := w.rows(`events e join events c on c.id = e.data ->> 'cause' where e.aggregate = 'user_grant'
			and e.name = 'changed' and e.aggregate_id = $1 and e.data -> 'changed' = '["roleKeys"]'
			and (c.name = 'role_removed' or c.aggregate_id = $2)`, id, grant.Id); n != times {
			w.Errorf("%d events of a user's grant", n)
		}
		if w.rows("user_grants u join events e on e.position = u.sequence where u.id = $1 and e.aggregate_id = $1",
			id) != 1 {
			w.Error("the user's grant's sequence is not that of its own event")
		}
	}
}

// A user loses a role when the role or the project grant is removed, or the grant loses the role.
func TestUsersLoseRemovedRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.project(w.inA, "Shop")
	w.roles(w.inA, id, "admin", "clerk", "guest")
	grantID := w.grant(id, "org-b", "admin", "clerk", "guest")
	own := w.give(w.inA, "user-org-a", id, "", "admin", "clerk")
	other := w.give(w.inB, "user-org-b", id, grantID, "admin", "clerk", "guest")
	check := func(step string, inA, inB []string) {
		t.Helper()
		if got := w.has(w.inA, "user-org-a", own); !slices.Equal(got, inA) {
			t.Errorf("%s: the owner's user has %v, want %v", step, got, inA)
		}
		if got := w.has(w.inB, "user-org-b", other); !slices.Equal(got, inB) {
			t.Errorf("%s: the other's user has %v, want %v", step, got, inB)
		}
	}
	changed, err := w.UpdateProjectGrant(w.inA, &projectsv1.UpdateProjectGrantRequest{ProjectId: id, GrantId: grantID,
		RoleKeys: []string{"guest", "admin"}})
	if err != nil {
		t.Fatal(err)
	}
	check("a smaller grant", []string{"admin", "clerk"}, []string{"admin", "guest"})
	again, err := w.UpdateProjectGrant(w.inA, &projectsv1.UpdateProjectGrantRequest{
		ProjectId: id, GrantId: grantID, RoleKeys: []string{"admin", "guest"},
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, again, changed)
	_, err = w.UpdateUserGrant(w.inB, &projectsv1.UpdateUserGrantRequest{
		UserId: "user-org-b", GrantId: other, RoleKeys: []string{"clerk"},
	})
	refused(t, err, "PROJECT_ROLE_UNKNOWN", "clerk")
	removed, err := w.RemoveProjectRole(w.inA, &projectsv1.RemoveProjectRoleRequest{ProjectId: id, Key: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	check("a role that is gone", []string{"clerk"}, []string{"guest"})
	g, err := w.GetProjectGrant(w.inA, &projectsv1.GetProjectGrantRequest{ProjectId: id, GrantId: grantID})
	if err != nil || !slices.Equal(g.ProjectGrant.RoleKeys, []string{"guest"}) ||
		g.ProjectGrant.Details.Sequence <= removed.Details.Sequence {
		t.Errorf("%v, %v", g, err)
	}
	w.tellOfTaken(removed.Details.Sequence, g.ProjectGrant, own, other)
	this := &projectsv1.ProjectGrantRequest{ProjectId: id, GrantId: grantID}
	if _, err := w.DeactivateProjectGrant(w.inA, this); err != nil {
		t.Fatal(err)
	}
	_, err = w.AddUserGrant(w.inB, &projectsv1.AddUserGrantRequest{
		UserId: "user-org-b", ProjectId: id, ProjectGrantId: grantID,
	})
	refused(t, err, "PROJECT_GRANT_NOT_ACTIVE")
	if _, err := w.RemoveProjectGrant(w.inA, this); err != nil {
		t.Fatal(err)
	}
	_, err = w.GetUserGrant(w.inB, &projectsv1.GetUserGrantRequest{UserId: "user-org-b", GrantId: other})
	refused(t, err, "USER_GRANT_NOT_FOUND")
	if w.rows(`events e join events c on c.id = e.data ->> 'cause' where e.aggregate = 'user_grant'
		and e.name = 'removed' and e.aggregate_id = $1 and c.name = 'removed'
			and c.aggregate_id = $2`, other, grantID) != 1 {
		t.Error("the user's grant has no event")
	}
	if _, err := w.RemoveProject(w.inA, &projectsv1.RemoveProjectRequest{ProjectId: id}); err != nil {
		t.Fatal(err)
	}
	if n := w.rows("roles") + w.rows("project_grants") + w.rows("user_grants"); n != 0 {
		t.Errorf("%d rows are left of a project that is gone", n)
	}
}

// After simultaneous grants and removals nobody has a removed role, and there is no deadlock.
func TestRolesGivenWhileRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone := []string{"PROJECT_ROLE_UNKNOWN", "PROJECT_ROLE_NOT_FOUND", "USER_GRANT_OUTDATED", "PROJECT_NOT_FOUND",
		"PROJECT_GRANT_NOT_FOUND",
		"USER_GRANT_PROJECT_UNKNOWN", "USER_GRANT_PROJECT_GRANT_UNKNOWN", "USER_GRANT_EXISTS", "PROJECT_GRANT_EXISTS",
		"PROJECT_ROLE_EXISTS"}
	for round := range 6 {
		id := w.project(w.inA, "Shop "+string(rune('a'+round)))
		w.roles(w.inA, id, "admin", "clerk")
		grantID := w.grant(id, "org-b", "admin", "clerk")
		race(t, 24, func(i int) error {
			var err error
			switch {
			case i == 11:
				_, err = w.RemoveProjectRole(w.inA, &projectsv1.RemoveProjectRoleRequest{ProjectId: id, Key: "admin"})
			case i == 17:
				_, err = w.UpdateProjectGrant(w.inA, &projectsv1.UpdateProjectGrantRequest{
					ProjectId: id, GrantId: grantID, RoleKeys: []string{"admin"},
				})
			case i == 23 && round%2 == 1:
				_, err = w.RemoveProject(w.inA, &projectsv1.RemoveProjectRequest{ProjectId: id})
			case i%3 == 0:
				_, err = w.AddUserGrant(w.inA, &projectsv1.AddUserGrantRequest{UserId: "user-" + string(rune('a'+i)),
					ProjectId: id, RoleKeys: []string{"admin", "clerk"}})
			case i%3 == 1:
				_, err = w.AddUserGrant(w.inB, &projectsv1.AddUserGrantRequest{
					UserId: "user-org-b", ProjectId: id, ProjectGrantId: grantID, RoleKeys: []string{"admin", "clerk"},
				})
			default:
				_, err = w.AddProjectGrant(w.inA, &projectsv1.AddProjectGrantRequest{
					ProjectId: id, GrantedOrgId: "org-" + string(rune('c'+i)), RoleKeys: []string{"admin"},
				})
			}
			return err
		}, gone...)
	}
	if n := w.rows(`user_grants u where not role_keys <@ array(select key from roles r where r.project_id = ` +
		`u.project_id)`); n != 0 {
		t.Errorf("%d users have roles that are gone", n)
	}
	if n := w.rows(`project_grants g where not role_keys <@ array(select key from roles r where r.project_id = ` +
		`g.project_id)`); n != 0 {
		t.Errorf("%d grants hold roles that are gone", n)
	}
	if n := w.rows(`user_grants u join project_grants g on g.id = u.project_grant_id where not u.role_keys <@ ` +
		`g.role_keys`); n != 0 {
		t.Errorf("%d users have roles that their grant lacks", n)
	}
}
