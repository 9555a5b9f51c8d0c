package credentials_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// A token has the name that its maker gave it, and shows when it was last used, to a minute.
func TestTokenHasANameAndItsLastUse(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	made, err := w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{
		UserId: id, Name: " Backup ",
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func() *usersv1.PersonalAccessToken {
		t.Helper()
		found, err := w.Gateway.GetPersonalAccessToken(w.Admin, &usersv1.GetPersonalAccessTokenRequest{
			UserId: id, TokenId: made.TokenId,
		})
		if err != nil {
			t.Fatal(err)
		}
		return found.Pat
	}
	if got := read(); got.Name != "Backup" || got.LastUsedDate != nil {
		t.Errorf("the token is %v", got)
	}
	var first *timestamppb.Timestamp
	for _, step := range []struct {
		pause time.Duration
		later bool
	}{{0, true}, {30 * time.Second, false}, {time.Minute, true}} {
		w.Advance(step.pause)
		if _, err := w.Resolve(made.Token, ""); err != nil {
			t.Fatal(err)
		}
		used := read().LastUsedDate
		if used == nil || used.AsTime().After(first.AsTime()) != step.later {
			t.Errorf("after %v it was last used at %v, before at %v", step.pause, used, first)
		}
		first = used
	}
	for _, name := range []string{strings.Repeat("a", 201), "a\u200bb", "a\nb"} {
		_, err := w.Gateway.AddPersonalAccessToken(w.Admin,
			&usersv1.AddPersonalAccessTokenRequest{UserId: id, Name: name})
		testkit.Refused(t, err, "INVALID_ARGUMENT", "name")
	}
}

func TestPersonalAccessTokens(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	forever, err := w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
	if err != nil || !secret.PersonalAccessToken.WellFormed(forever.Token) {
		t.Fatalf("%v, %v", forever, err)
	}
	hour, err := w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{
		UserId: id, ExpirationDate: timestamppb.New(time.Now().Add(time.Hour)),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{
		UserId: id, ExpirationDate: timestamppb.New(time.Now().Add(-time.Second)),
	})
	testkit.Refused(t, err, "EXPIRATION_DATE_PAST", "expirationDate")

	c, err := w.Resolve(forever.Token, "")
	if err != nil || c.UserID != id || c.OrganizationID != w.OrgID || len(c.Scopes) != 2 || len(c.Memberships) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	read, err := w.Gateway.GetPersonalAccessToken(w.Admin, &usersv1.GetPersonalAccessTokenRequest{UserId: id,
		TokenId: forever.TokenId})
	if err != nil || read.Pat.ExpirationDate.AsTime().Year() != 9999 {
		t.Errorf("%v, %v", read, err)
	}
	list, err := w.Gateway.SearchMyPersonalAccessTokens(w.As(c), &usersv1.SearchMyPersonalAccessTokensRequest{})
	if err != nil || list.Details.TotalResult != 2 {
		t.Errorf("%v, %v", list, err)
	}
	same, err := w.Gateway.SearchPersonalAccessTokens(w.Admin, &usersv1.SearchPersonalAccessTokensRequest{UserId: id})
	if err != nil || !proto.Equal(same, list) {
		t.Errorf("%v, %v; want %v", same, err, list)
	}
	_, err = w.Gateway.AddMyPersonalAccessToken(w.As(c), &usersv1.AddMyPersonalAccessTokenRequest{})
	testkit.Refused(t, err, "FRESH_LOGIN_REQUIRED")
	// A token cannot create another one for its user on this path either.
	_, err = w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{UserId: w.AdminID})
	testkit.Refused(t, err, "FRESH_LOGIN_REQUIRED")
	for _, foreign := range []*usersv1.GetPersonalAccessTokenRequest{{UserId: w.AdminID, TokenId: forever.TokenId},
		{UserId: id, TokenId: "none"}} {
		_, err = w.Gateway.GetPersonalAccessToken(w.Admin, foreign)
		testkit.Refused(t, err, "PAT_NOT_FOUND")
	}

	w.Advance(61 * time.Minute)
	_, err = w.Resolve(hour.Token, "")
	testkit.Refused(t, err, "TOKEN_INVALID")
	w.Must(w.Gateway.RemoveMyPersonalAccessToken(w.As(c),
		&usersv1.RemoveMyPersonalAccessTokenRequest{TokenId: forever.TokenId}))
	_, err = w.Resolve(forever.Token, "")
	testkit.Refused(t, err, "TOKEN_INVALID")
	_, err = w.Resolve("hrld_", "")
	testkit.Refused(t, err, "TOKEN_INVALID")
}

