package members_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	_, err := w.Gateway.AddOrgMember(w.Admin, &usersv1.AddMemberRequest{
		UserId: id, Roles: []string{"ORG_OWNER", "IAM_OWNER"},
	})
	testkit.Refused(t, err, "ROLE_UNKNOWN", "roles[1]", "IAM_OWNER")
	_, err = w.Gateway.AddOrgMember(w.Admin, &usersv1.AddMemberRequest{UserId: id})
	testkit.Refused(t, err, "INVALID_ARGUMENT", "roles")
	_, err = w.Gateway.AddOrgMember(w.Admin, &usersv1.AddMemberRequest{UserId: "nobody", Roles: []string{"ORG_OWNER"}})
	testkit.Refused(t, err, "USER_NOT_FOUND")
	w.AddMember(w.Admin, id, "ORG_USER_MANAGER")
	_, err = w.Gateway.AddOrgMember(w.Admin, &usersv1.AddMemberRequest{UserId: id, Roles: []string{"ORG_OWNER"}})
	testkit.Refused(t, err, "MEMBER_EXISTS")

	mini := w.Login(w.Admin, id, "")
	_, err = w.Gateway.SearchOrgMembers(mini, &usersv1.SearchMembersRequest{})
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.member.read", w.OrgID)
	first, err := w.Gateway.UpdateOrgMember(w.Admin, &usersv1.UpdateMemberRequest{
		UserId: id, Roles: []string{"ORG_OWNER", "ORG_OWNER_VIEWER"},
	})
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.Gateway.UpdateOrgMember(w.Admin, &usersv1.UpdateMemberRequest{
		UserId: id, Roles: []string{"ORG_OWNER_VIEWER", "ORG_OWNER"},
	})
	if err != nil || !proto.Equal(first, second) {
		t.Errorf("an update that changes nothing answered %v, %v; want %v", second, err, first)
	}
	list, err := w.Gateway.SearchOrgMembers(w.Login(w.Admin, id, ""),
		&usersv1.SearchMembersRequest{Queries: []*usersv1.MemberFilter{
			{UserIdQuery: &usersv1.MemberUserIdQuery{UserId: id}},
		}})
	if err != nil || list.Details.TotalResult != 1 || list.Result[0].UserName != "mini" ||
		list.Result[0].Details.Sequence != first.Details.Sequence {
		t.Errorf("members %v, %v", list, err)
	}
	w.Must(w.Gateway.RemoveOrgMember(w.Admin, &usersv1.RemoveMemberRequest{UserId: id}))
	_, err = w.Gateway.RemoveOrgMember(w.Admin, &usersv1.RemoveMemberRequest{UserId: id})
	testkit.Refused(t, err, "MEMBER_NOT_FOUND")
}

// Callers cannot give a role, or create a credential of a user, with a permission that they lack.
func TestEscalation(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	_, inB := w.Org("B")
	ownerA, ownerB, both := w.Person(inA, "owner-a"), w.Person(inB, "owner-b"), w.Person(inA, "both")
	above := w.Person(inA, "above")
	w.AddIamMember(above, "IAM_USER_MANAGER") // a role in the instance, of a user of A
	w.AddMember(inA, ownerA, "ORG_OWNER")
	w.AddMember(inB, ownerB, "ORG_OWNER")
	w.AddMember(inB, both, "ORG_OWNER") // a role in B, of a user of A
	asA := w.Login(inA, ownerA, "")

	_, err := w.Gateway.AddPersonalAccessToken(asA, &usersv1.AddPersonalAccessTokenRequest{UserId: above})
	testkit.Refused(t, err, "ESCALATION", "user.delete", "the whole instance")
	w.Login(asA, both, "") // roles in another organization do not count
	_, err = w.Gateway.AddPersonalAccessToken(asA, &usersv1.AddPersonalAccessTokenRequest{UserId: ownerB})
	if err == nil {
		t.Error("a token for another organization's owner")
	}
	_, err = w.Gateway.AddIamMember(asA, &usersv1.AddMemberRequest{UserId: ownerA, Roles: []string{"IAM_OWNER"}})
	testkit.Refused(t, err, "PERMISSION_DENIED", "iam.member.write", orgA)
	w.Login(asA, w.Person(asA, "plain"), "") // a token for a user with the same or fewer permissions

	manager := w.Person(w.Admin, "manager")
	w.AddIamMember(manager, "IAM_USER_MANAGER")
	asManager := w.Login(w.Admin, manager, "")
	_, err = w.Gateway.AddPersonalAccessToken(asManager, &usersv1.AddPersonalAccessTokenRequest{UserId: w.AdminID})
	testkit.Refused(t, err, "PERMISSION_DENIED", "user.credential.write")
	_, err = w.Gateway.ImportHumanUser(asManager, testworld.Minimal("imported"))
	testkit.Refused(t, err, "PERMISSION_DENIED", "user.import")

	// A user manager cannot redirect the mail of an initial user who is an owner.
	waiting := w.Initial("waiting")
	w.AddMember(w.Admin, waiting, "ORG_OWNER")
	_, err = w.Gateway.ResendInitialization(asManager, &usersv1.ResendInitializationRequest{
		UserId: waiting, Email: "mine@example.com",
	})
	testkit.Refused(t, err, "ESCALATION", "org.delete", w.OrgID)
}

