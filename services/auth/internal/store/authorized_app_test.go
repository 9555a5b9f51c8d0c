package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/gen/fault/authfault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/search"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// give writes what a user gave an application, with a token.
func (w world) give(id, userID, clientID string, at time.Time, change func(*domain.Authorization)) {
	w.Helper()
	a := domain.Authorization{ID: id, ClientID: clientID, ProjectID: "p", UserID: userID, UserGeneration: 1, OrgID: "o",
		OrgGeneration: 1, Scopes: []string{}, Audience: []string{}, AMR: []string{}, AuthTime: at,
		ExpiresAt: now.Add(time.Hour)}
	if change != nil {
		change(&a)
	}
	if err := w.Issue(w.Context(), a, domain.Use{}, domain.NewToken{Kind: domain.KindAccess, Hash: secret.Hash(id),
		ExpiresAt: a.ExpiresAt}); err != nil {
		w.Fatal(err)
	}
}

func (w world) gave(userID string) (all []string) {
	w.Helper()
	found, err := w.AuthorizedApps(w.Context(), domain.Session{UserID: userID, UserGeneration: 1, OrgID: "o",
		OrgGeneration: 1}.Owner(), search.Page{Limit: 10})
	if err != nil {
		w.Fatal(err)
	}
	for _, g := range found.Rows {
		all = append(all, fmt.Sprint(g.ClientID, " ", g.GivenAt.Sub(now)))
	}
	return all
}

// The list has the applications with an authorization or consent that is still valid. Revoking the access of one
// ends its authorizations and its consent, and nothing else.
func TestRevokedAppHasNoAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.give("a1", "u1", "app1", now.Add(-time.Hour), nil)
	w.give("a2", "u1", "app1", now.Add(-time.Minute), nil)
	w.give("a3", "u1", "app2", now.Add(-time.Second), nil)
	w.give("a4", "u2", "app1", now, nil)
	w.give("expired", "u1", "app3", now, func(a *domain.Authorization) { a.ExpiresAt = now })
	w.give("ended", "u1", "app4", now, func(a *domain.Authorization) { a.UserGeneration = 0 })
	w.give("moved", "u1", "app5", now, func(a *domain.Authorization) { a.OrgID = "o2" })
	w.give("closed", "u1", "app6", now, func(a *domain.Authorization) { a.OrgGeneration = 0 })
	w.give("machine", "u1", "u1", now, func(a *domain.Authorization) { a.ProjectID = "" })
	w.agree("u1", "app2")
	w.agree("u1", "app7")
	w.agree("u2", "app8")
	w.expect("the list of u1", w.gave("u1"), "app7 0s", "app2 0s", "app1 -1m0s")
	for _, revoke := range []struct {
		userID, clientID string
		want             error
	}{
		{"u2", "app2", authfault.ErrAuthorizedAppNotFound}, {"", "app1", authfault.ErrAuthorizedAppNotFound},
		{"u1", "", authfault.ErrAuthorizedAppNotFound}, {"u1", "missing", authfault.ErrAuthorizedAppNotFound},
		{"u1", "app1", nil}, {"u1", "app1", authfault.ErrAuthorizedAppNotFound}, {"u1", "app2", nil},
	} {
		last, err := w.RevokeApp(t.Context(), revoke.userID, revoke.clientID,
			&authv1.ConsentWithdrawn{UserId: revoke.userID}, &authv1.AuthorizationEnded{UserId: revoke.userID})
		if !errors.Is(err, revoke.want) || (last.Sequence > 0) != (err == nil) {
			t.Errorf("%s of %s: %+v, %v", revoke.clientID, revoke.userID, last, err)
		}
	}
	w.expect("what is left to u1", w.gave("u1"), "app7 0s")
	for id, alive := range map[string]bool{"a1": false, "a2": false, "a3": false, "a4": true} {
		if _, err := w.Token(t.Context(), domain.KindAccess, secret.Hash(id)); (err == nil) != alive {
			t.Errorf("the token of %s: %v", id, err)
		}
	}
	for event, want := range map[string]int{"ended": 3, "withdrawn": 1} {
		if got := testkit.Rows(t, w.db, "events where name = $1", event); got != want {
			t.Errorf("%d events %s, want %d", got, event, want)
		}
	}
}
