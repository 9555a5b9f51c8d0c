package token_test

import (
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	"herald/shared/testkit"
)

// line fails the test unless an answer has tokens, and the refresh token is the same as that of another answer.
func line(w *testworld.OAuth, a, same testworld.Answer) testworld.Answer {
	w.Helper()
	if got := w.Good(a).Text("refresh_token"); got == "" || got != same.Text("refresh_token") {
		w.Errorf("%v has another refresh token than %v", a.Body, same.Body)
	}
	return a
}

// Two tabs, or all workers of a program, that refresh at once get an answer each, with the same refresh token. They do
// so each time the access token is over, and stay logged in.
func TestRefreshesAtOnceStayLoggedIn(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"web", "spa"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			w := testworld.NewOAuth(t)
			now := w.Good(w.Redeem(w.Code("client_id", client), "client_id", client))
			for range 3 {
				w.Advance(time.Hour)
				before := now.Text("refresh_token")
				good, refused := atOnce(func() testworld.Answer { return w.Refresh(before, "client_id", client) })
				if len(refused) > 0 {
					t.Fatalf("%d of 50 refused, with %v", len(refused), refused[0].Body)
				}
				seen := map[string]bool{}
				for _, a := range good {
					alive(w, line(w, a, good[0]))
					seen[a.Text("access_token")] = true
				}
				if now = good[0]; len(seen) != 50 || now.Text("refresh_token") == before {
					t.Errorf("%d access tokens, %v", len(seen), now.Body)
				}
			}
			if n := testkit.Rows(t, w.DB, `authorizations`); n != 1 {
				t.Errorf("%d authorizations", n)
			}
			if n := testkit.Rows(t, w.DB, `tokens where kind = 2 and used_at is null`); n != 1 {
				t.Errorf("%d refresh tokens that wait", n)
			}
		})
	}
}

// A refresh token is answered again for a minute after its first use, also after its successor was used: with the same
// successor, for the scopes of each request. After that it ends the login.
func TestRefreshIsAnsweredAgainForAMinute(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	first := w.LoggedIn("scope", "openid email offline_access").Text("refresh_token")
	second := w.Good(w.Refresh(first))
	w.Advance(20 * time.Second)
	third := w.Good(w.Refresh(second.Text("refresh_token")))
	w.Advance(domain.RefreshRetry - 20*time.Second - time.Microsecond)
	alive(w, line(w, w.Refresh(first), second))
	if a := line(w, w.Refresh(first, "scope", "openid"), second); a.Text("scope") != "openid" {
		t.Errorf("narrower: %v", a.Body)
	}
	alive(w, line(w, w.Refresh(second.Text("refresh_token")), third))
	w.Refused(w.Refresh(first, "scope", "openid phone"), 400, "invalid_scope")
	w.Advance(time.Microsecond)
	alive(w, line(w, w.Refresh(second.Text("refresh_token")), third))
	alive(w, third)
	w.Refused(w.Refresh(first), 400, "invalid_grant")
	for _, a := range []testworld.Answer{second, third} {
		dead(w, a)
	}
	ended(w, "AUTHORIZATION_END_REFRESH_TOKEN_MISUSED", 1)
}

// Nobody but the client uses the minute.
func TestRefreshIsNotAnsweredAgainForOthers(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	first := w.LoggedIn().Text("refresh_token")
	second := w.Good(w.Refresh(first))
	w.Refused(w.Refresh(first, "client_id", "other"), 400, "invalid_grant")
	dead(w, second)
}

// A client that does not stop refreshing leaves no more than so many rows, and its newest tokens work.
func TestRefreshesDoNotFillTheDatabase(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	a := w.LoggedIn()
	token := a.Text("refresh_token")
	for range domain.MaxTokens + 20 {
		a = w.Good(w.Refresh(token))
	}
	alive(w, a)
	for range domain.MaxTokens + 20 {
		w.Advance(time.Second)
		a = w.Good(w.Refresh(a.Text("refresh_token")))
	}
	alive(w, a)
	for kind, most := range map[domain.TokenKind]int{
		domain.KindAccess: domain.MaxTokens, domain.KindRefresh: domain.MaxTokens + 1,
	} {
		if n := testkit.Rows(t, w.DB, `tokens where kind = $1`, kind); n != most {
			t.Errorf("%d tokens of kind %d, want %d", n, kind, most)
		}
	}
}
