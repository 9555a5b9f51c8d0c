package store_test

import (
	"errors"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/testkit"
)

// A guess that was not compared is taken back, also from a user whose guesses were refused before.
func TestUntryLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.user("org-a", "ada")
	for _, name := range []string{"ada", "nobody"} {
		var found domain.Candidate
		for range domain.PasswordTries {
			var err error
			if found, err = w.TryLogin(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		if (found.ID == "ada") != (name == "ada") {
			t.Errorf("%s is %q", name, found.ID)
		}
		locked := func() {
			t.Helper()
			if _, err := w.TryLogin(t.Context(), name); !errors.Is(err, domain.ErrPasswordLocked) {
				t.Errorf("%s: %v", name, err)
			}
		}
		locked()
		w.must(nil, w.UntryLogin(t.Context(), name, found))
		if _, err := w.TryLogin(t.Context(), name); err != nil {
			t.Errorf("%s after a guess that did not count: %v", name, err)
		}
		locked()
	}
	if n := testkit.Rows(t, w.db, "password_tries"); n != 1 {
		t.Errorf("%d rows", n)
	}
}