func TestLastOwner(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, err := w.Gateway.UpdateIamMember(w.Admin, &usersv1.UpdateMemberRequest{
		UserId: w.AdminID, Roles: []string{"IAM_OWNER_VIEWER"},
	})
	testkit.Refused(t, err, "LAST_IAM_OWNER")
	_, err = w.Gateway.RemoveIamMember(w.Admin, &usersv1.RemoveMemberRequest{UserId: w.AdminID})
	testkit.Refused(t, err, "LAST_IAM_OWNER")
	_, err = w.Gateway.DeactivateMyOrg(w.Admin, &usersv1.DeactivateMyOrgRequest{})
	testkit.Refused(t, err, "LAST_IAM_OWNER")
	w.AddIamMember(w.Initial("cannot log in"), "IAM_OWNER")
	_, err = w.Gateway.RemoveIamMember(w.Admin, &usersv1.RemoveMemberRequest{UserId: w.AdminID})
	testkit.Refused(t, err, "LAST_IAM_OWNER")

	// If two owners remove each other at once, one stays.
	for round := range 10 {
		second := w.Person(w.Admin, "second"+string(rune('a'+round)))
		w.AddIamMember(second, "IAM_OWNER")
		asSecond := w.Login(w.Admin, second, "")
		by, who := []context.Context{w.Admin, asSecond}, []string{second, w.AdminID}
		testkit.Once(t, 2, func(i int) error {
			_, err := w.Gateway.RemoveIamMember(by[i], &usersv1.RemoveMemberRequest{UserId: who[i]})
			return err
		}, "LAST_IAM_OWNER")
		if n := w.Rows("members m join users u on u.id = m.user_id where m.org_id = '' and 'IAM_OWNER' = any " +
			"(m.roles) and u.state = 1"); n != 1 {
			t.Fatalf("%d owners are left", n)
		}
		if w.Rows("members where user_id = $1 and org_id = ''", w.AdminID) == 0 {
			w.Must(w.Gateway.AddIamMember(asSecond, &usersv1.AddMemberRequest{UserId: w.AdminID,
				Roles: []string{"IAM_OWNER"}}))
			w.Must(w.Gateway.RemoveIamMember(w.Admin, &usersv1.RemoveMemberRequest{UserId: second}))
		}
	}
}

func TestMemberships(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	id := w.Person(w.Admin, "mini")
	w.AddMember(inA, id, "ORG_OWNER")
	w.AddMember(w.Admin, id, "ORG_OWNER_VIEWER")
	all, err := w.Gateway.SearchMemberships(w.Admin, &usersv1.SearchMembershipsRequest{UserId: id})
	if err != nil || all.Details.TotalResult != 2 {
		t.Errorf("the instance's owner sees %v, %v", all, err)
	}
	mine, err := w.Gateway.SearchMyMemberships(w.Login(w.Admin, id, ""), &usersv1.SearchMyMembershipsRequest{})
	if err != nil || mine.Details.TotalResult != 2 {
		t.Errorf("the user sees %v, %v", mine, err)
	}
	// The user's own organization sees them all, the other one none.
	home, err := w.Gateway.SearchMemberships(w.Login(w.Admin, id, ""), &usersv1.SearchMembershipsRequest{UserId: id})
	if err != nil || home.Details.TotalResult != 2 || home.Result[1].GetOrgId() != orgA ||
		home.Result[1].OrgName != "A" {
		t.Errorf("the user's organization sees %v, %v", home, err)
	}
	_, err = w.Gateway.SearchMemberships(inA, &usersv1.SearchMembershipsRequest{UserId: id})
	testkit.Refused(t, err, "USER_NOT_FOUND")
	for _, search := range []func(context.Context, *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error){
		func(ctx context.Context, r *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error) {
			return w.Gateway.SearchIamMemberRoles(ctx, r)
		},
		func(ctx context.Context, r *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error) {
			return w.Gateway.SearchOrgMemberRoles(ctx, r)
		},
		func(ctx context.Context, r *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error) {
			return w.Gateway.SearchProjectMemberRoles(ctx, r)
		},
	} {
		if r, err := search(w.Admin, &usersv1.SearchRolesRequest{}); err != nil || len(r.Result) < 2 ||
			len(r.Result[0].Permissions) == 0 || r.Details.GetTotalResult() != uint64(len(r.Result)) ||
			r.Details.ViewTimestamp.AsTime().IsZero() {
			t.Errorf("roles %v, %v", r, err)
		}
	}
}