// A token can end itself on either path. It cannot end another token of its user, because that needs a login.
func TestTokenEndsItself(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	w.AddMember(w.Admin, id, "ORG_OWNER")
	var tokens []*usersv1.AddPersonalAccessTokenResponse
	for range 3 {
		made := w.PAT(w.Admin, id)
		tokens = append(tokens, made)
	}
	ends := map[string]func(context.Context, string) error{
		"one's own path": func(ctx context.Context, tokenID string) error {
			_, err := w.Gateway.RemoveMyPersonalAccessToken(ctx,
				&usersv1.RemoveMyPersonalAccessTokenRequest{TokenId: tokenID})
			return err
		},
		"by id": func(ctx context.Context, tokenID string) error {
			_, err := w.Gateway.RemovePersonalAccessToken(ctx,
				&usersv1.RemovePersonalAccessTokenRequest{UserId: id, TokenId: tokenID})
			return err
		},
	}
	last := tokens[2].TokenId
	for path, end := range ends {
		own := tokens[0]
		tokens = tokens[1:]
		c, err := w.Resolve(own.Token, "")
		if err != nil || c.TokenID != own.TokenId {
			t.Fatalf("%+v, %v", c, err)
		}
		w.Unwritten(func() {
			testkit.Refused(t, end(w.As(c), last), "FRESH_LOGIN_REQUIRED")
			testkit.Refused(t, end(w.As(c), "none"), "FRESH_LOGIN_REQUIRED")
			testkit.Refused(t, end(w.As(c), ""), "INVALID_ARGUMENT", "tokenId")
		})
		if err := end(w.As(c), own.TokenId); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		_, err = w.Resolve(own.Token, "")
		testkit.Refused(t, err, "TOKEN_INVALID")
	}
	c := w.Caller(w.Admin, id, "")
	c.AuthenticatedAt = w.Ground.Now()
	if err := ends["one's own path"](w.As(c), last); err != nil {
		t.Errorf("after a login: %v", err)
	}
}

// The caller of a token depends on the requested organization. A caller without roles there gets no
// information about it.
func TestResolveInOrganizations(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	orgB, _ := w.Org("B")
	id := w.Person(w.Admin, "mini")
	w.AddMember(inA, id, "ORG_OWNER_VIEWER")
	pat := w.PAT(w.Admin, id)
	if c, err := w.Resolve(pat.Token, w.OrgID); err != nil || len(c.Memberships) != 0 {
		t.Errorf("home: %+v, %v", c, err)
	}
	if c, err := w.Resolve(pat.Token, orgA); err != nil || !c.Can("user.read", "") || c.Can("user.write", "") {
		t.Errorf("member: %+v, %v", c, err)
	}
	_, known := w.Resolve(pat.Token, orgB)
	testkit.Refused(t, known, "PERMISSION_DENIED")
	_, unknown := w.Resolve(pat.Token, "nowhere")
	testkit.Refused(t, unknown, "PERMISSION_DENIED")
	_, err := w.Resolve(w.AdminToken, "nowhere")
	testkit.Refused(t, err, "ORG_NOT_FOUND")
}

// An organization that is not active lets in only callers with a role in the instance. A removed one
// lets in nobody, also while it still has members.
func TestResolveInStatesOfOrganizations(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	id := w.Person(w.Admin, "mini")
	w.AddMember(inA, id, "ORG_OWNER")
	pat := w.PAT(w.Admin, id)
	for _, c := range []struct {
		state         domain.OrgState
		member, admin string // faults
	}{
		{domain.OrgActive, "", ""}, {domain.OrgInactive, "PERMISSION_DENIED", ""},
		{domain.OrgRemoved, "PERMISSION_DENIED", "ORG_NOT_FOUND"},
	} {
		// Nothing sweeps an organization whose state is set like this, so its members stay.
		w.Must(w.Service.DB.Exec(t.Context(), "update organizations set state = $1 where id = $2", c.state,
			orgA))
		for token, want := range map[string]string{pat.Token: c.member, w.AdminToken: c.admin} {
			_, err := w.Resolve(token, orgA)
			if want != "" {
				testkit.Refused(t, err, want)
			} else if err != nil {
				t.Errorf("in state %d: %v", c.state, err)
			}
		}
	}
	if w.Rows("members where user_id = $1 and org_id = $2", id, orgA) != 1 {
		t.Error("the member is gone")
	}
}

// Roles on projects are resolved only if the roles in the organization do not have all their
// permissions.
func TestProjectRolesThatAreCoveredAreNotResolved(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]int{"ORG_OWNER": 1, "ORG_OWNER_VIEWER": 3} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t)
			orgA, inA := w.Org("A")
			id := w.Person(w.Admin, "mini")
			w.AddMember(inA, id, role)
			w.Must(w.Service.DB.Exec(t.Context(),
				`insert into members (user_id, org_id, project_id, roles, state, sequence, created_at, changed_at)
				select $1, $2, project, '{PROJECT_OWNER}', 1, 0, now(), now() from unnest('{one,two}'::text[]) project`,
				id, orgA))
			c := w.Caller(w.Admin, id, orgA)
			if len(c.Memberships) != want || !c.Can("project.write", "one") || !c.Can("project.write", "two") {
				t.Errorf("%+v, want %d memberships", c.Memberships, want)
			}
		})
	}
}
