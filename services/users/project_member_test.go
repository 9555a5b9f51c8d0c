package users_test

import (
	"context"
	"testing"

	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// shop is a double of the service projects with one project.
type shop struct {
	projectsv1.UnimplementedInternalServer
	orgID string
}

var errNoProject = fault.New(fault.NotFound, "PROJECT_NOT_FOUND", "Project not found")

func (s shop) ResolveProject(
	_ context.Context, r *projectsv1.ResolveProjectRequest,
) (*projectsv1.ResolveProjectResponse, error) {
	if r.OrgId != s.orgID || r.ProjectId != "shop" {
		return nil, errNoProject
	}
	return &projectsv1.ResolveProjectResponse{}, nil
}

func TestProjectMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	testkit.Serve(t, w.ground, "projects", shop{orgID: w.orgID}, &projectsv1.Internal_ServiceDesc)
	add := func(ctx context.Context, project, user string, roles ...string) error {
		_, err := w.gateway.AddProjectMember(ctx, &usersv1.AddProjectMemberRequest{
			ProjectId: project, UserId: user, Roles: roles,
		})
		return err
	}
	ada, bob := w.person(w.admin, "ada"), w.person(w.admin, "bob")
	refused(t, add(w.admin, "shop", ada, "ORG_OWNER"), "ROLE_UNKNOWN")
	refused(t, add(w.admin, "shop", "nobody", "PROJECT_OWNER"), "USER_NOT_FOUND")
	if n := w.rows("members where project_id <> ''"); n != 0 {
		t.Fatalf("%d members", n)
	}

	if err := add(w.admin, "shop", ada, "PROJECT_OWNER"); err != nil {
		t.Fatal(err)
	}
	refused(t, add(w.admin, "shop", ada, "PROJECT_OWNER"), "MEMBER_EXISTS")
	owner := w.login(w.admin, ada, "") // an owner of this project only
	if err := add(owner, "shop", bob, "PROJECT_OWNER_VIEWER"); err != nil {
		t.Fatal(err)
	}
	viewer := w.login(w.admin, bob, "")
	refused(t, add(viewer, "shop", w.adminID, "PROJECT_OWNER_VIEWER"), "PERMISSION_DENIED")

	list, err := w.gateway.SearchProjectMembers(viewer, &usersv1.SearchProjectMembersRequest{ProjectId: "shop"})
	if err != nil || len(list.Result) != 2 || list.Result[0].UserId != bob ||
		list.Result[1].Roles[0] != "PROJECT_OWNER" {
		t.Errorf("%v, %v", list, err)
	}
	_, err = w.gateway.SearchProjectMembers(w.admin, &usersv1.SearchProjectMembersRequest{ProjectId: "nothing"})
	refused(t, err, "PROJECT_NOT_FOUND")
	if orgs, err := w.gateway.SearchOrgMembers(w.admin, &usersv1.SearchMembersRequest{}); err != nil ||
		orgs.Details.TotalResult != 0 {
		t.Errorf("members of the organization: %v, %v", orgs, err)
	}

	changed, err := w.gateway.UpdateProjectMember(owner, &usersv1.UpdateProjectMemberRequest{
		ProjectId: "shop", UserId: bob, Roles: []string{"PROJECT_OWNER"},
	})
	if err != nil || changed.Details.Sequence <= list.Result[0].Details.Sequence {
		t.Errorf("%v, %v", changed, err)
	}
	if _, err := w.gateway.RemoveProjectMember(owner, &usersv1.RemoveProjectMemberRequest{ProjectId: "shop",
		UserId: bob}); err != nil {
		t.Error(err)
	}
	_, err = w.gateway.RemoveProjectMember(owner, &usersv1.RemoveProjectMemberRequest{ProjectId: "shop", UserId: bob})
	refused(t, err, "MEMBER_NOT_FOUND")
	refused(t, add(w.login(w.admin, bob, ""), "shop", w.adminID, "PROJECT_OWNER"), "PERMISSION_DENIED")
}
