package store_test

import (
	"slices"
	"testing"

	"herald/services/idp/internal/store"
	"herald/shared/testkit"
)

// Only an active provider's client secret is announced, and only if its end is known.
func TestEndsOfClientSecretsAreAnnounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"active", "inactive", "unknown"} {
		w.make("org-a", id)
	}
	if _, err := w.db.Exec(t.Context(), `update idps set created_at = now() - interval '60 days', state =
			case id when 'inactive' then 2 else 1 end, secret_expires_at =
			case id when 'unknown' then null else now() + interval '180 hours' end`); err != nil {
		t.Fatal(err)
	}
	got := testkit.Announced(t, "idp", w.db, store.Expiring)
	if want := []string{"idp.secret_expiration_announced active active"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
