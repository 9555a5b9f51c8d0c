package store_test

import (
	"testing"

	"herald/services/text/internal/store"
)

// Writing, listing and resetting an organization's texts does not change the texts of another organization.
func TestTextsOfTwoOrganizationsAreSeparate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs := mine
	theirs.OrganizationID = "org-b"
	w.write(mine, "Mine")
	w.write(theirs, "Theirs")
	reads := func(k store.Key, want string) {
		t.Helper()
		if c, err := w.Custom(t.Context(), k); c.Subject != want || err != nil {
			t.Errorf("%s has the subject %q, %v, want %q", k.OrganizationID, c.Subject, err, want)
		}
	}
	reads(mine, "Mine")
	for org, want := range map[string]int{"org-a": 1, "org-b": 1, "org-c": 0} {
		if some, err := w.SomeCustom(t.Context(), org, 10); len(some) != want || err != nil {
			t.Errorf("%s wrote %v, %v", org, some, err)
		}
	}
	w.must(w.ResetCustom(t.Context(), theirs, kept))
	reads(mine, "Mine")
	reads(theirs, "")
}
