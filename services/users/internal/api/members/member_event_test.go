package members_test

import (
	"fmt"
	"slices"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// The events of a membership, and the list of memberships, say where its roles are: in the instance,
// in an organization or on a project.
func TestPlacesOfMembers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	did := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	did(w.Gateway.AddIamMember(w.Admin, &usersv1.AddMemberRequest{UserId: id, Roles: []string{"IAM_OWNER"}}))
	did(w.Gateway.AddOrgMember(w.Admin, &usersv1.AddMemberRequest{UserId: id, Roles: []string{"ORG_OWNER"}}))
	did(w.Gateway.AddProjectMember(w.Admin, &usersv1.AddProjectMemberRequest{ProjectId: "shop", UserId: id,
		Roles: []string{"PROJECT_OWNER"}}))
	owners, err := w.Gateway.SearchIamMembers(w.Admin, &usersv1.SearchMembersRequest{
		Queries: []*usersv1.MemberFilter{{UserIdQuery: &usersv1.MemberUserIdQuery{UserId: id}}},
	})
	if err != nil || len(owners.Result) != 1 || owners.Result[0].UserId != id {
		t.Errorf("%v, %v", owners, err)
	}
	list, err := w.Gateway.SearchMyMemberships(w.Login(w.Admin, id, ""), &usersv1.SearchMyMembershipsRequest{})
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
		fmt.Sprintf(`instance false, org %q, project ""`, w.OrgID),
		`instance true, org "", project ""`}; !slices.Equal(places, want) {
		t.Errorf("listed as %q, want %q", places, want)
	}

	did(w.Gateway.UpdateIamMember(w.Admin, &usersv1.UpdateMemberRequest{UserId: id,
		Roles: []string{"IAM_OWNER_VIEWER"}}))
	did(w.Gateway.UpdateOrgMember(w.Admin, &usersv1.UpdateMemberRequest{UserId: id,
		Roles: []string{"ORG_OWNER_VIEWER"}}))
	did(w.Gateway.UpdateProjectMember(w.Admin, &usersv1.UpdateProjectMemberRequest{ProjectId: "shop", UserId: id,
		Roles: []string{"PROJECT_OWNER_VIEWER"}}))
	did(w.Gateway.RemoveIamMember(w.Admin, &usersv1.RemoveMemberRequest{UserId: id}))
	did(w.Gateway.RemoveOrgMember(w.Admin, &usersv1.RemoveMemberRequest{UserId: id}))
	did(w.Gateway.RemoveProjectMember(w.Admin, &usersv1.RemoveProjectMemberRequest{ProjectId: "shop", UserId: id}))
	for _, name := range []string{"added", "changed", "removed"} {
		for place, c := range map[string]struct {
			instance bool
			project  string
		}{"the instance": {true, ""}, "an organization": {false, ""}, "a project": {false, "shop"}} {
			if n := w.Rows(`events where aggregate = 'member' and name = $1 and data->>'userId' = $2
				and coalesce((data->>'instance')::boolean, false) = $3 and coalesce(data->>'projectId', '') = $4`,
				name, id, c.instance, c.project); n != 1 {
				t.Errorf("%d events %s of roles in %s", n, name, place)
			}
		}
	}
}
