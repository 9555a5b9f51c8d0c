package orgs_test

import (
	"errors"
	"fmt"
	"testing"

	"herald/services/users/internal/testworld"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// After the answer no call finds a removed organization. Its users and the roles in it are then
// removed, each with an event that names the cause. Other organizations keep theirs.
func TestRemoveOrg(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("Acme")
	owner, guest := w.Person(inA, "owner"), w.Person(w.Admin, "guest")
	w.AddMember(inA, owner, "ORG_OWNER")
	w.AddMember(inA, guest, "ORG_OWNER_VIEWER")
	w.AddMember(w.Admin, owner, "ORG_OWNER_VIEWER")
	for i := range 230 { // three batches
		w.Must(w.Service.DB.Exec(t.Context(), `insert into users (id, org_id, type, state, user_name,
			user_name_folded, sequence, created_at, changed_at) values ($1, $2, 1, 1, $1, $1, 1, now(), now())`,
			fmt.Sprint("u", i), orgA))
	}
	pat := w.PAT(inA, owner)
	guestPAT := w.PAT(w.Admin, guest)
	asOwner := w.Login(inA, owner, "")
	gone, err := w.Gateway.RemoveMyOrg(asOwner, &usersv1.RemoveMyOrgRequest{})
	if err != nil || gone.Details.ResourceOwner != orgA {
		t.Fatalf("%v, %v", gone, err)
	}
	_, err = w.Resolve(pat.Token, "")
	testkit.Refused(t, err, "TOKEN_INVALID")
	_, err = w.Resolve(w.AdminToken, orgA)
	testkit.Refused(t, err, "ORG_NOT_FOUND")
	_, err = w.Resolve(guestPAT.Token, orgA)
	testkit.Refused(t, err, "PERMISSION_DENIED")
	_, err = w.Gateway.GetOrg(w.Admin, &usersv1.GetOrgRequest{OrgId: orgA})
	testkit.Refused(t, err, "ORG_NOT_FOUND")
	if list, err := w.Gateway.SearchOrgs(w.Admin, &usersv1.SearchOrgsRequest{}); err != nil || len(list.Result) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := w.Gateway.CreateOrg(w.Admin, &usersv1.CreateOrgRequest{Name: "ACME"}); err != nil {
		t.Errorf("the name is not free: %v", err)
	}

	testkit.Until(t, w.Service.DB, "organizations", "not exists (select from organizations where id = $1)", orgA)
	if w.Rows("users where org_id = $1", orgA) != 0 || w.Rows("members where org_id = $1", orgA) != 0 ||
		w.Rows("personal_access_tokens") != 2 {
		t.Error("something is left")
	}
	const caused = `events e join events c on c.id = e.data->>'cause' where c.aggregate = 'org' and c.name = 'removed'
		and e.actor = $1 and e.name = 'removed' and e.aggregate = $2`
	// The members are the guest and the creator of the organization.
	if users, members := w.Rows(caused, owner, "user"), w.Rows(caused, owner, "member"); users != 231 ||
		members != 2 {
		t.Errorf("%d users and %d members say that the organization took them along", users, members)
	}
	if w.User(guest).State != usersv1.UserState_USER_STATE_ACTIVE {
		t.Error("a user of another organization is gone")
	}
}

// The organization that the first start made goes like any other if an owner of the instance belongs to another one.
// Its administrator goes along.
func TestFirstOrgIsRemovedByAnOwnerElsewhere(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, inA := w.Org("A")
	owner := w.Person(inA, "owner")
	w.AddIamMember(owner, "IAM_OWNER")
	token := w.PAT(inA, owner).Token
	c, err := w.Resolve(token, w.OrgID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Gateway.RemoveMyOrg(w.As(c), &usersv1.RemoveMyOrgRequest{}); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, w.Service.DB, "organizations", "not exists (select from organizations where id = $1)", w.OrgID)
	if w.Rows("users where id = $1", w.AdminID) != 0 || w.Rows("instance") != 1 {
		t.Error("the administrator is left, or the next start would make an instance")
	}
	if _, err := w.Resolve(token, ""); err != nil {
		t.Errorf("the owner elsewhere: %v", err)
	}
}

func TestRemoveOrgRefuses(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, err := w.Gateway.RemoveMyOrg(w.Admin, &usersv1.RemoveMyOrgRequest{})
	testkit.Refused(t, err, "LAST_IAM_OWNER")
	if errors.Is(err, usersfault.ErrOrgOfInstance) {
		t.Error("the reason is not that the organization is the first one")
	}
	_, inA := w.Org("A")
	settings := w.Person(inA, "settings")
	w.AddMember(inA, settings, "ORG_SETTINGS_MANAGER")
	asSettings := w.Login(inA, settings, "")
	_, err = w.Gateway.RemoveMyOrg(asSettings, &usersv1.RemoveMyOrgRequest{})
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.delete")
	_, err = w.Gateway.DeactivateMyOrg(asSettings, &usersv1.DeactivateMyOrgRequest{})
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.delete")
	_, err = w.Gateway.ReactivateMyOrg(asSettings, &usersv1.ReactivateMyOrgRequest{})
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.delete")

	owner := w.Person(inA, "owner")
	w.AddIamMember(owner, "IAM_OWNER")
	w.Must(w.Gateway.RemoveIamMember(w.Admin, &usersv1.RemoveMemberRequest{UserId: w.AdminID}))
	_, err = w.Gateway.RemoveMyOrg(inA, &usersv1.RemoveMyOrgRequest{})
	testkit.Refused(t, err, "LAST_IAM_OWNER")
	w.Must(w.Gateway.AddIamMember(w.Login(inA, owner, ""), &usersv1.AddMemberRequest{UserId: w.AdminID,
		Roles: []string{"IAM_OWNER"}}))
	testkit.Once(t, 20, func(int) error {
		_, err := w.Gateway.RemoveMyOrg(inA, &usersv1.RemoveMyOrgRequest{})
		return err
	}, "ORG_NOT_FOUND")
}

// A member who is added while the organization is being removed is found by a later look, even if
// the first one failed.
func TestRemoveOrgAgain(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	guest := w.Person(w.Admin, "guest")
	w.Must(w.Gateway.RemoveMyOrg(inA, &usersv1.RemoveMyOrgRequest{}))
	testkit.Until(t, w.Service.DB, "organizations", "not exists (select from organizations where id = $1)", orgA)
	_, err := w.Gateway.ImportHumanUser(inA, testworld.Minimal("late"))
	testkit.Refused(t, err, "ORG_NOT_FOUND")
	w.AddMember(inA, guest, "ORG_OWNER_VIEWER") // by a caller who was authenticated before the removal
	testkit.Until(t, w.Service.DB, "members", "not exists (select from members where org_id = $1)", orgA)
	if w.Rows("removals") != 1 {
		t.Error("nobody looks any more, although a request may still write")
	}
	const later = "update removals set heard_at = now() - interval '2 minutes'"
	w.Must(w.Service.DB.Exec(t.Context(), later))
	testkit.Until(t, w.Service.DB, "removals", "not exists (select from removals)")
}
