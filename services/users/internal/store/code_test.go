package store_test

import (
	"testing"
	"time"

	"herald/services/users/internal/domain"
)

// Guesses are removed when no code is left for which they count.
func TestForgetTries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	if _, err := w.db.Exec(t.Context(), `insert into organizations (id, name, name_folded, primary_domain, state,
		sequence, created_at, changed_at) values ('o', 'o', 'o', 'o', 1, 1, now(), now())`); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		age     time.Duration // of the first guess
		code    bool
		expires time.Duration // from now; zero for a code that was not sent yet
		kept    bool
	}{
		"of nobody, young":   {71 * time.Hour, false, 0, true},
		"of nobody":          {73 * time.Hour, false, 0, false},
		"at a live code":     {73 * time.Hour, true, time.Hour, true},
		"at a waiting code":  {73 * time.Hour, true, 0, true},
		"at an expired code": {73 * time.Hour, true, -time.Minute, false},
	} {
		if _, err := w.db.Exec(t.Context(), `insert into users (id, org_id, type, state, user_name, user_name_folded,
			sequence, created_at, changed_at) values ($1, 'o', 1, 1, $1, $1, 1, now(), now())`, name); err != nil {
			t.Fatal(err)
		}
		if c.code {
			var expires *time.Time
			if at := now.Add(c.expires); c.expires != 0 {
				expires = &at
			}
			if _, err := w.db.Exec(t.Context(), `insert into codes (user_id, purpose, notification_id, nonce, mac,
				made_at, expires_at) values ($1, 'verifyemail', '', '', '', now(), $2)`, name, expires); err != nil {
				t.Fatal(err)
			}
		}
		if allowed, err := w.TryCode(t.Context(), name, domain.KindVerifyEmail, now.Add(-c.age)); !allowed ||
			err != nil {
			t.Fatalf("%s: %t, %v", name, allowed, err)
		}
		if err := w.ForgetTries(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		var kept bool
		if err := w.db.QueryRow(t.Context(), `select exists (select from code_tries where user_id = $1)`,
			name).Scan(&kept); err != nil || kept != c.kept {
			t.Errorf("%s: kept %t, %v", name, kept, err)
		}
	}
}
