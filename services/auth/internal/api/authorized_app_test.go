package api_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// give lets people give applications access, one after the other.
func give(b testworld.Browsers, now time.Time) {
	b.Helper()
	for i, pair := range [][2]string{{"u1", "c1"}, {"u1", "c2"}, {"u1", "removed"}, {"u2", "c3"}} {
		id := pair[0] + pair[1]
		if err := b.Store.Issue(b.Context(), domain.Authorization{ID: id, ClientID: pair[1], ProjectID: "p1",
			UserID: pair[0], UserGeneration: 1, OrgID: "o1", OrgGeneration: 1, Scopes: []string{}, AMR: []string{},
			Audience: []string{}, AuthTime: now.Add(time.Duration(i) * time.Second), ExpiresAt: now.Add(time.Hour)},
			domain.Use{}, domain.NewToken{Kind: domain.KindAccess, Hash: secret.Hash(id),
				ExpiresAt: now.Add(time.Hour)}); err != nil {
			b.Fatal(err)
		}
	}
}

// People list the applications to which they gave access, a page at a time, and take it back from one of them. Nobody
// sees or ends what another person gave.
func TestAuthorizedApps(t *testing.T) {
	t.Parallel()
	b := testworld.NewBrowsers(t)
	testworld.ServeApplications(t, b.Ground)
	b.Login("here")
	now := time.Now()
	give(b, now)
	list := func(userID string, q *heraldv1.ListQuery) (ids []string, r *authv1.SearchMyAuthorizedAppsResponse) {
		t.Helper()
		r, err := b.Pages.Auth.SearchMyAuthorizedApps(b.As(userID, 24*time.Hour),
			&authv1.SearchMyAuthorizedAppsRequest{Query: q})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range r.Result {
			ids = append(ids, a.ClientId)
		}
		return ids, r
	}
	ids, all := list("u1", nil)
	if !slices.Equal(ids, []string{"removed", "c2", "c1"}) || all.Details.GetTotalResult() != 3 ||
		all.Result[0].Name != "" || all.Result[1].Name == "" ||
		all.Result[2].AuthorizationDate.AsTime().Sub(now).Abs() > time.Millisecond {
		t.Errorf("%v", all)
	}
	b.Users.Set(func(u *testworld.Users) {
		made := func(id, clientID string, at time.Time) *usersv1.PersonalAccessToken {
			return &usersv1.PersonalAccessToken{Id: id, ClientId: clientID,
				Details: &heraldv1.ObjectDetails{CreationDate: timestamppb.New(at)}}
		}
		u.Own.Tokens = []*usersv1.PersonalAccessToken{
			made("older", "c1", now.Add(-time.Hour)), made("own", "", now), made("newer", "c1", now),
		}
		u.Own.Codes, u.Own.FactorOf = 10, []string{"c1"}
	})
	_, all = list("u1", nil)
	if m := all.Result[2].Made; len(all.Result[1].Made) != 0 || len(m) != 3 || m[0].Id != "newer" ||
		m[1].Id != "older" || m[1].Type != authv1.MadeByAppType_MADE_BY_APP_TYPE_PERSONAL_ACCESS_TOKEN ||
		m[2].Type != authv1.MadeByAppType_MADE_BY_APP_TYPE_OTP || !m[0].CreationDate.AsTime().Equal(now) {
		t.Errorf("%v", all)
	}
	ids, page := list("u1", &heraldv1.ListQuery{Offset: 1, Limit: 1, Asc: true})
	if !slices.Equal(ids, []string{"c2"}) || page.Details.GetTotalResult() != 3 {
		t.Errorf("the second page is %v", page)
	}
	_, err := b.Pages.Auth.SearchMyAuthorizedApps(b.As("u1", 0),
		&authv1.SearchMyAuthorizedAppsRequest{Query: &heraldv1.ListQuery{Limit: 4}})
	testkit.Refused(t, err, "LIMIT_EXCEEDED")

	end := func(userID, clientID string) error {
		_, err := b.Pages.Auth.RemoveMyAuthorizedApp(b.As(userID, 24*time.Hour),
			&authv1.RemoveMyAuthorizedAppRequest{ClientId: clientID})
		return err
	}
	testkit.Refused(t, end("u1", "c3"), "AUTHORIZED_APP_NOT_FOUND")
	testkit.Refused(t, end("u1", "missing"), "AUTHORIZED_APP_NOT_FOUND")
	ended, err := b.Pages.Auth.RemoveMyAuthorizedApp(b.As("u1", 24*time.Hour),
		&authv1.RemoveMyAuthorizedAppRequest{ClientId: "c1"})
	if d := ended.GetDetails(); err != nil || d.GetResourceOwner() != "o1" {
		t.Fatal(ended, err)
	}
	testkit.Refused(t, end("u1", "c1"), "AUTHORIZED_APP_NOT_FOUND")
	ids, all = list("u1", nil)
	if !slices.Equal(ids, []string{"removed", "c2"}) ||
		all.Details.GetProcessedSequence() != ended.Details.GetSequence() {
		t.Errorf("after %v there are %v", ended, all)
	}
	for id, alive := range map[string]bool{"u1c1": false, "u1c2": true, "u2c3": true} {
		if _, err := b.Store.Token(t.Context(), domain.KindAccess, secret.Hash(id)); (err == nil) != alive {
			t.Errorf("the token of %s: %v", id, err)
		}
	}
	b.Users.Change()
	if ids, _ := list("u1", nil); len(ids) != 0 {
		t.Errorf("after a change of the user there are %v", ids)
	}
}
