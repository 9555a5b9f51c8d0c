package users_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/domain"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

func TestPersonalAccessTokens(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := startWorld(t, g)
	id := w.person(w.admin, "mini")
	forever, err := w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
	if err != nil || !secret.PersonalAccessToken.WellFormed(forever.Token) {
		t.Fatalf("%v, %v", forever, err)
	}
	hour, err := w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{
		UserId: id, ExpirationDate: timestamppb.New(time.Now().Add(time.Hour)),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{
		UserId: id, ExpirationDate: timestamppb.New(time.Now().Add(-time.Second)),
	})
	refused(t, err, "EXPIRATION_DATE_PAST", "expirationDate")

	c, err := w.resolve(forever.Token, "")
	if err != nil || c.UserID != id || c.OrganizationID != w.orgID || len(c.Scopes) != 2 || len(c.Memberships) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	read, err := w.gateway.GetPersonalAccessToken(w.admin, &usersv1.GetPersonalAccessTokenRequest{UserId: id,
		TokenId: forever.TokenId})
	if err != nil || read.Pat.ExpirationDate.AsTime().Year() != 9999 {
		t.Errorf("%v, %v", read, err)
	}
	list, err := w.gateway.SearchMyPersonalAccessTokens(w.as(c), &usersv1.SearchMyPersonalAccessTokensRequest{})
	if err != nil || list.Details.TotalResult != 2 {
		t.Errorf("%v, %v", list, err)
	}
	same, err := w.gateway.SearchPersonalAccessTokens(w.admin, &usersv1.SearchPersonalAccessTokensRequest{UserId: id})
	if err != nil || !proto.Equal(same, list) {
		t.Errorf("%v, %v; want %v", same, err, list)
	}
	_, err = w.gateway.AddMyPersonalAccessToken(w.as(c), &usersv1.AddMyPersonalAccessTokenRequest{})
	refused(t, err, "FRESH_LOGIN_REQUIRED")
	// A token cannot create another one for its user on this path either.
	_, err = w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: w.adminID})
	refused(t, err, "FRESH_LOGIN_REQUIRED")
	for _, foreign := range []*usersv1.GetPersonalAccessTokenRequest{{UserId: w.adminID, TokenId: forever.TokenId},
		{UserId: id, TokenId: "none"}} {
		_, err = w.gateway.GetPersonalAccessToken(w.admin, foreign)
		refused(t, err, "PAT_NOT_FOUND")
	}

	ahead.Store(int64(61 * time.Minute))
	_, err = w.resolve(hour.Token, "")
	refused(t, err, "TOKEN_INVALID")
	if _, err := w.gateway.RemoveMyPersonalAccessToken(testkit.As(t.Context(), g, c),
		&usersv1.RemoveMyPersonalAccessTokenRequest{TokenId: forever.TokenId}); err != nil {
		t.Fatal(err)
	}
	_, err = w.resolve(forever.Token, "")
	refused(t, err, "TOKEN_INVALID")
	_, err = w.resolve("hrld_", "")
	refused(t, err, "TOKEN_INVALID")
}

// A token ends itself by either path. Another one of its user it ends by neither: that takes a login.
func TestTokenEndsItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	w.addMember(w.admin, id, "ORG_OWNER")
	var tokens []*usersv1.AddPersonalAccessTokenResponse
	for range 3 {
		made, err := w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, made)
	}
	ends := map[string]func(context.Context, string) error{
		"one's own path": func(ctx context.Context, tokenID string) error {
			_, err := w.gateway.RemoveMyPersonalAccessToken(ctx,
				&usersv1.RemoveMyPersonalAccessTokenRequest{TokenId: tokenID})
			return err
		},
		"by id": func(ctx context.Context, tokenID string) error {
			_, err := w.gateway.RemovePersonalAccessToken(ctx,
				&usersv1.RemovePersonalAccessTokenRequest{UserId: id, TokenId: tokenID})
			return err
		},
	}
	last := tokens[2].TokenId
	for path, end := range ends {
		own := tokens[0]
		tokens = tokens[1:]
		c, err := w.resolve(own.Token, "")
		if err != nil || c.TokenID != own.TokenId {
			t.Fatalf("%+v, %v", c, err)
		}
		w.unwritten(func() {
			refused(t, end(w.as(c), last), "FRESH_LOGIN_REQUIRED")
			refused(t, end(w.as(c), "none"), "FRESH_LOGIN_REQUIRED")
			refused(t, end(w.as(c), ""), "FRESH_LOGIN_REQUIRED")
		})
		if err := end(w.as(c), own.TokenId); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		_, err = w.resolve(own.Token, "")
		refused(t, err, "TOKEN_INVALID")
	}
	c := w.caller(w.admin, id, "")
	c.AuthenticatedAt = w.ground.Now()
	if err := ends["one's own path"](w.as(c), last); err != nil {
		t.Errorf("after a login: %v", err)
	}
}

