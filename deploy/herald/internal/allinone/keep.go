package allinone

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const (
	// tries is how often Postgres is started again, unless it has run for a while.
	tries = 5
	while = time.Minute
	// pause is between two tries.
	pause = time.Second
)

// keepPostgres starts Postgres again when it has ended by itself, and returns why it does not stay. It returns nil
// when ctx has ended. Nothing works without Postgres, so it does not try for long.
func (s *system) keepPostgres(ctx context.Context) error {
	for tried := 0; ; {
		begin := time.Now()
		err := s.postgres.Wait(ctx)
		ended := time.Now()
		if ended.Sub(begin) > while {
			tried = 0
		}
		if err != nil {
			s.ground.Log.ErrorContext(ctx, "Postgres has ended; starting it again", "err", err)
		}
		for err != nil {
			if tried++; tried > tries {
				return fmt.Errorf("Postgres does not run: %w", err)
			}
			if err = s.postgres.Restart(ctx); err != nil && !rest(ctx) {
				return nil
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		back(ctx, s.ground.Log, "Postgres", ended)
	}
}

// keepNATS starts NATS again when it does not work any more. Without it changes succeed and their events wait, so it
// tries until ctx ends.
func (s *system) keepNATS(ctx context.Context) {
	for {
		err := s.nats.wait(ctx)
		if err == nil {
			return
		}
		ended := time.Now()
		s.ground.Log.ErrorContext(ctx, "NATS does not work; starting it again", "err", err)
		for err != nil {
			if err = s.nats.restart(); err != nil && !rest(ctx) {
				return
			}
		}
		back(ctx, s.ground.Log, "NATS", ended)
	}
}

// back logs that a server runs again.
func back(ctx context.Context, log *slog.Logger, server string, ended time.Time) {
	log.InfoContext(ctx, server+" runs again", "away", time.Since(ended).Round(time.Millisecond).String())
}

// rest waits before another try. It returns false when ctx has ended.
func rest(ctx context.Context) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}
