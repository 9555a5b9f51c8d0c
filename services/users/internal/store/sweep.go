package store

import (
	"context"
	"errors"
	"time"
)

// Sweep deletes guesses and counts of mails that no longer count, and the contents of old notices.
func (s Store) Sweep(ctx context.Context, now time.Time) error {
	return errors.Join(s.ForgetTries(ctx, now), s.ForgetNotices(ctx, now), s.ForgetMailCounts(ctx, now))
}