// The caller of a token depends on the requested organization. A caller without roles there gets no
// information about it.
func TestResolveInOrganizations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orgA, inA := w.org("A")
	orgB, _ := w.org("B")
	id := w.person(w.admin, "mini")
	w.addMember(inA, id, "ORG_OWNER_VIEWER")
	pat, err := w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := w.resolve(pat.Token, w.orgID); err != nil || len(c.Memberships) != 0 {
		t.Errorf("home: %+v, %v", c, err)
	}
	if c, err := w.resolve(pat.Token, orgA); err != nil || !c.Can("user.read", "") || c.Can("user.write", "") {
		t.Errorf("member: %+v, %v", c, err)
	}
	_, known := w.resolve(pat.Token, orgB)
	refused(t, known, "PERMISSION_DENIED")
	_, unknown := w.resolve(pat.Token, "nowhere")
	refused(t, unknown, "PERMISSION_DENIED")
	_, err = w.resolve(w.adminToken, "nowhere")
	refused(t, err, "ORG_NOT_FOUND")
}

// An organization that is not active lets in only callers with a role in the instance. A removed one
// lets in nobody, also while it still has members.
func TestResolveInStatesOfOrganizations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orgA, inA := w.org("A")
	id := w.person(w.admin, "mini")
	w.addMember(inA, id, "ORG_OWNER")
	pat, err := w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		state         domain.OrgState
		member, admin string // faults
	}{
		{domain.OrgActive, "", ""}, {domain.OrgInactive, "PERMISSION_DENIED", ""},
		{domain.OrgRemoved, "PERMISSION_DENIED", "ORG_NOT_FOUND"},
	} {
		// Nothing sweeps an organization whose state is set like this, so its members stay.
		if _, err := w.service.DB.Exec(t.Context(), "update organizations set state = $1 where id = $2", c.state,
			orgA); err != nil {
			t.Fatal(err)
		}
		for token, want := range map[string]string{pat.Token: c.member, w.adminToken: c.admin} {
			_, err := w.resolve(token, orgA)
			if want != "" {
				refused(t, err, want)
			} else if err != nil {
				t.Errorf("in state %d: %v", c.state, err)
			}
		}
	}
	if w.rows("members where user_id = $1 and org_id = $2", id, orgA) != 1 {
		t.Error("the member is gone")
	}
}

// Roles on projects are resolved only if the roles in the organization do not have all their
// permissions.
func TestResolveLeavesOutWhatIsCovered(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]int{"ORG_OWNER": 1, "ORG_OWNER_VIEWER": 3} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			orgA, inA := w.org("A")
			id := w.person(w.admin, "mini")
			w.addMember(inA, id, role)
			if _, err := w.service.DB.Exec(t.Context(),
				`insert into members (user_id, org_id, project_id, roles, sequence, created_at, changed_at)
				select $1, $2, project, '{PROJECT_OWNER}', 0, now(), now() from unnest('{one,two}'::text[]) project`,
				id, orgA); err != nil {
				t.Fatal(err)
			}
			c := w.caller(w.admin, id, orgA)
			if len(c.Memberships) != want || !c.Can("project.write", "one") || !c.Can("project.write", "two") {
				t.Errorf("%+v, want %d memberships", c.Memberships, want)
			}
		})
	}
}
