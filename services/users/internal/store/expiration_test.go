package store_test

import (
	"slices"
	"testing"

	"herald/services/users/internal/store"
	"herald/shared/testkit"
)

// Keys, tokens and invitations are announced of active users, or invited ones, of active organizations.
func TestEndsOfKeysTokensAndInvitationsAreAnnounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, org := range []string{"org-a", "inactive org"} {
		w.org(org)
		for _, id := range []string{org + " active", org + " inactive", org + " invited"} {
			w.user(org, id)
			w.must(w.CreatePAT(t.Context(), token(id, org, "pat "+id), []byte(id), noted))
		}
	}
	for _, sql := range []string{
		`update organizations set state = 2 where id = 'inactive org'`,
		`update users set state = 2 where id like '% inactive'`, `update users set state = 4 where id like '% invited'`,
		`insert into machine_keys (id, user_id, public_key, expires_at, makers, sequence, created_at, changed_at)
			select 'key ' || id, id, '', now() + interval '180 hours', '{}', 1, now() - interval '60 days', now()
			from users`,
		`update personal_access_tokens set created_at = now() - interval '60 days',
			expires_at = now() + interval '181 hours'`,
		`insert into codes (user_id, purpose, notification_id, nonce, mac, makers, made_at, expires_at)
			select id, 'init', id, '', '', '{}', now() - interval '60 days', now() + interval '182 hours' from users
			on conflict (user_id, purpose) do update set made_at = excluded.made_at, expires_at = excluded.expires_at`,
	} {
		w.must(w.db.Exec(t.Context(), sql))
	}
	got := testkit.Announced(t, "users", w.db, store.Expiring)
	if want := []string{
		"human.invitation_expiration_announced org-a invited org-a invited",
		"machine_key.expiration_announced key org-a active org-a active",
		"pat.expiration_announced pat org-a active org-a active",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
