package store_test

import (
	"testing"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/testkit"
)

// Guesses at a password are removed when they refuse no further ones.
func TestForgetTries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	for name, age := range map[string]time.Duration{"kept": 14 * time.Minute, "old": 16 * time.Minute} {
		if wait, err := w.TryPassword(t.Context(), name, now.Add(-age)); wait > 0 || err != nil {
			t.Fatal(wait, err)
		}
	}
	w.must(nil, w.ForgetTries(t.Context(), now))
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
		w.must(w.TryCode(t.Context(), "u1", domain.KindInit))
	}
	w.must(nil, w.UntryCode(t.Context(), "u1", domain.KindInit, []byte("older")))
	tries(2)
	for _, want := range []int{1, 0, 0} {
		w.must(nil, w.UntryCode(t.Context(), "u1", domain.KindInit, []byte("mac")))
		tries(want)
	}
	if c, err := w.TryCode(t.Context(), "nobody", domain.KindInit); err != nil || c.MAC != nil {
		t.Errorf("a code of nobody: %v, %v", c, err)
	}
}
