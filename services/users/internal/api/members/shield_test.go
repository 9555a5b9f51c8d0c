package members_test

import (
	"context"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// A role in another organization shields nobody. The user's own organization sees it, ends it and revokes tokens. The
// other organization does not see the name.
func TestRolesInOtherOrganizationsProtectNobody(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	orgB, inB := w.Org("B")
	mini, owner := w.Person(inA, "mini"), w.Person(inA, "owner")
	local := w.Person(inB, "local")
	w.AddMember(inA, owner, "ORG_OWNER")
	asOwner := w.Login(inA, owner, "")
	token := w.Caller(inA, mini, "").TokenID
	w.AddMember(inB, mini, "ORG_OWNER")
	w.AddMember(inB, local, "ORG_OWNER")

	list, err := w.Gateway.SearchOrgMembers(inB, &usersv1.SearchMembersRequest{})
	if err != nil || len(list.Result) != 3 { // the administrator made the organization
		t.Fatalf("%v, %v", list, err)
	}
	for _, m := range list.Result[:2] {
		home, name := orgA, ""
		if m.UserId == local {
			home, name = orgB, "local"
		}
		if m.UserOrgId != home || m.UserName != name || (m.DisplayName != "") != (name != "") {
			t.Errorf("a member is listed as %v", m)
		}
	}
	if _, err := w.Gateway.RemovePersonalAccessToken(asOwner, &usersv1.RemovePersonalAccessTokenRequest{
		UserId: mini, TokenId: token,
	}); err != nil {
		t.Errorf("the token at home: %v", err)
	}
	seen, err := w.Gateway.SearchMemberships(asOwner, &usersv1.SearchMembershipsRequest{UserId: mini})
	if err != nil || len(seen.Result) != 1 || seen.Result[0].GetOrgId() != orgB {
		t.Fatalf("at home: %v, %v", seen, err)
	}
	this := &usersv1.RemoveMembershipRequest{UserId: mini, MembershipId: seen.Result[0].Id}
	_, err = w.Gateway.RemoveMembership(inB, this)
	testkit.Refused(t, err, "MEMBER_NOT_FOUND")
	gone, err := w.Gateway.RemoveMembership(asOwner, this)
	if err != nil || gone.Details.ResourceOwner != orgB {
		t.Fatalf("%v, %v", gone, err)
	}
	_, err = w.Gateway.RemoveMembership(asOwner, this)
	testkit.Refused(t, err, "MEMBER_NOT_FOUND")
	if n := w.Rows(`events where aggregate = 'member' and name = 'removed' and organization_id = $1 and actor = $2
		and data->>'userId' = $3 and position = $4`, orgB, owner, mini, int64(gone.Details.Sequence)); n != 1 {
		t.Errorf("%d events", n)
	}
}

// Users can end all their own memberships. Callers cannot end a membership of a user with more permissions.
func TestEndMemberships(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, inA := w.Org("A")
	_, inB := w.Org("B")
	mini, owner, manager := w.Person(inA, "mini"), w.Person(inA, "owner"), w.Person(inA, "manager")
	w.AddMember(inA, owner, "ORG_OWNER")
	w.AddMember(inA, manager, "ORG_USER_MANAGER")
	w.AddMember(inB, mini, "ORG_OWNER_VIEWER")
	w.AddIamMember(mini, "IAM_USER_MANAGER")
	asMini, asOwner := w.Login(inA, mini, ""), w.Login(inA, owner, "")
	ids := func(ctx context.Context) (all []string) {
		t.Helper()
		list, err := w.Gateway.SearchMyMemberships(ctx, &usersv1.SearchMyMembershipsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list.Result {
			all = append(all, m.Id)
		}
		return all
	}
	own := ids(asMini)
	_, err := w.Gateway.RemoveMembership(asOwner, &usersv1.RemoveMembershipRequest{UserId: mini, MembershipId: own[0]})
	testkit.Refused(t, err, "ESCALATION", "user.delete")
	_, err = w.Gateway.RemoveMembership(w.Login(inA, manager, ""),
		&usersv1.RemoveMembershipRequest{UserId: mini, MembershipId: own[0]})
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.member.write")
	_, err = w.Gateway.RemoveMyMembership(asOwner, &usersv1.RemoveMyMembershipRequest{MembershipId: own[0]})
	testkit.Refused(t, err, "MEMBER_NOT_FOUND")
	for n, id := range own {
		this := &usersv1.RemoveMyMembershipRequest{MembershipId: id}
		w.Must(w.Gateway.RemoveMyMembership(asMini, this))
		if left := len(ids(asMini)); left != len(own)-n-1 {
			t.Errorf("%d memberships are left", left)
		}
	}
	if len(own) != 2 {
		t.Errorf("%d memberships", len(own))
	}
	all := ids(w.Admin) // newest first
	_, err = w.Gateway.RemoveMyMembership(w.Admin, &usersv1.RemoveMyMembershipRequest{MembershipId: all[len(all)-1]})
	testkit.Refused(t, err, "LAST_IAM_OWNER")
}

// An owner of an organization cannot end the logins of users who have more permissions in the instance than the owner.
func TestOwnerCannotEndTheOrganizationOfInstanceMembers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, inA := w.Org("A")
	owner, above := w.Person(inA, "owner"), w.Person(inA, "above")
	w.AddMember(inA, owner, "ORG_OWNER")
	w.AddIamMember(above, "IAM_OWNER")
	as := w.Login(inA, owner, "")
	_, err := w.Gateway.DeactivateMyOrg(as, &usersv1.DeactivateMyOrgRequest{})
	testkit.Refused(t, err, "ESCALATION")
	_, err = w.Gateway.RemoveMyOrg(as, &usersv1.RemoveMyOrgRequest{})
	testkit.Refused(t, err, "ESCALATION")
	if _, err := w.Gateway.DeactivateMyOrg(inA, &usersv1.DeactivateMyOrgRequest{}); err != nil {
		t.Errorf("an IAM_OWNER: %v", err)
	}
}
