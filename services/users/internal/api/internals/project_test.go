package internals_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// projects is a double of the service projects.
type projects struct {
	*testworld.World
	testworld.Client
	testkit.Publisher
}

func newProjects(w *testworld.World) projects {
	w.Helper()
	return projects{w, testworld.NewClient(testkit.Calls(w, w.Ground, "projects")),
		testworld.Kit.Publisher(w, w.Ground, "projects")}
}

// publish publishes an event of a project, caused by a user, and returns its id.
func (p projects) publish(projectID, userID string, m proto.Message) string {
	p.World.Helper()
	return p.Publish(p.OrgID, projectID, userID, m)
}

// until waits for a condition on the members to hold.
func until(w *testworld.World, condition string, args ...any) {
	w.Helper()
	testkit.Until(w, w.Service.DB, "members", condition, args...)
}

// A project's creator becomes its owner once, by a call or by the project's event: not again after
// the role was removed, and not after the project was.
func TestProjectOwners(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	p := newProjects(w)
	id := w.Person(w.Admin, "mini")
	owners := func(project string) int {
		return w.Rows("members where user_id = $1 and org_id = $2 and project_id = $3 and roles = '{PROJECT_OWNER}'",
			id, w.OrgID, project)
	}
	own := &usersv1.MakeProjectOwnerRequest{OrgId: w.OrgID, ProjectId: "p1", UserId: id}
	if n := testkit.Race(t, 20, func(int) error {
		_, err := p.MakeProjectOwner(t.Context(), own)
		return err
	}); n != 20 || owners("p1") != 1 || w.Rows("events where aggregate = 'member' and data->>'projectId' = 'p1'") != 1 {
		t.Error("20 calls at once did not make one owner, once")
	}
	if asMini := w.Caller(w.Admin, id, ""); !asMini.Can("project.write", "p1") || asMini.Can("project.write", "p2") ||
		asMini.Can("project.write", "") {
		t.Errorf("the owner is %+v", asMini)
	}
	_, err := p.MakeProjectOwner(t.Context(), &usersv1.MakeProjectOwnerRequest{
		OrgId: w.OrgID, ProjectId: "p0", UserId: "nobody",
	})
	testkit.Refused(t, err, "USER_NOT_FOUND")

	p.publish("p2", id, &projectsv1.ProjectCreated{OwnerId: id})
	until(w, "exists (select from members where project_id = 'p2')")
	if owners("p2") != 1 {
		t.Error("the event made another owner")
	}
	w.Must(w.Service.DB.Exec(t.Context(), "delete from members where project_id = 'p2'"))
	p.publish("p2", id, &projectsv1.ProjectCreated{OwnerId: id}) // delivered again
	p.publish("p2", "nobody", &projectsv1.ProjectCreated{OwnerId: "nobody"})
	w.Must(w.Service.DB.Exec(t.Context(), `insert into members (user_id, org_id, project_id, roles, state,
			sequence, created_at, changed_at)
		values ($1, $2, 'p2', '{PROJECT_OWNER_VIEWER}', 1, 1, now(), now())`, id, w.OrgID))
	gone := p.publish("p2", id, &projectsv1.ProjectRemoved{})
	until(w, "not exists (select from members where project_id = 'p2')")
	if w.Rows(`events where aggregate = 'member' and name = 'removed' and aggregate_id = $1 and organization_id = $2
		and actor = $1 and data = jsonb_build_object('userId', $1::text, 'projectId', 'p2', 'cause', $3::text)`,
		id, w.OrgID, gone) != 1 {
		t.Error("the member's removal has no event")
	}
	if _, err := p.MakeProjectOwner(t.Context(), &usersv1.MakeProjectOwnerRequest{OrgId: w.OrgID, ProjectId: "p2",
		UserId: id}); err != nil || owners("p2") != 0 {
		t.Errorf("a project that is gone has an owner: %v", err)
	}
	if owners("p1") != 1 {
		t.Error("another project's owner is gone too")
	}
	if n := w.Rows("events where aggregate = 'member' and name = 'added' and data->>'projectId' = 'p2'"); n != 1 {
		t.Errorf("%d owners were made", n)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	p := newProjects(w)
	orgA, inA := w.Org("A")
	id := w.Person(inA, "mini")
	user, err := p.ResolveUser(t.Context(), &usersv1.ResolveUserRequest{UserId: id})
	if want := (&usersv1.ResolveUserResponse{OrgId: orgA, State: usersv1.UserState_USER_STATE_ACTIVE,
		Type: usersv1.UserType_USER_TYPE_HUMAN}); err != nil || !proto.Equal(user, want) {
		t.Errorf("%v, %v", user, err)
	}
	if of, err := p.ResolveUser(t.Context(), &usersv1.ResolveUserRequest{UserId: id, OrgId: orgA}); err != nil ||
		!proto.Equal(of, user) {
		t.Errorf("in its organization: %v, %v", of, err)
	}
	_, err = p.ResolveUser(t.Context(), &usersv1.ResolveUserRequest{UserId: id, OrgId: w.OrgID})
	testkit.Refused(t, err, "USER_NOT_FOUND")
	_, err = p.ResolveUser(t.Context(), &usersv1.ResolveUserRequest{UserId: "nobody"})
	testkit.Refused(t, err, "USER_NOT_FOUND")
	org, err := p.ResolveOrg(t.Context(), &usersv1.ResolveOrgRequest{OrgId: orgA})
	if want := (&usersv1.ResolveOrgResponse{Name: "A", State: usersv1.OrgState_ORG_STATE_ACTIVE}); err != nil ||
		!proto.Equal(org, want) {
		t.Errorf("%v, %v", org, err)
	}
	orgB, inB := w.Org("B")
	owner := w.Person(inB, "owner")
	w.Must(w.Gateway.AddOrgMember(inB, &usersv1.AddMemberRequest{UserId: owner, Roles: []string{"ORG_OWNER"}}))
	for _, c := range []struct {
		user, org string
		want      bool
	}{{w.AdminID, orgA, true}, {owner, orgB, true}, {owner, orgA, false}, {id, orgA, false}, {"nobody", orgA, false}} {
		got, err := p.ResolveOrg(t.Context(), &usersv1.ResolveOrgRequest{OrgId: c.org, UserId: c.user,
			Permission: "project.grant.write"})
		if err != nil || got.Permitted != c.want {
			t.Errorf("%s in %s: %v, %v", c.user, c.org, got, err)
		}
	}
	_, err = p.ResolveOrg(t.Context(), &usersv1.ResolveOrgRequest{OrgId: "nowhere"})
	testkit.Refused(t, err, "ORG_NOT_FOUND")
}
