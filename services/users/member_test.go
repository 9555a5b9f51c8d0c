package users_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	usersv1 "herald/shared/gen/herald/users/v1"
)

func (w *world) addMember(ctx context.Context, userID string, roles ...string) {
	w.Helper()
	if _, err := w.gateway.AddOrgMember(ctx, &usersv1.AddMemberRequest{UserId: userID, Roles: roles}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) addIamMember(userID string, roles ...string) {
	w.Helper()
	if _, err := w.gateway.AddIamMember(w.admin, &usersv1.AddMemberRequest{UserId: userID, Roles: roles}); err != nil {
		w.Fatal(err)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	_, err := w.gateway.AddOrgMember(w.admin, &usersv1.AddMemberRequest{
		UserId: id, Roles: []string{"ORG_OWNER", "IAM_OWNER"},
	})
	refused(t, err, "ROLE_UNKNOWN", "roles[1]", "IAM_OWNER")
	_, err = w.gateway.AddOrgMember(w.admin, &usersv1.AddMemberRequest{UserId: id})
	refused(t, err, "INVALID_ARGUMENT", "roles")
	_, err = w.gateway.AddOrgMember(w.admin, &usersv1.AddMemberRequest{UserId: "nobody", Roles: []string{"ORG_OWNER"}})
	refused(t, err, "USER_NOT_FOUND")
	w.addMember(w.admin, id, "ORG_USER_MANAGER")
	_, err = w.gateway.AddOrgMember(w.admin, &usersv1.AddMemberRequest{UserId: id, Roles: []string{"ORG_OWNER"}})
	refused(t, err, "MEMBER_EXISTS")

	mini := w.login(w.admin, id, "")
	_, err = w.gateway.SearchOrgMembers(mini, &usersv1.SearchMembersRequest{})
	refused(t, err, "PERMISSION_DENIED", "org.member.read", w.orgID)
	first, err := w.gateway.UpdateOrgMember(w.admin, &usersv1.UpdateMemberRequest{
		UserId: id, Roles: []string{"ORG_OWNER", "ORG_OWNER_VIEWER"},
	})
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.gateway.UpdateOrgMember(w.admin, &usersv1.UpdateMemberRequest{
		UserId: id, Roles: []string{"ORG_OWNER_VIEWER", "ORG_OWNER"},
	})
	if err != nil || !proto.Equal(first, second) {
		t.Errorf("an update that changes nothing answered %v, %v; want %v", second, err, first)
	}
	list, err := w.gateway.SearchOrgMembers(w.login(w.admin, id, ""),
		&usersv1.SearchMembersRequest{Queries: []*usersv1.MemberFilter{
			{UserIdQuery: &usersv1.MemberUserIdQuery{UserId: id}},
		}})
	if err != nil || list.Details.TotalResult != 1 || list.Result[0].UserName != "mini" ||
		list.Result[0].Details.Sequence != first.Details.Sequence {
		t.Errorf("members %v, %v", list, err)
	}
	if _, err := w.gateway.RemoveOrgMember(w.admin, &usersv1.RemoveMemberRequest{UserId: id}); err != nil {
		t.Fatal(err)
	}
	_, err = w.gateway.RemoveOrgMember(w.admin, &usersv1.RemoveMemberRequest{UserId: id})
	refused(t, err, "MEMBER_NOT_FOUND")
}

// Hostile case 19a: callers cannot give a role, or create a credential of a user, with a permission
// that they lack.
func TestEscalation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orgA, inA := w.org("A")
	_, inB := w.org("B")
	ownerA, ownerB, both := w.person(inA, "owner-a"), w.person(inB, "owner-b"), w.person(inA, "both")
	above := w.person(inA, "above")
	w.addIamMember(above, "IAM_USER_MANAGER") // a role in the instance, of a user of A
	w.addMember(inA, ownerA, "ORG_OWNER")
	w.addMember(inB, ownerB, "ORG_OWNER")
	w.addMember(inB, both, "ORG_OWNER") // a role in B, of a user of A
	asA := w.login(inA, ownerA, "")

	_, err := w.gateway.AddPersonalAccessToken(asA, &usersv1.AddPersonalAccessTokenRequest{UserId: above})
	refused(t, err, "ESCALATION", "user.delete", "the whole instance")
	w.login(asA, both, "") // roles in another organization do not count
	_, err = w.gateway.AddPersonalAccessToken(asA, &usersv1.AddPersonalAccessTokenRequest{UserId: ownerB})
	if err == nil {
		t.Error("a token for another organization's owner")
	}
	_, err = w.gateway.AddIamMember(asA, &usersv1.AddMemberRequest{UserId: ownerA, Roles: []string{"IAM_OWNER"}})
	refused(t, err, "PERMISSION_DENIED", "iam.member.write", orgA)
	w.login(asA, w.person(asA, "plain"), "") // a token for a user with the same or fewer permissions

	manager := w.person(w.admin, "manager")
	w.addIamMember(manager, "IAM_USER_MANAGER")
	asManager := w.login(w.admin, manager, "")
	_, err = w.gateway.AddPersonalAccessToken(asManager, &usersv1.AddPersonalAccessTokenRequest{UserId: w.adminID})
	refused(t, err, "PERMISSION_DENIED", "user.credential.write")
	_, err = w.gateway.ImportHumanUser(asManager, minimal("imported"))
	refused(t, err, "PERMISSION_DENIED", "user.import")

	// A user manager cannot redirect the mail of an initial user who is an owner.
	waiting := w.initial("waiting")
	w.addMember(w.admin, waiting, "ORG_OWNER")
	_, err = w.gateway.ResendInitialization(asManager, &usersv1.ResendInitializationRequest{
		UserId: waiting, Email: "mine@example.com",
	})
	refused(t, err, "ESCALATION", "org.delete", w.orgID)
}

func TestLastOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.gateway.UpdateIamMember(w.admin, &usersv1.UpdateMemberRequest{
		UserId: w.adminID, Roles: []string{"IAM_OWNER_VIEWER"},
	})
	refused(t, err, "LAST_IAM_OWNER")
	_, err = w.gateway.RemoveIamMember(w.admin, &usersv1.RemoveMemberRequest{UserId: w.adminID})
	refused(t, err, "LAST_IAM_OWNER")
	_, err = w.gateway.DeactivateMyOrg(w.admin, &usersv1.DeactivateMyOrgRequest{})
	refused(t, err, "LAST_IAM_OWNER")
	w.addIamMember(w.initial("cannot log in"), "IAM_OWNER")
	_, err = w.gateway.RemoveIamMember(w.admin, &usersv1.RemoveMemberRequest{UserId: w.adminID})
	refused(t, err, "LAST_IAM_OWNER")

	// If two owners remove each other at once, one stays.
	for round := range 10 {
		second := w.person(w.admin, "second"+string(rune('a'+round)))
		w.addIamMember(second, "IAM_OWNER")
		asSecond := w.login(w.admin, second, "")
		var wait sync.WaitGroup
		var removed atomic.Int64
		for _, r := range []struct {
			by  context.Context
			who string
		}{{w.admin, second}, {asSecond, w.adminID}} {
			wait.Go(func() {
				if _, err := w.gateway.RemoveIamMember(r.by, &usersv1.RemoveMemberRequest{UserId: r.who}); err == nil {
					removed.Add(1)
				}
			})
		}
		wait.Wait()
		if n := w.rows("members m join users u on u.id = m.user_id where m.org_id = '' and 'IAM_OWNER' = any " +
			"(m.roles) and u.state = 1"); n != 1 || removed.Load() != 1 {
			t.Fatalf("%d owners are left, %d were removed", n, removed.Load())
		}
		if w.rows("members where user_id = $1 and org_id = ''", w.adminID) == 0 {
			if _, err := w.gateway.AddIamMember(asSecond, &usersv1.AddMemberRequest{UserId: w.adminID,
				Roles: []string{"IAM_OWNER"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.gateway.RemoveIamMember(w.admin, &usersv1.RemoveMemberRequest{UserId: second}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestMemberships(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orgA, inA := w.org("A")
	id := w.person(w.admin, "mini")
	w.addMember(inA, id, "ORG_OWNER")
	w.addMember(w.admin, id, "ORG_OWNER_VIEWER")
	all, err := w.gateway.SearchMemberships(w.admin, &usersv1.SearchMembershipsRequest{UserId: id})
	if err != nil || all.Details.TotalResult != 2 {
		t.Errorf("the instance's owner sees %v, %v", all, err)
	}
	mine, err := w.gateway.SearchMyMemberships(w.login(w.admin, id, ""), &usersv1.SearchMyMembershipsRequest{})
	if err != nil || mine.Details.TotalResult != 2 {
		t.Errorf("the user sees %v, %v", mine, err)
	}
	// The user's own organization sees them all, the other one none.
	home, err := w.gateway.SearchMemberships(w.login(w.admin, id, ""), &usersv1.SearchMembershipsRequest{UserId: id})
	if err != nil || home.Details.TotalResult != 2 || home.Result[1].GetOrgId() != orgA {
		t.Errorf("the user's organization sees %v, %v", home, err)
	}
	_, err = w.gateway.SearchMemberships(inA, &usersv1.SearchMembershipsRequest{UserId: id})
	refused(t, err, "USER_NOT_FOUND")
	for _, search := range []func(context.Context, *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error){
		func(ctx context.Context, r *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error) {
			return w.gateway.SearchIamMemberRoles(ctx, r)
		},
		func(ctx context.Context, r *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error) {
			return w.gateway.SearchOrgMemberRoles(ctx, r)
		},
		func(ctx context.Context, r *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error) {
			return w.gateway.SearchProjectMemberRoles(ctx, r)
		},
	} {
		if r, err := search(w.admin, &usersv1.SearchRolesRequest{}); err != nil || len(r.Result) < 2 ||
			len(r.Result[0].Permissions) == 0 || r.Details.GetTotalResult() != uint64(len(r.Result)) ||
			r.Details.ViewTimestamp.AsTime().IsZero() {
			t.Errorf("roles %v, %v", r, err)
		}
	}
}
