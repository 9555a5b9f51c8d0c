package store_test

import (
	"slices"
	"testing"

	"herald/services/projects/internal/store"
	"herald/shared/testkit"
)

// Keys and former secrets are announced of active applications of active projects.
func TestEndsOfKeysAndSecretsAreAnnounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"active", "inactive app", "inactive project"} {
		w.make(ids{org: "org-a", project: id + " p", role: "r", grant: id + " g", app: id, key: id + " k",
			user: "u", userGrant: id + " ug"})
	}
	for _, sql := range []string{
		`update application_keys set created_at = now() - interval '60 days',
			expires_at = now() + interval '180 hours'`,
		`update applications set created_at = now() - interval '60 days', former_secret_hash = 'x',
			former_secret_until = now() + interval '181 hours', state = case id when 'inactive app' then 2 else 1 end`,
		`update projects set state = 2 where id = 'inactive project p'`,
	} {
		w.must(w.db.Exec(t.Context(), sql))
	}
	got := testkit.Announced(t, "projects", w.db, store.Expiring)
	if want := []string{
		"application.key_expiration_announced active active p",
		"application.secret_expiration_announced active active p",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
