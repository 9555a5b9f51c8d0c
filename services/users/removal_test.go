package users_test

import (
	"fmt"
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// After the answer no call finds a removed organization. Its users and the roles in it are then
// removed, each with an event that names the cause. Other organizations keep theirs.
func TestRemoveOrg(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orgA, inA := w.org("Acme")
	owner, guest := w.person(inA, "owner"), w.person(w.admin, "guest")
	w.addMember(inA, owner, "ORG_OWNER")
	w.addMember(inA, guest, "ORG_OWNER_VIEWER")
	w.addMember(w.admin, owner, "ORG_OWNER_VIEWER")
	for i := range 230 { // three batches
		if _, err := w.service.DB.Exec(t.Context(), `insert into users (id, org_id, type, state, user_name,
			user_name_folded, sequence, created_at, changed_at) values ($1, $2, 1, 1, $1, $1, 1, now(), now())`,
			fmt.Sprint("u", i), orgA); err != nil {
			t.Fatal(err)
		}
	}
	pat, err := w.gateway.AddPersonalAccessToken(inA, &usersv1.AddPersonalAccessTokenRequest{UserId: owner})
	if err != nil {
		t.Fatal(err)
	}
	guestPAT, err := w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: guest})
	if err != nil {
		t.Fatal(err)
	}
	asOwner := w.login(inA, owner, "")
	gone, err := w.gateway.RemoveMyOrg(asOwner, &usersv1.RemoveMyOrgRequest{})
	if err != nil || gone.Details.ResourceOwner != orgA {
		t.Fatalf("%v, %v", gone, err)
	}
	_, err = w.resolve(pat.Token, "")
	refused(t, err, "TOKEN_INVALID")
	_, err = w.resolve(w.adminToken, orgA)
	refused(t, err, "ORG_NOT_FOUND")
	_, err = w.resolve(guestPAT.Token, orgA)
	refused(t, err, "PERMISSION_DENIED")
	_, err = w.gateway.GetOrg(w.admin, &usersv1.GetOrgRequest{OrgId: orgA})
	refused(t, err, "ORG_NOT_FOUND")
	if list, err := w.gateway.SearchOrgs(w.admin, &usersv1.SearchOrgsRequest{}); err != nil || len(list.Result) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := w.gateway.CreateOrg(w.admin, &usersv1.CreateOrgRequest{Name: "ACME"}); err != nil {
		t.Errorf("the name is not free: %v", err)
	}

	testkit.Until(t, w.service.DB, "organizations", "not exists (select from organizations where id = $1)", orgA)
	if w.rows("users where org_id = $1", orgA) != 0 || w.rows("members where org_id = $1", orgA) != 0 ||
		w.rows("personal_access_tokens") != 2 {
		t.Error("something is left")
	}
	const caused = `events e join events c on c.id = e.data->>'cause' where c.aggregate = 'org' and c.name = 'removed'
		and e.actor = $1 and e.name = 'removed' and e.aggregate = $2`
	// The members are the guest and the creator of the organization.
	if users, members := w.rows(caused, owner, "user"), w.rows(caused, owner, "member"); users != 231 ||
		members != 2 {
		t.Errorf("%d users and %d members say that the organization took them along", users, members)
	}
	if w.user(guest).State != usersv1.UserState_USER_STATE_ACTIVE {
		t.Error("a user of another organization is gone")
	}
}

func TestRemoveOrgRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.gateway.RemoveMyOrg(w.admin, &usersv1.RemoveMyOrgRequest{})
	refused(t, err, "ORG_OF_INSTANCE")
	_, inA := w.org("A")
	settings := w.person(inA, "settings")
	w.addMember(inA, settings, "ORG_SETTINGS_MANAGER")
	asSettings := w.login(inA, settings, "")
	_, err = w.gateway.RemoveMyOrg(asSettings, &usersv1.RemoveMyOrgRequest{})
	refused(t, err, "PERMISSION_DENIED", "org.delete")
	_, err = w.gateway.DeactivateMyOrg(asSettings, &usersv1.DeactivateMyOrgRequest{})
	refused(t, err, "PERMISSION_DENIED", "org.delete")
	_, err = w.gateway.ReactivateMyOrg(asSettings, &usersv1.ReactivateMyOrgRequest{})
	refused(t, err, "PERMISSION_DENIED", "org.delete")

	owner := w.person(inA, "owner")
	w.addIamMember(owner, "IAM_OWNER")
	if _, err := w.gateway.RemoveIamMember(w.admin, &usersv1.RemoveMemberRequest{UserId: w.adminID}); err != nil {
		t.Fatal(err)
	}
	_, err = w.gateway.RemoveMyOrg(inA, &usersv1.RemoveMyOrgRequest{})
	refused(t, err, "LAST_IAM_OWNER")
	if _, err := w.gateway.AddIamMember(w.login(inA, owner, ""), &usersv1.AddMemberRequest{UserId: w.adminID,
		Roles: []string{"IAM_OWNER"}}); err != nil {
		t.Fatal(err)
	}
	if n := testkit.Race(t, 20, func(int) error {
		_, err := w.gateway.RemoveMyOrg(inA, &usersv1.RemoveMyOrgRequest{})
		return err
	}, "ORG_NOT_FOUND"); n != 1 {
		t.Errorf("%d of 20 removed it", n)
	}
}

// A member who is added while the organization is being removed is found by a later look, even if
// the first one failed.
func TestRemoveOrgAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orgA, inA := w.org("A")
	guest := w.person(w.admin, "guest")
	if _, err := w.gateway.RemoveMyOrg(inA, &usersv1.RemoveMyOrgRequest{}); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, w.service.DB, "organizations", "not exists (select from organizations where id = $1)", orgA)
	_, err := w.gateway.ImportHumanUser(inA, minimal("late"))
	refused(t, err, "ORG_NOT_FOUND")
	w.addMember(inA, guest, "ORG_OWNER_VIEWER") // by a caller who was authenticated before the removal
	testkit.Until(t, w.service.DB, "members", "not exists (select from members where org_id = $1)", orgA)
	if w.rows("removals") != 1 {
		t.Error("nobody looks any more, although a request may still write")
	}
	const later = "update removals set heard_at = now() - interval '2 minutes'"
	if _, err := w.service.DB.Exec(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, w.service.DB, "removals", "not exists (select from removals)")
}
