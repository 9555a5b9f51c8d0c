package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/services/users/internal/domain"
	"herald/shared/postgres"
)

// TryPassword counts a guess at a user's password before it is checked, so that simultaneous
// guesses cannot exceed the bound. It returns zero if the guess is allowed, else how long guesses
// are refused.
func (s Store) TryPassword(ctx context.Context, userID string, now time.Time) (wait time.Duration, err error) {
	args := postgres.Args{"user_id": userID, "now": now, "most": domain.PasswordTries,
		"old": now.Add(-domain.PasswordPause)}
	tag, err := s.journal.DB.Exec(ctx, `insert into password_tries as t (user_id, tries, since)
		values (@user_id, 1, @now)
		on conflict (user_id) do update set tries = case when t.since <= @old then 1 else t.tries + 1 end,
			since = case when t.since <= @old then excluded.since else t.since end
		where t.tries < @most or t.since <= @old`, args)
	if err != nil || tag.RowsAffected() == 1 {
		return 0, postgres.Fault(err)
	}
	var since time.Time
	err = s.journal.DB.QueryRow(ctx, `select since from password_tries where user_id = @user_id`,
		postgres.Args{"user_id": userID}).Scan(&since)
	if errors.Is(err, pgx.ErrNoRows) { // the right password has just removed the row
		since = now
	} else if err != nil {
		return 0, postgres.Fault(err)
	}
	return max(since.Add(domain.PasswordPause).Sub(now), time.Second), nil
}

// UntryPassword removes a guess that was not checked.
func (s Store) UntryPassword(ctx context.Context, userID string) error {
	_, err := s.journal.DB.Exec(ctx, `update password_tries set tries = tries - 1
		where user_id = @user_id and tries > 0`, postgres.Args{"user_id": userID})
	return postgres.Fault(err)
}

// ForgetTries removes guesses that refuse no further ones.
func (s Store) ForgetTries(ctx context.Context, now time.Time) error {
	_, err := s.journal.DB.Exec(ctx, `delete from password_tries where since <= @old`,
		postgres.Args{"old": now.Add(-domain.PasswordPause)})
	return postgres.Fault(err)
}
