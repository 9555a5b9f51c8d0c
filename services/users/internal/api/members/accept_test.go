package members_test

import (
	"context"
	"testing"

	"herald/services/users/internal/testworld"
	"herald/shared/caller"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

const (
	active  = usersv1.MembershipState_MEMBERSHIP_STATE_ACTIVE
	pending = usersv1.MembershipState_MEMBERSHIP_STATE_PENDING
)

// neighbours are two organizations, A and B. Each has an owner and a user manager. mini belongs to B.
type neighbours struct {
	*testworld.World
	orgA, orgB                             string
	ownerA, mini, tokenOfMini              string
	inA, inB                               context.Context // the administrator
	asOwnerA, asOwnerB, asManagerB, asMini context.Context
}

func newNeighbours(t *testing.T) neighbours {
	t.Helper()
	w := neighbours{World: testworld.New(t)}
	orgA, inA := w.Org("A")
	orgB, inB := w.Org("B")
	w.orgA, w.orgB, w.inA, w.inB = orgA, orgB, inA, inB
	w.ownerA, w.mini = w.Person(inA, "owner-a"), w.Person(inB, "mini")
	ownerB, manager := w.Person(inB, "owner-b"), w.Person(inB, "manager-b")
	w.AddMember(inA, w.ownerA, "ORG_OWNER")
	w.AddMember(inB, ownerB, "ORG_OWNER")
	w.AddMember(inB, manager, "ORG_USER_MANAGER")
	w.asOwnerA, w.asOwnerB = w.Login(inA, w.ownerA, ""), w.Login(inB, ownerB, "")
	w.asManagerB, w.asMini = w.Login(inB, manager, ""), w.Login(inB, w.mini, "")
	w.tokenOfMini = w.PAT(inB, w.mini).Token
	return w
}

// add gives mini a role in an organization and returns the state of the membership.
func (w neighbours) add(as context.Context, role string) usersv1.MembershipState {
	w.Helper()
	r, err := w.Gateway.AddOrgMember(as, &usersv1.AddMemberRequest{UserId: w.mini, Roles: []string{role}})
	if err != nil {
		w.Fatal(err)
	}
	return r.GetState()
}

// membership returns the only membership of mini, as mini and as mini's organization see it.
func (w neighbours) membership() *usersv1.Membership {
	w.Helper()
	mine, err := w.Gateway.SearchMyMemberships(w.asMini, &usersv1.SearchMyMembershipsRequest{})
	if err != nil || len(mine.Result) != 1 {
		w.Fatalf("%v, %v", mine, err)
	}
	theirs, err := w.Gateway.SearchMemberships(w.asOwnerB, &usersv1.SearchMembershipsRequest{UserId: w.mini})
	if err != nil || len(theirs.Result) != 1 || theirs.Result[0].State != mine.Result[0].State ||
		theirs.Result[0].Id != mine.Result[0].Id || theirs.Result[0].OrgName != "A" || mine.Result[0].OrgName != "A" {
		w.Fatalf("mini sees %v, the organization %v, %v", mine, theirs, err)
	}
	return mine.Result[0]
}

// A membership of a user of another organization gives nothing until it is accepted.
func TestPendingMembershipGivesNothing(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string]func(neighbours, string) (*usersv1.MemberResponse, error){
		"accepted by the user": func(w neighbours, id string) (*usersv1.MemberResponse, error) {
			return w.Gateway.AcceptMyMembership(w.asMini, &usersv1.AcceptMyMembershipRequest{MembershipId: id})
		},
		"accepted by the organization": func(w neighbours, id string) (*usersv1.MemberResponse, error) {
			return w.Gateway.AcceptMembership(w.asOwnerB,
				&usersv1.AcceptMembershipRequest{UserId: w.mini, MembershipId: id})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNeighbours(t)
			if s := w.add(w.asOwnerA, "ORG_OWNER"); s != pending {
				t.Errorf("made as %v", s)
			}
			_, err := w.Resolve(w.tokenOfMini, w.orgA)
			testkit.Refused(t, err, "PERMISSION_DENIED")
			r, err := w.Gateway.UpdateOrgMember(w.asOwnerA,
				&usersv1.UpdateMemberRequest{UserId: w.mini, Roles: []string{"ORG_OWNER_VIEWER"}})
			if err != nil || r.GetState() != pending {
				t.Errorf("with other roles: %v, %v", r, err)
			}
			m := w.membership()
			if m.State != pending || m.GetOrgId() != w.orgA {
				t.Errorf("listed as %v", m)
			}
			list, err := w.Gateway.SearchOrgMembers(w.asOwnerA, &usersv1.SearchMembersRequest{
				Queries: []*usersv1.MemberFilter{{UserIdQuery: &usersv1.MemberUserIdQuery{UserId: w.mini}}},
			})
			if err != nil || len(list.Result) != 1 || list.Result[0].State != pending ||
				list.Result[0].UserOrgId != w.orgB || list.Result[0].UserName+list.Result[0].DisplayName != "" {
				t.Errorf("A lists %v, %v", list, err)
			}

			w.Unwritten(func() {
				this := &usersv1.AcceptMembershipRequest{UserId: w.mini, MembershipId: m.Id}
				_, err := w.Gateway.AcceptMembership(w.asOwnerA, this)
				testkit.Refused(t, err, "MEMBER_NOT_FOUND")
				_, err = w.Gateway.AcceptMembership(w.asManagerB, this)
				testkit.Refused(t, err, "PERMISSION_DENIED", "org.member.write", w.orgB)
				_, err = w.Gateway.AcceptMyMembership(w.asManagerB,
					&usersv1.AcceptMyMembershipRequest{MembershipId: m.Id})
				testkit.Refused(t, err, "MEMBER_NOT_FOUND")
			})
			r, err = accept(w, m.Id)
			if err != nil || r.GetState() != active || r.Details.ResourceOwner != w.orgA {
				t.Fatalf("%v, %v", r, err)
			}
			if _, err := w.Resolve(w.tokenOfMini, w.orgA); err != nil {
				t.Errorf("then: %v", err)
			}
			if m := w.membership(); m.State != active {
				t.Errorf("then listed as %v", m)
			}
			w.Unwritten(func() {
				_, err := accept(w, m.Id)
				testkit.Refused(t, err, "MEMBERSHIP_NOT_PENDING")
			})
			if n := w.Rows(`events where aggregate = 'member' and name = 'accepted' and organization_id = $1
				and aggregate_id = $2 and position = $3`, w.orgA, w.mini, int64(r.Details.Sequence)); n != 1 {
				t.Errorf("%d events", n)
			}
		})
	}
}

