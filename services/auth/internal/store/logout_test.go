package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/testkit"
)

// enter lets clients get codes in a session, each of the organization "org of <id>". The ids of
// those that want to be notified of its end have an exclamation mark.
func (w world) enter(s domain.Session, clientIDs ...string) {
	w.Helper()
	w.must(w.AddSession(w.Context(), []byte("cookie of "+s.ID), s))
	for _, id := range clientIDs {
		a := authorization(s.ID+" "+id, s.UserID, time.Hour)
		a.ClientID, a.ClientOrgID, a.SessionID = id, "org of "+id, s.ID
		a.WantsLogout = strings.HasSuffix(id, "!")
		for range 2 { // a second code changes nothing
			a.ID += "'"
			w.must(w.IssueCode(w.Context(), "", a, domain.NewCode{Hash: []byte(a.ID), ExpiresAt: now.Add(time.Minute)},
				granted))
		}
	}
}

// queued returns the logouts that wait, as "session client".
func (w world) queued() (all []string) {
	w.Helper()
	claims, err := w.ClaimLogouts(w.Context(), store.Ask{Most: 100, PerOrg: 100})
	w.must(err)
	for _, l := range claims {
		all = append(all, l.SessionID+" "+l.ClientID)
		if l.UserID != "u1" || l.ClientOrgID != "org of "+l.ClientID {
			w.Errorf("%+v", l)
		}
	}
	slices.Sort(all)
	return all
}

func (w world) expect(what string, got []string, want ...string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s: %q, want %q", what, got, want)
	}
}

// Every end of a session queues its logout for the applications that want notifications, and for no others.
func TestEndOfSessionQueuesLogouts(t *testing.T) {
	t.Parallel()
	dead := session("s1", "u1")
	for name, end := range map[string]func(w world) error{
		"logout": func(w world) error {
			_, err := w.EndSession(t.Context(), "o", "u1", "s1", &authv1.SessionEnded{UserId: "u1"})
			return err
		},
		"change of the user": func(w world) error { return last(w.EndLoginsLike(t.Context(), of("u1"), dead)) },
		"change of the organization": func(w world) error {
			return last(w.EndChangedOrg(t.Context(), of(dead.OrgID), dead.OrgGeneration+1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.enter(dead, "a!", "b", "c!")
			alive := session("s2", "u1")
			alive.UserGeneration, alive.OrgGeneration = 2, 2
			w.enter(alive, "a!")
			w.must(end(w))
			w.expect("queued", w.queued(), "s1 a!", "s1 c!")
			w.expect("alive", []string{w.session("cookie of s1"), w.session("cookie of s2")}, "", "s2")
			if n := testkit.Rows(t, w.db, `authorizations where session_id = 's1'`); n != 0 {
				t.Errorf("%d authorizations are left", n)
			}
			if n := testkit.Rows(t, w.db, `authorizations where session_id = 's2'`); n != 2 {
				t.Errorf("%d authorizations of the other session are left", n)
			}
			if n := testkit.Rows(t, w.db, `session_clients`); n != 1 {
				t.Errorf("%d clients of sessions are left", n)
			}
		})
	}
}

func last(_ bool, err error) error { return err }

// The sessions of removed users and organizations are queued too. A session that expires is not queued, because nobody
// has logged out.
func TestExpiredSessionQueuesNoLogout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enter(session("s1", "u1"), "a!")
	w.must(last(w.DeleteOfUser(t.Context(), of("u1"))))
	w.expect("removed user", w.queued(), "s1 a!")
	w.enter(session("s2", "u1"), "b!")
	w.must(last(w.DeleteOfOrg(t.Context(), of("o"))))
	w.expect("removed organization", w.queued(), "s1 a!", "s2 b!")
	old := session("s3", "u1")
	old.ExpiresAt = now
	w.enter(old, "c!")
	w.must(last(w.DeleteExpired(t.Context(), keep)))
	w.expect("expired session", w.queued(), "s1 a!", "s2 b!")
	if n := testkit.Rows(t, w.db, `session_clients`); n != 0 {
		t.Errorf("%d clients of sessions are left", n)
	}
}

