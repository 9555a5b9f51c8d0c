package store_test

import (
	"errors"
	"testing"
	"time"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/testkit"
)

// Guesses at a password are removed when they refuse no further ones.
func TestForgetTries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	for name, age := range map[string]time.Duration{"kept": 14 * time.Minute, "old": 16 * time.Minute} {
		w.must(w.TryPassword(t.Context(), store.Guesser{UserID: name}, now.Add(-age)))
	}
	w.must(nil, w.Sweep(t.Context(), now, keep))
	if testkit.Rows(t, w.db, "password_tries") != 1 ||
		testkit.Rows(t, w.db, "password_tries where user_id = 'kept'") != 1 {
		t.Error("the wrong guesses are left")
	}
}

// A guess is taken back from the code at which it was made, and from no newer one.
func TestUntryCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.waiting("u1", []byte("mac"))
	tries := func(want int) {
		t.Helper()
		if testkit.Rows(t, w.db, "codes where tries = $1", want) != 1 {
			t.Errorf("the code has not %d guesses", want)
		}
	}
	for range 2 {
		w.must(w.TryCode(t.Context(), "u1", domain.KindInit, nobody))
	}
	w.must(nil, w.UntryCode(t.Context(), "u1", domain.KindInit, []byte("older")))
	tries(2)
	for _, want := range []int{1, 0, 0} {
		w.must(nil, w.UntryCode(t.Context(), "u1", domain.KindInit, []byte("mac")))
		tries(want)
	}
	if c, err := w.TryCode(t.Context(), "nobody", domain.KindInit, nobody); err != nil || c.MAC != nil {
		t.Errorf("a code of nobody: %v, %v", c, err)
	}
}

// A code that does not exist is locked like one that exists, until a mail would be sent.
func TestTryNoCode(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	guess := func(when string, want error) {
		t.Helper()
		if _, err := l.TryCode(t.Context(), "ada", domain.KindInit, nobody); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", when, err, want)
		}
	}
	guesses := func(when string) {
		t.Helper()
		for range domain.CodeTries {
			guess(when, nil)
		}
		guess(when, usersfault.ErrCodeLocked)
	}
	ask := func(after time.Duration) {
		t.Helper()
		l.Advance(after)
		l.must(nil, l.RequestCode(t.Context(), "ada", code("mail", []byte{1}), domain.CodePause, happened))
	}
	guesses("at first")
	ask(0)
	guesses("after a mail")
	ask(domain.CodePause)
	guess("within a minute", usersfault.ErrCodeLocked)
	ask(time.Second)
	guesses("after a minute")
	l.Advance(100 * 24 * time.Hour)
	guess("much later", usersfault.ErrCodeLocked)
	if _, err := l.db.Exec(t.Context(), `update strangers set name = 'another'`); err != nil {
		t.Fatal(err)
	}
	for range domain.CodeTries + 1 {
		guess("while another stranger in the same row is refused", nil)
		ask(domain.CodePause)
	}
	if n := testkit.Rows(t, l.db, "strangers where name = 'another' and tries > 10"); n != 1 {
		t.Error("the other stranger has lost the row")
	}
	l.Advance(domain.PasswordMemory)
	guesses("after another stranger in the same row")
}