// Who may accept a membership makes an active one. Only such roles count that are active themselves.
func TestMakersWhoMayAcceptMakeActiveMemberships(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   func(neighbours) // gives roles to the owner of A
		want usersv1.MembershipState
	}{
		"only in A": {func(neighbours) {}, pending},
		"in both": {func(w neighbours) {
			w.AddMember(w.inB, w.ownerA, "ORG_OWNER")
		}, active},
		"in both, without the permission": {func(w neighbours) {
			w.AddMember(w.inB, w.ownerA, "ORG_USER_MANAGER")
		}, pending},
		"in both, pending": {func(w neighbours) { w.AddMember(w.asOwnerB, w.ownerA, "ORG_OWNER") }, pending},
		"in the instance":  {func(w neighbours) { w.AddIamMember(w.ownerA, "IAM_OWNER") }, active},
		"in the instance, without the permission": {func(w neighbours) {
			w.AddIamMember(w.ownerA, "IAM_USER_MANAGER")
		}, pending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNeighbours(t)
			w.Shop.OrgID = w.orgA
			c.of(w)
			if s := w.add(w.asOwnerA, "ORG_OWNER_VIEWER"); s != c.want {
				t.Errorf("in the organization: %v", s)
			}
			r, err := w.Gateway.AddProjectMember(w.asOwnerA, &usersv1.AddProjectMemberRequest{ProjectId: "shop",
				UserId: w.mini, Roles: []string{"PROJECT_OWNER"}})
			if err != nil || r.GetState() != c.want {
				t.Errorf("on a project: %v, %v", r, err)
			}
			if n := w.Rows(`events where aggregate = 'member' and name = 'added' and aggregate_id = $1
				and data->>'state' = $2`, w.mini, c.want.String()); n != 2 {
				t.Errorf("%d events", n)
			}
		})
	}
}

// In the user's own organization, in the instance and on an own project, memberships are active at once.
func TestMembershipsAtHomeAreActive(t *testing.T) {
	t.Parallel()
	w := newNeighbours(t)
	if s := w.add(w.asOwnerB, "ORG_OWNER"); s != active {
		t.Errorf("at home: %v", s)
	}
	r, err := w.Gateway.AddIamMember(w.Admin, &usersv1.AddMemberRequest{UserId: w.mini,
		Roles: []string{"IAM_OWNER_VIEWER"}})
	if err != nil || r.GetState() != active {
		t.Errorf("in the instance: %v, %v", r, err)
	}
	w.AddIamMember(w.ownerA, "IAM_OWNER")
	made, err := w.Gateway.CreateOrg(w.Login(w.inA, w.ownerA, ""), &usersv1.CreateOrgRequest{Name: "C"})
	if err != nil || w.Rows("members where user_id = $1 and org_id = $2 and state = 1", w.ownerA, made.GetId()) != 1 {
		t.Errorf("in a new organization: %v", err)
	}
}

