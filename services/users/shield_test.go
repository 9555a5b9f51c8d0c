package users_test

import (
	"context"
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
)

// Hostile case 30: a role in another organization shields nobody. The user's own organization sees it, ends it and
// revokes tokens; the other organization learns no name.
func TestRolesElsewhereShieldNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orgA, inA := w.org("A")
	orgB, inB := w.org("B")
	mini, owner := w.person(inA, "mini"), w.person(inA, "owner")
	local := w.person(inB, "local")
	w.addMember(inA, owner, "ORG_OWNER")
	asOwner := w.login(inA, owner, "")
	token := w.caller(inA, mini, "").TokenID
	w.addMember(inB, mini, "ORG_OWNER")
	w.addMember(inB, local, "ORG_OWNER")

	list, err := w.gateway.SearchOrgMembers(inB, &usersv1.SearchMembersRequest{})
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
	if _, err := w.gateway.RemovePersonalAccessToken(asOwner, &usersv1.RemovePersonalAccessTokenRequest{
		UserId: mini, TokenId: token,
	}); err != nil {
		t.Errorf("the token at home: %v", err)
	}
	seen, err := w.gateway.SearchMemberships(asOwner, &usersv1.SearchMembershipsRequest{UserId: mini})
	if err != nil || len(seen.Result) != 1 || seen.Result[0].GetOrgId() != orgB {
		t.Fatalf("at home: %v, %v", seen, err)
	}
	this := &usersv1.RemoveMembershipRequest{UserId: mini, MembershipId: seen.Result[0].Id}
	_, err = w.gateway.RemoveMembership(inB, this)
	refused(t, err, "MEMBER_NOT_FOUND")
	gone, err := w.gateway.RemoveMembership(asOwner, this)
	if err != nil || gone.Details.ResourceOwner != orgB {
		t.Fatalf("%v, %v", gone, err)
	}
	_, err = w.gateway.RemoveMembership(asOwner, this)
	refused(t, err, "MEMBER_NOT_FOUND")
	if n := w.rows(`events where aggregate = 'member' and name = 'removed' and organization_id = $1 and actor = $2
		and data->>'userId' = $3 and position = $4`, orgB, owner, mini, int64(gone.Details.Sequence)); n != 1 {
		t.Errorf("%d events", n)
	}
}

// A user ends any own membership. Nobody's organization ends one of somebody who may more than the caller.
func TestEndMemberships(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, inA := w.org("A")
	_, inB := w.org("B")
	mini, owner, manager := w.person(inA, "mini"), w.person(inA, "owner"), w.person(inA, "manager")
	w.addMember(inA, owner, "ORG_OWNER")
	w.addMember(inA, manager, "ORG_USER_MANAGER")
	w.addMember(inB, mini, "ORG_OWNER_VIEWER")
	w.addIamMember(mini, "IAM_USER_MANAGER")
	asMini, asOwner := w.login(inA, mini, ""), w.login(inA, owner, "")
	ids := func(ctx context.Context) (all []string) {
		t.Helper()
		list, err := w.gateway.SearchMyMemberships(ctx, &usersv1.SearchMyMembershipsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list.Result {
			all = append(all, m.Id)
		}
		return all
	}
	own := ids(asMini)
	_, err := w.gateway.RemoveMembership(asOwner, &usersv1.RemoveMembershipRequest{UserId: mini, MembershipId: own[0]})
	refused(t, err, "ESCALATION", "user.delete")
	_, err = w.gateway.RemoveMembership(w.login(inA, manager, ""),
		&usersv1.RemoveMembershipRequest{UserId: mini, MembershipId: own[0]})
	refused(t, err, "PERMISSION_DENIED", "org.member.write")
	_, err = w.gateway.RemoveMyMembership(asOwner, &usersv1.RemoveMyMembershipRequest{MembershipId: own[0]})
	refused(t, err, "MEMBER_NOT_FOUND")
	for n, id := range own {
		this := &usersv1.RemoveMyMembershipRequest{MembershipId: id}
		if _, err := w.gateway.RemoveMyMembership(asMini, this); err != nil {
			t.Error(err)
		}
		if left := len(ids(asMini)); left != len(own)-n-1 {
			t.Errorf("%d memberships are left", left)
		}
	}
	if len(own) != 2 {
		t.Errorf("%d memberships", len(own))
	}
	all := ids(w.admin) // newest first
	_, err = w.gateway.RemoveMyMembership(w.admin, &usersv1.RemoveMyMembershipRequest{MembershipId: all[len(all)-1]})
	refused(t, err, "LAST_IAM_OWNER")
}

// An owner of an organization does not end the logins of its users who may more than the owner, in the instance.
func TestOrganizationOfInstanceMembersStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, inA := w.org("A")
	owner, above := w.person(inA, "owner"), w.person(inA, "above")
	w.addMember(inA, owner, "ORG_OWNER")
	w.addIamMember(above, "IAM_OWNER")
	as := w.login(inA, owner, "")
	_, err := w.gateway.DeactivateMyOrg(as, &usersv1.DeactivateMyOrgRequest{})
	refused(t, err, "ESCALATION")
	_, err = w.gateway.RemoveMyOrg(as, &usersv1.RemoveMyOrgRequest{})
	refused(t, err, "ESCALATION")
	if _, err := w.gateway.DeactivateMyOrg(inA, &usersv1.DeactivateMyOrgRequest{}); err != nil {
		t.Errorf("an IAM_OWNER: %v", err)
	}
}
