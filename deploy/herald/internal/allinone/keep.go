package allinone

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"herald/shared/retry"
)

const (
	// tries is how often Postgres is started again, unless it has run for a while.
	tries = 5
	while = time.Minute
	// pause is the pause between two tries. For NATS it grows with each try, up to longest.
	pause, longest = time.Second, 8 * time.Second
	// soon is how long NATS must work before the log says that it works again.
	soon = 3 * time.Second
)

// keepPostgres starts Postgres again when it has ended by itself, and the disk has room. It returns an error if
// Postgres ends again and again, and nil when ctx has ended. Nothing works without Postgres, so it does not try for
// long.
func (s *system) keepPostgres(ctx context.Context) error {
	for tried := 0; ctx.Err() == nil; {
		begin := time.Now()
		err := s.postgres.Wait(ctx)
		ended := time.Now()
		if ended.Sub(begin) > while {
			tried = 0
		}
		if err != nil {
			s.ground.Log.ErrorContext(ctx, "Postgres has ended; starting it again", "err", err)
		}
		for err != nil && ctx.Err() == nil {
			if s.disk.full.Load() {
				tried = 0
				s.disk.wait(ctx)
			}
			if tried++; tried > tries {
				return fmt.Errorf("the local Postgres does not run: %w", err)
			}
			if err = s.postgres.Restart(ctx); err != nil {
				retry.Wait(ctx, pause)
			}
		}
		if ctx.Err() == nil {
			back(ctx, s.ground.Log, "Postgres", time.Since(ended))
		}
	}
	return nil
}

// keepNATS starts NATS again when it does not work any more. Without NATS, changes still succeed and their events wait.
// So it tries until ctx ends. While the disk is full, NATS cannot write its streams but still carries requests, so it
// runs on until there is room.
func (s *system) keepNATS(ctx context.Context) {
	for {
		err := s.nats.wait(ctx)
		if err == nil {
			return
		}
		s.ground.Log.ErrorContext(ctx, "NATS does not work; starting it again", "err", err)
		ended, worked := time.Now(), time.Time{}
		for rests := pause; err != nil && ctx.Err() == nil; rests = min(2*rests, longest) {
			if s.nats.current.Load().Running() {
				s.disk.wait(ctx)
			}
			if err = s.nats.restart(); err == nil {
				worked = time.Now()
				err = s.steady(ctx)
			}
			if err != nil {
				retry.Wait(ctx, rests)
			}
		}
		if ctx.Err() != nil {
			return
		}
		back(ctx, s.ground.Log, "NATS", worked.Sub(ended))
	}
}

// steady returns the error if NATS fails soon after its start. Otherwise it returns nil.
func (s *system) steady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	return s.nats.wait(ctx)
}

// back logs that a server runs again.
func back(ctx context.Context, log *slog.Logger, server string, away time.Duration) {
	log.InfoContext(ctx, server+" runs again", "away", away.Round(time.Millisecond).String())
}
