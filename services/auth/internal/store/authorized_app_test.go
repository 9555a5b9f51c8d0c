package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/search"
	"herald/shared/secret"
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

// A person sees the applications that have something that is worth something, and takes it back from one of them.
func TestGiven(t *testing.T) {
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
	for _, c := range []domain.Consent{
		{UserID: "u1", ClientID: "app1", OrgID: "o"}, {UserID: "u1", ClientID: "app7", OrgID: "o"},
		{UserID: "u2", ClientID: "app8", OrgID: "o"},
	} {
		if err := w.GiveConsent(t.Context(), c, &authv1.ConsentGiven{UserId: c.UserID}); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.gave("u1"); !slices.Equal(got, []string{"app7 0s", "app1 0s", "app2 -1s"}) {
		t.Errorf("u1 gave %q", got)
	}
	take := func(userID, clientID string) bool {
		t.Helper()
		last, err := w.RevokeApp(t.Context(), userID, clientID, &authv1.AuthorizationEnded{UserId: userID})
		if err != nil {
			t.Fatal(err)
		}
		return last.Sequence > 0
	}
	if take("u2", "app2") || take("", "app1") || take("u1", "") || take("u1", "missing") {
		t.Error("something that is not there was taken back")
	}
	if !take("u1", "app1") || take("u1", "app1") {
		t.Error("app1 was not taken back once")
	}
	if got := w.gave("u1"); !slices.Equal(got, []string{"app7 0s", "app1 0s", "app2 -1s"}) {
		t.Errorf("left to u1 are %q", got)
	}
	for id, alive := range map[string]bool{"a1": false, "a2": false, "a3": true, "a4": true} {
		if _, err := w.Token(t.Context(), domain.KindAccess, secret.Hash(id)); (err == nil) != alive {
			t.Errorf("the token of %s: %v", id, err)
		}
	}
	var events int
	if err := w.db.QueryRow(t.Context(), `select count(*) from events
		where aggregate = 'authorization' and name = 'ended'`).
		Scan(&events); err != nil || events != 2 {
		t.Errorf("%d events, %v", events, err)
	}
}
