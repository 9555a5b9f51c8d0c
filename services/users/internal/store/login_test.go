package store_test

import (
	"errors"
	"slices"
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
	*testkit.Clock
	key domain.Lasting
}

func newLogins(t *testing.T) *logins {
	t.Helper()
	key, err := domain.NewLasting(secret.NewText(secret.NewKeyText()))
	if err != nil {
		t.Fatal(err)
	}
	l := &logins{Clock: testkit.ClockAt(time.Unix(1e9, 0)), key: key}
	j := kit.Journal(t)
	j.Now = l.Now
	l.world = world{t, store.New(j), j.DB}
	l.org("org-a")
	l.user("org-a", "ada")
	return l
}

// try guesses at the passwords of ada and of nobody, who must wait for the same time, and returns both.
func (l *logins) try(want time.Duration) (all []domain.Candidate) {
	l.Helper()
	for _, name := range []string{"ada", "nobody"} {
		who, err := l.TryLogin(l.Context(), store.LoginTry{LoginName: name}, l.key)
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
	l.Advance(domain.PasswordQuiet)
	for range domain.PasswordTries { // the nine are forgotten
		l.try(0)
	}
	l.try(15 * time.Minute)
	l.Advance(14 * time.Minute)
	l.try(time.Minute)
	l.Advance(time.Minute)
	l.try(0)
	l.try(30 * time.Minute)
	if who, err := l.TryLogin(t.Context(), store.LoginTry{LoginName: "another"}, l.key); err != nil || who.ID != "" {
		t.Errorf("another name: %v, %v", who, err)
	}
	l.Advance(domain.PasswordMemory)
	for range domain.PasswordTries {
		l.try(0)
	}
	l.try(15 * time.Minute)
}

// Two logins that are counted in another order than they began are no reason for a pause.
func TestLoginsAtTheSameTimeAreNotPaused(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	l.try(0)
	l.Advance(-time.Millisecond) // began before the one that was counted first
	l.try(0)
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
	l.Advance(15 * time.Minute)
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
		if _, err := l.TryLogin(t.Context(), store.LoginTry{LoginName: "nobody"}, l.key); err != nil {
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
	l.Advance(domain.PasswordMemory)
	guess()
	is("a day later", "name <> 'refused' and tries = 1")
}

// Guesses at a user's password in a browser in which the user logged in before are counted apart, in each browser, and
// the others do not refuse them.
func TestBrowsersOfTheUserAreCountedApart(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	guess := func(browser string, known ...string) error {
		_, err := l.TryLogin(t.Context(), store.LoginTry{LoginName: "ada", Browser: browser, Known: known}, l.key)
		return err
	}
	for n := range 3 * domain.PasswordTries {
		from := [][]string{{"", ""}, {"own", "ada"}, {"other", "ada"}}[n%3]
		var err error
		if from[0] == "" {
			err = guess("")
		} else {
			err = guess(from[0], "eve", from[1])
		}
		if err != nil {
			t.Errorf("guess %d: %v", n, err)
		}
	}
	for _, refused := range []error{guess(""), guess("own", "ada"), guess("other", "ada"), guess("eve's", "eve")} {
		if !errors.Is(refused, usersfault.ErrPasswordLocked) {
			t.Errorf("one guess more: %v", refused)
		}
	}
	l.must(nil, l.LoggedIn(t.Context(), domain.Candidate{User: domain.User{ID: "ada"}, Browser: "own"}, nil, ""))
	if err := guess("own", "ada"); err != nil {
		t.Errorf("after a login there: %v", err)
	}
	if err := guess(""); !errors.Is(err, usersfault.ErrPasswordLocked) {
		t.Errorf("a stranger after it: %v", err)
	}
}

// The slowest hash of each format is noted with the statement that writes it, and once for those of before.
func TestCostsAreNoted(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	cost := func(hash domain.Hidden) (domain.HashCost, error) {
		return domain.HashCost{
			Format: string(hash[:1]), Specimen: string(hash), Estimate: time.Duration(len(hash)),
		}, nil
	}
	import1 := func(id string, hash domain.Hidden) {
		t.Helper()
		u := store.NewUser{User: domain.User{ID: id, OrgID: "org-a", Type: domain.Human, State: domain.UserActive,
			UserName: id, PasswordHash: hash}}
		u.HashCost, _ = cost(hash)
		l.must(l.CreateUser(t.Context(), u, happened))
	}
	is := func(want ...string) {
		t.Helper()
		who, err := l.TryLogin(t.Context(), store.LoginTry{LoginName: "nobody"}, l.key)
		slices.Sort(who.Specimens)
		if err != nil || !slices.Equal(who.Specimens, want) {
			t.Errorf("%v, %v, want %v", who.Specimens, err, want)
		}
	}
	is()
	import1("u1", "aaa")
	import1("u2", "b")
	import1("u3", "aa")
	is("aaa", "b")
	import1("u4", "aaaa")
	is("aaaa", "b")
	l.must(l.db.Exec(t.Context(), `delete from password_costs`))
	l.must(l.db.Exec(t.Context(), `update users set password_hash = 'bbb' where id = 'u2'`))
	l.must(nil, l.LearnCosts(t.Context(), cost))
	is("aaaa", "bbb")
	l.must(l.db.Exec(t.Context(), `update users set password_hash = 'ccc' where id = 'u2'`))
	l.must(nil, l.LearnCosts(t.Context(), cost)) // it is known what was there
	is("aaaa", "bbb")
}
