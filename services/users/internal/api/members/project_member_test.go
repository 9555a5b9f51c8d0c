package members_test

import (
	"context"
	"testing"

	"herald/services/users/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestProjectMembers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	testkit.Serve(t, w.Ground, "projects", testworld.Shop{OrgID: w.OrgID}, &projectsv1.Internal_ServiceDesc)
	add := func(ctx context.Context, project, user string, roles ...string) error {
		_, err := w.Gateway.AddProjectMember(ctx, &usersv1.AddProjectMemberRequest{
			ProjectId: project, UserId: user, Roles: roles,
		})
		return err
	}
	ada, bob := w.Person(w.Admin, "ada"), w.Person(w.Admin, "bob")
	testkit.Refused(t, add(w.Admin, "shop", ada, "ORG_OWNER"), "ROLE_UNKNOWN")
	testkit.Refused(t, add(w.Admin, "shop", "nobody", "PROJECT_OWNER"), "USER_NOT_FOUND")
	if n := w.Rows("members where project_id <> ''"); n != 0 {
		t.Fatalf("%d members", n)
	}

	w.Must(nil, add(w.Admin, "shop", ada, "PROJECT_OWNER"))
	testkit.Refused(t, add(w.Admin, "shop", ada, "PROJECT_OWNER"), "MEMBER_EXISTS")
	owner := w.Login(w.Admin, ada, "") // an owner of this project only
	if err := add(owner, "shop", bob, "PROJECT_OWNER_VIEWER"); err != nil {
		t.Fatal(err)
	}
	viewer := w.Login(w.Admin, bob, "")
	testkit.Refused(t, add(viewer, "shop", w.AdminID, "PROJECT_OWNER_VIEWER"), "PERMISSION_DENIED")

	list, err := w.Gateway.SearchProjectMembers(viewer, &usersv1.SearchProjectMembersRequest{ProjectId: "shop"})
	if err != nil || len(list.Result) != 2 || list.Result[0].UserId != bob ||
		list.Result[1].Roles[0] != "PROJECT_OWNER" {
		t.Errorf("%v, %v", list, err)
	}
	_, err = w.Gateway.SearchProjectMembers(w.Admin, &usersv1.SearchProjectMembersRequest{ProjectId: "nothing"})
	testkit.Refused(t, err, "PROJECT_NOT_FOUND")
	if orgs, err := w.Gateway.SearchOrgMembers(w.Admin, &usersv1.SearchMembersRequest{}); err != nil ||
		orgs.Details.TotalResult != 0 {
		t.Errorf("members of the organization: %v, %v", orgs, err)
	}

	changed, err := w.Gateway.UpdateProjectMember(owner, &usersv1.UpdateProjectMemberRequest{
		ProjectId: "shop", UserId: bob, Roles: []string{"PROJECT_OWNER"},
	})
	if err != nil || changed.Details.Sequence <= list.Result[0].Details.Sequence {
		t.Errorf("%v, %v", changed, err)
	}
	w.Must(w.Gateway.RemoveProjectMember(owner, &usersv1.RemoveProjectMemberRequest{ProjectId: "shop",
		UserId: bob}))
	_, err = w.Gateway.RemoveProjectMember(owner, &usersv1.RemoveProjectMemberRequest{ProjectId: "shop", UserId: bob})
	testkit.Refused(t, err, "MEMBER_NOT_FOUND")
	testkit.Refused(t, add(w.Login(w.Admin, bob, ""), "shop", w.AdminID, "PROJECT_OWNER"), "PERMISSION_DENIED")
}
