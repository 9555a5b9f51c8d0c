package api_test

import (
	"slices"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// People list the applications to which they gave access, a page at a time, and take it back from one of them. Nobody
// sees or ends what another person gave.
func TestAuthorizedApps(t *testing.T) {
	t.Parallel()
	b := testworld.NewBrowsers(t)
	testworld.ServeApplications(t, b.Ground)
	b.Login("here")
	now := time.Now()
	for i, give := range [][2]string{{"u1", "c1"}, {"u1", "c2"}, {"u1", "removed"}, {"u2", "c3"}} {
		id := give[0] + give[1]
		if err := b.Store.Issue(t.Context(), domain.Authorization{ID: id, ClientID: give[1], ProjectID: "p1",
			UserID: give[0], UserGeneration: 1, OrgID: "o1", OrgGeneration: 1, Scopes: []string{}, AMR: []string{},
			Audience: []string{}, AuthTime: now.Add(time.Duration(i) * time.Second), ExpiresAt: now.Add(time.Hour)},
			domain.Use{}, domain.NewToken{Kind: domain.KindAccess, Hash: secret.Hash(id),
				ExpiresAt: now.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
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
