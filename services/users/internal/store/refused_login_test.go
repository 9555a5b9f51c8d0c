package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/testkit"
)

// guess begins a login of ada.
func (l *logins) guess() domain.Candidate {
	l.Helper()
	who, err := l.TryLogin(rpc.WithRequestID(l.Context(), "r1"), store.LoginTry{LoginName: "ada"}, l.key)
	if err != nil && !errors.Is(err, usersfault.ErrPasswordLocked) {
		l.Fatal(err)
	}
	return who
}

// refused returns the refused logins of an organization as events, the oldest first.
func (l *logins) refused(q *heraldv1.ReadEventsRequest) (all []string) {
	l.Helper()
	q.Types, q.Limit, q.Asc = []string{"human.login_refused"}, 1000, true
	found, err := l.Events().ReadEvents(l.Context(), q)
	if err != nil {
		l.Fatal(err)
	}
	for _, e := range found.Result {
		var data struct {
			Reason string
			Count  int
			Last   time.Time
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			l.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s %s %d by %s, %s after %s", e.AggregateId, e.OrgId, data.Reason, data.Count,
			e.Actor, data.Last.Sub(e.Position.Time.AsTime()), e.Position.Time.AsTime().Sub(time.Unix(1e9, 0))))
	}
	return all
}

// A guess is a refused login until its password is right, or it is taken back.
func TestRefusedLoginsAreEvents(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	l.org("org-b")
	is := func(when string, want ...string) {
		t.Helper()
		if got := l.refused(&heraldv1.ReadEventsRequest{OrgId: "org-a"}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	right := func(why *fault.Fault, who domain.Candidate) { l.must(nil, l.LoggedIn(t.Context(), who, why, "")) }
	right(nil, l.guess())
	l.must(nil, l.UntryLogin(t.Context(), l.guess()))
	is("after a login")
	l.Advance(time.Second)
	l.guess()
	l.Advance(time.Second)
	l.guess()
	right(nil, l.guess())
	wrong := "ada org-a " + usersfault.ErrLoginWrong.ID
	is("two wrong ones", wrong+" 2 by auth, 1s after 1s")
	right(usersfault.ErrUserNotActive, l.guess())
	l.Advance(domain.RefusalsTogether)
	for range domain.PasswordTries + 2 {
		l.guess()
	}
	is("a pause", wrong+" 2 by auth, 1s after 1s", "ada org-a USER_NOT_ACTIVE 1 by auth, 0s after 2s",
		wrong+" 10 by auth, 0s after 15m2s", "ada org-a PASSWORD_LOCKED 2 by auth, 0s after 15m2s")
	for name, q := range map[string]*heraldv1.ReadEventsRequest{
		"another organization": {OrgId: "org-b"}, "another user": {HistoryId: "bob"},
		"another request": {RequestId: "r2"}, "another editor": {Actor: "ada"},
	} {
		if got := l.refused(q); got != nil {
			t.Errorf("%s has %q", name, got)
		}
	}
	for name, q := range map[string]*heraldv1.ReadEventsRequest{
		"the instance": {}, "the user": {HistoryId: "ada"}, "people": {Aggregates: []string{"human"}},
		"the request": {RequestId: "r1", Actor: "auth"},
	} {
		if got := l.refused(q); len(got) != 4 && name != "the request" || len(got) < 3 {
			t.Errorf("%s has %q", name, got)
		}
	}
}

// However many logins are refused, and whoever is asked for, there are few rows, and the sweep deletes them.
func TestRefusedLoginsAreBounded(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	const quarters = 4
	for range quarters {
		testkit.Race(t, 200, func(n int) error {
			name := "ada"
			if n%2 == 0 {
				name = fmt.Sprint("nobody", n%50)
			}
			_, err := l.TryLogin(t.Context(), store.LoginTry{LoginName: name}, l.key)
			if errors.Is(err, usersfault.ErrPasswordLocked) {
				err = nil
			}
			return err
		})
		l.Advance(domain.RefusalsTogether)
	}
	rows, refused := testkit.Rows(t, l.db, "refused_logins"),
		testkit.Rows(t, l.db, "refused_logins, generate_series(1, refused)")
	if others := testkit.Rows(t, l.db, "refused_logins where user_id <> 'ada'"); rows > 2*quarters ||
		refused != quarters*100 || others > 0 {
		t.Errorf("%d refused logins have %d rows", refused, rows)
	}
	if n := testkit.Rows(t, l.db, "refused_strangers"); n == 0 || n > 25 {
		t.Errorf("25 strangers have %d rows", n)
	}
	l.must(nil, l.Sweep(t.Context(), l.Now(), keep))
	if n := testkit.Rows(t, l.db, "refused_logins"); n != rows {
		t.Errorf("the sweep leaves %d of %d", n, rows)
	}
	l.must(nil, l.Sweep(t.Context(), l.Now().Add(keep), keep))
	if n := testkit.Rows(t, l.db, "refused_logins"); n != 0 {
		t.Errorf("%d rows stay", n)
	}
}

// A login that was not refused leaves no row for long.
func TestSweepDeletesCountsOfNone(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	l.must(nil, l.LoggedIn(t.Context(), l.guess(), nil, ""))
	l.guess()
	l.Advance(domain.RefusalsTogether)
	l.must(nil, l.LoggedIn(t.Context(), l.guess(), nil, ""))
	l.Advance(domain.RefusalsTogether + time.Second)
	if n := testkit.Rows(t, l.db, "refused_logins"); n != 2 {
		t.Errorf("%d rows", n)
	}
	l.must(nil, l.Sweep(t.Context(), l.Now(), keep))
	if n := testkit.Rows(t, l.db, "refused_logins"); n != 1 {
		t.Errorf("%d rows stay", n)
	}
}