// Sessions with another user, organization, generation or credential continue.
func TestSessionsOfOtherLoginsContinue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, change := range map[string]func(*domain.Session){
		"the same":       func(*domain.Session) {},
		"another user":   func(n *domain.Session) { n.UserID = "u2" },
		"a newer user":   func(n *domain.Session) { n.UserGeneration++ },
		"another org":    func(n *domain.Session) { n.OrgID = "p" },
		"a newer org":    func(n *domain.Session) { n.OrgGeneration++ },
		"another factor": func(n *domain.Session) { n.Credential = "directory" },
	} {
		n := session(id, "u1")
		change(&n)
		w.enter(n)
	}
	logins, err := w.LoginsOfUser(t.Context(), "u1")
	if err != nil || len(logins) != 5 {
		t.Errorf("%d logins, %v", len(logins), err)
	}
	w.enter(session("the same again", "u1"))
	if again, err := w.LoginsOfUser(t.Context(), "u1"); err != nil || len(again) != 5 {
		t.Errorf("%d logins, %v", len(again), err)
	}
	w.must(last(w.EndLoginsLike(t.Context(), of("u1"), session("any", "u1"))))
	for id, want := range map[string]string{"the same": "", "the same again": "", "another user": "another user",
		"a newer user": "a newer user", "another org": "another org", "a newer org": "a newer org",
		"another factor": "another factor"} {
		if got := w.session("cookie of " + id); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
	w.must(last(w.EndChangedOrg(t.Context(), of("o"), 2)))
	for id, want := range map[string]string{
		"another user": "", "another org": "another org", "a newer org": "a newer org",
	} {
		if got := w.session("cookie of " + id); got != want {
			t.Errorf("after the change of the organization, %s: %q", id, got)
		}
	}
}

// Many sessions end in batches.
func TestSessionsEndInBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.db.Exec(t.Context(), `insert into sessions (id, hash, user_id, user_generation, org_id,
			org_generation, auth_time, amr, credential, client, agent, created_at, used_at, expires_at)
		select n::text, n::text::bytea, 'u' || n, 1, 'o', 1, $1, '{}', '', '', '', $1, $1, $1
		from generate_series(1, 1001) n`, now)
	w.must(err)
	for _, want := range []bool{true, false} {
		if more, err := w.EndChangedOrg(t.Context(), of("o"), 2); more != want || err != nil {
			t.Errorf("%v, %v", more, err)
		}
	}
	if n := testkit.Rows(t, w.db, "sessions"); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// If a code is issued while the session ends, either it is refused or its client is notified.
func TestCodeDuringLogoutIsRefusedOrNotified(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w world) error{
		"logout": func(w world) error {
			_, err := w.EndSession(t.Context(), "o", "u1", "s1", &authv1.SessionEnded{UserId: "u1"})
			return err
		},
		"change": func(w world) error { return last(w.EndLoginsLike(t.Context(), of("u1"), session("s1", "u1"))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.enter(session("s1", "u1"))
			tx, err := w.db.Begin(t.Context())
			w.must(err)
			_, err = tx.Exec(t.Context(), `select from sessions where id = 's1' for share`) // as IssueCode does
			w.must(err)
			ended := make(chan error, 1)
			go func() { ended <- end(w) }()
			testkit.Waiting(t, w.db, 1)
			_, err = tx.Exec(t.Context(), `insert into session_clients values ('s1', 'a!', 'org of a!')`)
			w.must(err)
			w.must(tx.Commit(t.Context()))
			w.must(<-ended)
			w.expect("queued", w.queued(), "s1 a!")
			late := authorization("late", "u1", time.Hour)
			late.SessionID = "s1"
			if err := w.IssueCode(t.Context(), "", late, domain.NewCode{Hash: []byte("x")}, granted); !errors.Is(err,
				domain.ErrRequestGone) {
				t.Errorf("a code in a session that has ended: %v", err)
			}
		})
	}
}