// Either side ends a membership at any time.
func TestEitherSideEndsMembership(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(neighbours, string) (*usersv1.MemberResponse, error){
		"the user": func(w neighbours, id string) (*usersv1.MemberResponse, error) {
			return w.Gateway.RemoveMyMembership(w.asMini, &usersv1.RemoveMyMembershipRequest{MembershipId: id})
		},
		"the user's organization": func(w neighbours, id string) (*usersv1.MemberResponse, error) {
			return w.Gateway.RemoveMembership(w.asOwnerB,
				&usersv1.RemoveMembershipRequest{UserId: w.mini, MembershipId: id})
		},
		"the organization of the roles": func(w neighbours, _ string) (*usersv1.MemberResponse, error) {
			return w.Gateway.RemoveOrgMember(w.asOwnerA, &usersv1.RemoveMemberRequest{UserId: w.mini})
		},
	} {
		for _, accepted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newNeighbours(t)
				w.add(w.asOwnerA, "ORG_OWNER")
				id := w.membership().Id
				if accepted {
					w.Must(w.Gateway.AcceptMyMembership(w.asMini, &usersv1.AcceptMyMembershipRequest{MembershipId: id}))
				}
				r, err := end(w, id)
				if err != nil || r.State != nil || r.Details.ResourceOwner != w.orgA {
					t.Errorf("%v, %v", r, err)
				}
				if n := w.Rows("members where user_id = $1", w.mini); n != 0 {
					t.Errorf("%d memberships are left", n)
				}
				_, err = w.Resolve(w.tokenOfMini, w.orgA)
				testkit.Refused(t, err, "PERMISSION_DENIED")
			})
		}
	}
}

// An application that is not trusted accepts and ends no membership for a person, and neither does a personal access
// token that an application made: the person's yes would not end with the application's access.
func TestApplicationsAnswerForNobody(t *testing.T) {
	t.Parallel()
	w := newNeighbours(t)
	w.add(w.asOwnerA, "ORG_OWNER")
	id := w.membership().Id
	c, err := w.Resolve(w.tokenOfMini, "")
	if err != nil {
		t.Fatal(err)
	}
	c.AuthenticatedAt, c.TokenID, c.ClientID, c.AuthorizationID = w.Ground.Now(), "", "app", "a"
	app := w.As(c)
	pat, err := w.Gateway.AddMyPersonalAccessToken(app, &usersv1.AddMyPersonalAccessTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	c, err = w.Resolve(pat.Token, "")
	if err != nil {
		t.Fatal(err)
	}
	orgs := map[string]func(context.Context) error{
		"added": func(ctx context.Context) error {
			_, err := w.Gateway.AddOrgMember(ctx,
				&usersv1.AddMemberRequest{UserId: w.mini, Roles: []string{"ORG_OWNER"}})
			return err
		},
		"updated": func(ctx context.Context) error {
			_, err := w.Gateway.UpdateOrgMember(ctx, &usersv1.UpdateMemberRequest{
				UserId: w.mini, Roles: []string{"ORG_OWNER_VIEWER"},
			})
			return err
		},
		"removed": func(ctx context.Context) error {
			_, err := w.Gateway.RemoveOrgMember(ctx, &usersv1.RemoveMemberRequest{UserId: w.mini})
			return err
		},
	}
	owner := c
	owner.Memberships = []caller.Membership{{OrganizationID: w.orgB, Roles: []string{"ORG_OWNER"}}}
	for name, change := range orgs {
		if err := change(w.As(owner)); fault.From(err).ID != "APP_NOT_TRUSTED" {
			t.Errorf("an application has %s the person's own membership: %v", name, err)
		}
	}
	for name, ctx := range map[string]context.Context{"application": app, "its token": w.As(c)} {
		_, err := w.Gateway.AcceptMyMembership(ctx, &usersv1.AcceptMyMembershipRequest{MembershipId: id})
		testkit.Refused(t, err, "APP_NOT_TRUSTED")
		_, err = w.Gateway.RemoveMyMembership(ctx, &usersv1.RemoveMyMembershipRequest{MembershipId: id})
		testkit.Refused(t, err, "APP_NOT_TRUSTED")
		if n := w.Rows("members where id = $1 and state = 2", id); n != 1 {
			t.Errorf("%s has answered for the person", name)
		}
	}
}
