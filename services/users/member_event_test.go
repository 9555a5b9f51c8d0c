package users_test

import (
	"fmt"
	"slices"
	"testing"

	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// The events of a membership, and the list of memberships, say where its roles are: in the instance,
// in an organization or on a project.
func TestPlacesOfMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	testkit.Serve(t, w.ground, "projects", shop{orgID: w.orgID}, &projectsv1.Internal_ServiceDesc)
	id := w.person(w.admin, "mini")
	did := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	did(w.gateway.AddIamMember(w.admin, &usersv1.AddMemberRequest{UserId: id, Roles: []string{"IAM_OWNER"}}))
	did(w.gateway.AddOrgMember(w.admin, &usersv1.AddMemberRequest{UserId: id, Roles: []string{"ORG_OWNER"}}))
	did(w.gateway.AddProjectMember(w.admin, &usersv1.AddProjectMemberRequest{ProjectId: "shop", UserId: id,
		Roles: []string{"PROJECT_OWNER"}}))
	owners, err := w.gateway.SearchIamMembers(w.admin, &usersv1.SearchMembersRequest{
		Queries: []*usersv1.MemberFilter{{UserIdQuery: &usersv1.MemberUserIdQuery{UserId: id}}},
	})
	if err != nil || len(owners.Result) != 1 || owners.Result[0].UserId != id {
		t.Errorf("%v, %v", owners, err)
	}
	list, err := w.gateway.SearchMyMemberships(w.login(w.admin, id, ""), &usersv1.SearchMyMembershipsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, m := range list.Result {
		places = append(places, fmt.Sprintf("instance %t, org %q, project %q", m.GetInstance(), m.GetOrgId(),
			m.GetProjectId()))
	}
	slices.Sort(places)
	if want := []string{`instance false, org "", project "shop"`,
		fmt.Sprintf(`instance false, org %q, project ""`, w.orgID),
		`instance true, org "", project ""`}; !slices.Equal(places, want) {
		t.Errorf("listed as %q, want %q", places, want)
	}

	did(w.gateway.UpdateIamMember(w.admin, &usersv1.UpdateMemberRequest{UserId: id,
		Roles: []string{"IAM_OWNER_VIEWER"}}))
	did(w.gateway.UpdateOrgMember(w.admin, &usersv1.UpdateMemberRequest{UserId: id,
		Roles: []string{"ORG_OWNER_VIEWER"}}))
	did(w.gateway.UpdateProjectMember(w.admin, &usersv1.UpdateProjectMemberRequest{ProjectId: "shop", UserId: id,
		Roles: []string{"PROJECT_OWNER_VIEWER"}}))
	did(w.gateway.RemoveIamMember(w.admin, &usersv1.RemoveMemberRequest{UserId: id}))
	did(w.gateway.RemoveOrgMember(w.admin, &usersv1.RemoveMemberRequest{UserId: id}))
	did(w.gateway.RemoveProjectMember(w.admin, &usersv1.RemoveProjectMemberRequest{ProjectId: "shop", UserId: id}))
	for _, name := range []string{"added", "changed", "removed"} {
		for place, c := range map[string]struct {
			instance bool
			project  string
		}{"the instance": {true, ""}, "an organization": {false, ""}, "a project": {false, "shop"}} {
			if n := w.rows(`events where aggregate = 'member' and name = $1 and data->>'userId' = $2
				and coalesce((data->>'instance')::boolean, false) = $3 and coalesce(data->>'projectId', '') = $4`,
				name, id, c.instance, c.project); n != 1 {
				t.Errorf("%d events %s of roles in %s", n, name, place)
			}
		}
	}
}