// If a person lets a device in while the session ends, either that is refused or the device's client is notified.
func TestDeviceDuringLogoutIsRefusedOrNotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := authorization("a", "u1", time.Hour)
	a.ClientID, a.ClientOrgID, a.SessionID, a.WantsLogout = "tv!", "org of tv!", "s1", true
	_, err := w.AddDevice(t.Context(), domain.NewDevice{Hash: []byte("d"), UserCode: "CODE", ClientID: "tv!",
		Scopes: []string{"openid"}, ExpiresAt: now.Add(time.Minute)})
	w.must(err)
	if err := w.LetIn(t.Context(), "CODE", a, granted); !errors.Is(err, domain.ErrUnknown) {
		t.Errorf("without a session: %v", err)
	}
	w.enter(session("s1", "u1"))
	w.must(w.LetIn(t.Context(), "CODE", a, granted))
	w.must(last(w.DeleteOfUser(t.Context(), of("u1"))))
	w.expect("queued", w.queued(), "s1 tv!")
}

// queue queues logouts of one session, oldest first, of clients whose organization is the part of the id before a dot.
func (w world) queue(clientIDs ...string) {
	w.Helper()
	for i, id := range clientIDs {
		org, _, _ := strings.Cut(id, ".")
		_, err := w.db.Exec(w.Context(), `insert into logouts values ('s', $1, $2, 'u1', $3)`, id, org,
			now.Add(-time.Hour+time.Duration(i)*time.Second))
		w.must(err)
	}
}

func (w world) claim(a store.Ask) (claims []domain.Logout, ids []string) {
	w.Helper()
	a.Lease = max(a.Lease, time.Minute)
	claims, err := w.ClaimLogouts(w.Context(), a)
	w.must(err)
	for _, l := range claims {
		ids = append(ids, l.ClientID)
	}
	slices.Sort(ids)
	return claims, ids
}

// Organizations take turns even if one of them has queued many logouts, and no two replicas get the same logout.
func TestOrganizationsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a.1", "a.2", "a.3", "a.4", "b.1", "c.1", "c.2", "d.1")
	_, err := w.db.Exec(t.Context(), `update logouts set due_at = $1 where client_id = 'd.1'`, now.Add(time.Second))
	w.must(err)
	_, got := w.claim(store.Ask{Most: 100, PerOrg: 2, Busy: []string{"c", "a", "x"}})
	w.expect("with two busy organizations", got, "a.1", "b.1", "c.1")
	_, got = w.claim(store.Ask{Most: 1, PerOrg: 2})
	w.expect("with room for one", got, "a.2")
	_, got = w.claim(store.Ask{Most: 100, PerOrg: 2, Busy: []string{"a", "a", "a"}})
	w.expect("the rest of the others", got, "c.2")
	_, got = w.claim(store.Ask{Most: 100, PerOrg: 3, Busy: []string{"a", "a"}})
	w.expect("the next", got, "a.3")
	_, got = w.claim(store.Ask{Most: 100, PerOrg: 100})
	w.expect("the last", got, "a.4")
	_, got = w.claim(store.Ask{Most: 100, PerOrg: 100})
	w.expect("nothing is left", got)
}

// After the lease another replica has the logout, and the first one writes nothing any more.
func TestOldClaimWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a.1")
	claim := func() domain.Logout {
		t.Helper()
		claims, _ := w.claim(store.Ask{Most: 1, PerOrg: 1})
		if len(claims) != 1 {
			t.Fatalf("claimed %v", claims)
		}
		return claims[0]
	}
	first := claim()
	_, err := w.db.Exec(t.Context(), `update logouts set due_at = $1`, now)
	w.must(err)
	second := claim()
	if first.Tries != 1 || second.Tries != 2 || second.Fence <= first.Fence {
		t.Errorf("%+v, then %+v", first, second)
	}
	w.must(w.RepeatLogout(t.Context(), first, -time.Hour))
	w.must(w.FinishLogout(t.Context(), first))
	if _, got := w.claim(store.Ask{Most: 1, PerOrg: 1}); got != nil {
		t.Errorf("%v is claimed", got)
	}
	second.Tries = 7
	w.must(w.RepeatLogout(t.Context(), second, -time.Second))
	third := claim()
	if third.Tries != 8 {
		t.Errorf("%+v", third)
	}
	w.must(w.FinishLogout(t.Context(), third))
	if n := testkit.Rows(t, w.db, "logouts"); n != 0 {
		t.Errorf("%d are left", n)
	}
}
