package store_test

import (
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// authorization returns one of a user that expires so long from now.
func authorization(id, userID string, expires time.Duration) domain.Authorization {
	return domain.Authorization{ID: id, ClientID: "app", UserID: userID, OrgID: "o1", Scopes: []string{"openid"},
		Audience: []string{"app"}, AMR: []string{}, AuthTime: now, ExpiresAt: now.Add(expires)}
}

// issue writes an authorization with an access token, whose text is the id.
func (w world) issue(a domain.Authorization, expires time.Duration) {
	w.Helper()
	if err := w.Issue(w.Context(), a, domain.Use{}, domain.NewToken{Kind: domain.KindAccess, Hash: secret.Hash(a.ID),
		Scopes: a.Scopes, ExpiresAt: now.Add(expires)}); err != nil {
		w.Fatal(err)
	}
}

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Expired rows are deleted, and other rows stay.
func TestExpiredRowsAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.issue(authorization("ended", "u1", 0), 0)
	w.issue(authorization("refreshed", "u1", time.Hour), 0)
	w.issue(authorization("live", "u1", time.Hour), time.Second)
	w.must(w.Use(t.Context(), domain.Use{Issuer: "i", ID: "old", Until: now}))
	w.must(w.Use(t.Context(), domain.Use{Issuer: "i", ID: "new", Until: now.Add(time.Second)}))
	for id, expires := range map[string]time.Duration{"old": 0, "new": time.Second} {
		jwt := domain.Token{JTI: id, TokenExpiresAt: now.Add(expires)}
		jwt.OrgID = "o1"
		w.must(w.RevokeToken(t.Context(), jwt, nil, &authv1.TokenRevoked{}))
	}
	for id, expires := range map[string]time.Duration{"old": 0, "new": time.Second} {
		w.must(w.AddAuthRequest(t.Context(), domain.AuthRequest{ID: id, ExpiresAt: now.Add(expires)}))
	}
	if more, err := w.DeleteExpired(t.Context(), keep); more || err != nil {
		t.Errorf("%v, %v", more, err)
	}
	for what, want := range map[string]int{
		"authorizations": 2, "authorizations where id = 'ended'": 0, "tokens": 1, "used_assertions": 1,
		"used_assertions where id = 'new'": 1, "revoked_jwts": 1, "revoked_jwts where id = 'new'": 1,
		"auth_requests": 1, "auth_requests where id = 'new'": 1,
	} {
		if got := testkit.Rows(t, w.db, what); got != want {
			t.Errorf("%d %s are left, want %d", got, what, want)
		}
	}
}

// A batch has a limit, and the result reports whether there may be more rows.
func TestExpiredRowsAreDeletedInBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.db.Exec(t.Context(), `insert into used_assertions (issuer, id, expires_at)
		select 'i', n::text, $1 from generate_series(1, 1001) n`, now); err != nil {
		t.Fatal(err)
	}
	if more, err := w.DeleteExpired(t.Context(), keep); !more || err != nil ||
		testkit.Rows(t, w.db, "used_assertions") != 1 {
		t.Errorf("%v, %v", more, err)
	}
	if more, err := w.DeleteExpired(t.Context(), keep); more || err != nil ||
		testkit.Rows(t, w.db, "used_assertions") != 0 {
		t.Errorf("%v, %v", more, err)
	}
}

// A token that is revoked has one event, which names whom gateways must ask about again; others stay.
func TestRevokedTokenHasOneEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := authorization("a", "u1", time.Hour)
	w.issue(a, time.Hour)
	w.issue(authorization("b", "u1", time.Hour), time.Hour)
	jwt := domain.Token{JTI: "j", TokenExpiresAt: now.Add(time.Hour)}
	jwt.OrgID = "o1"
	for range 2 {
		w.must(w.RevokeToken(t.Context(), domain.Token{Authorization: a}, secret.Hash("a"),
			&authv1.TokenRevoked{UserId: "u1"}))
		w.must(w.RevokeToken(t.Context(), jwt, nil, &authv1.TokenRevoked{UserId: "u1"}))
	}
	if _, err := w.Token(t.Context(), domain.KindAccess, secret.Hash("a")); err == nil {
		t.Error("the token is there")
	}
	if _, err := w.Token(t.Context(), domain.KindAccess, secret.Hash("b")); err != nil {
		t.Error(err)
	}
	if revoked, err := w.Revoked(t.Context(), "j"); !revoked || err != nil {
		t.Errorf("%v, %v", revoked, err)
	}
	const events = `events where name = 'token_revoked' and data->>'userId' = 'u1' and aggregate_id = `
	if a, j := testkit.Rows(t, w.db, events+"'a'"), testkit.Rows(t, w.db, events+"'j'"); a != 1 || j != 1 {
		t.Errorf("%d and %d events", a, j)
	}
}

// An application that logged in by itself acts for no user. The event of its token is of its own organization.
func TestRevokedTokenOfAnApplicationIsOfItsOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	jwt := domain.Token{JTI: "j", TokenExpiresAt: now.Add(time.Hour)}
	jwt.ClientOrgID = "o2"
	w.must(w.RevokeToken(t.Context(), jwt, nil, &authv1.TokenRevoked{}))
	if n := testkit.Rows(t, w.db, "events where organization_id = 'o2'"); n != 1 {
		t.Errorf("%d events", n)
	}
}
