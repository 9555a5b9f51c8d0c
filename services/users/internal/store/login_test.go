package store_test

import (
	"errors"
	"testing"
	"time"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// logins is a store in which somebody guesses at passwords.
type logins struct {
	world
	key domain.Lasting
	now time.Time
}

func newLogins(t *testing.T) *logins {
	t.Helper()
	key, err := domain.NewLasting(secret.NewText(secret.NewKeyText()))
	if err != nil {
		t.Fatal(err)
	}
	l := &logins{key: key, now: time.Unix(1e9, 0)}
	j := kit.Journal(t)
	j.Now = func() time.Time { return l.now }
	l.world = world{t, store.New(j), j.DB}
	l.org("org-a")
	l.user("org-a", "ada")
	return l
}

// try guesses at the passwords of ada and of nobody, who must wait for the same time, and returns both.
func (l *logins) try(want time.Duration) (all []domain.Candidate) {
	l.Helper()
	for _, name := range []string{"ada", "nobody"} {
		who, err := l.TryLogin(l.Context(), name, l.key)
		if err != nil && !errors.Is(err, usersfault.ErrPasswordLocked) {
			l.Fatal(err)
		}
		if wait := fault.From(err).RetryAfter; err != nil && wait != want || err == nil && want != 0 {
			l.Errorf("%s waits %v, want %v", name, wait, want)
		}
		all = append(all, who)
	}
	return all
}

// Guesses at a name that nobody has are refused like those at a user's.
func TestTryLogin(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	for range domain.PasswordTries - 1 {
		l.try(0)
	}
	l.now = l.now.Add(domain.PasswordQuiet)
	for range domain.PasswordTries { // the nine are forgotten
		l.try(0)
	}
	l.try(15 * time.Minute)
	l.now = l.now.Add(14 * time.Minute)
	l.try(time.Minute)
	l.now = l.now.Add(time.Minute)
	l.try(0)
	l.try(30 * time.Minute)
	if who, err := l.TryLogin(t.Context(), "another", l.key); err != nil || who.ID != "" {
		t.Errorf("another name: %v, %v", who, err)
	}
	l.now = l.now.Add(domain.PasswordMemory)
	for range domain.PasswordTries {
		l.try(0)
	}
	l.try(15 * time.Minute)
}

// A guess that was not compared is taken back, also from a user whose guesses were refused before.
func TestUntryLogin(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	var all []domain.Candidate
	for range domain.PasswordTries {
		all = l.try(0)
	}
	if all[0].ID != "ada" || all[1].ID != "" {
		t.Errorf("%v", all)
	}
	untry := func() {
		t.Helper()
		for _, who := range all {
			l.must(nil, l.UntryLogin(t.Context(), who))
		}
	}
	l.try(15 * time.Minute)
	untry()
	l.try(0)
	l.try(15 * time.Minute)
	l.now = l.now.Add(15 * time.Minute)
	l.try(0)
	untry() // refused for lack of room: the next one need not wait
	l.try(0)
	l.try(30 * time.Minute)
}

// A name that nobody has can take the slot of another one, but not of a name whose guesses are refused. These stay
// refused for a day, however many other names there are.
func TestPlacesOfStrangers(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	guess := func() {
		t.Helper()
		if _, err := l.TryLogin(t.Context(), "nobody", l.key); err != nil {
			t.Error(err)
		}
	}
	rename := func(to string) {
		t.Helper()
		if _, err := l.db.Exec(t.Context(), `update strangers set name = $1`, []byte(to)); err != nil {
			t.Fatal(err)
		}
	}
	is := func(when, where string) {
		t.Helper()
		if testkit.Rows(t, l.db, "strangers") != 1 || testkit.Rows(t, l.db, "strangers where "+where) != 1 {
			t.Errorf("%s: not one row with %s", when, where)
		}
	}
	for range domain.PasswordTries - 1 {
		guess()
	}
	rename("another")
	guess()
	is("after fewer guesses at another name", "name <> 'another' and tries = 1")
	for range domain.PasswordTries - 1 {
		guess()
	}
	rename("refused")
	for range domain.PasswordTries + 1 {
		guess()
	}
	is("while guesses at another name are refused", "name = 'refused' and tries = 10")
	l.now = l.now.Add(domain.PasswordMemory)
	guess()
	is("a day later", "name <> 'refused' and tries = 1")
}
