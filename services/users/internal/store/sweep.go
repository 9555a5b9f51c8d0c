package store

import (
	"context"
	"errors"
	"time"
)

// Sweep deletes what counts no more and what old notices told.
func (s Store) Sweep(ctx context.Context, now time.Time) error {
	return errors.Join(s.ForgetTries(ctx, now), s.ForgetNotices(ctx, now), s.ForgetMailCounts(ctx, now))
}
