// Package sweep deletes what nobody can use any more: what has expired, and what removed users, organizations and
// applications had. All of it is refused before, so nobody waits for the sweep.
package sweep

import (
	"context"
	"log/slog"
	"time"

	"herald/services/auth/internal/store"
	"herald/shared/boot"
	"herald/shared/event"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/removal"
)

// interval is how often a replica looks for what has expired.
const interval = time.Minute

// Start adds the sweep to a service.
func Start(s *boot.Service, db store.Store) {
	w := sweeper{store: db, log: s.Log}
	s.Background(w.run)
	s.Consume(append(w.handlers(), removal.Start(s, w.removed()))...)
}

type sweeper struct {
	store store.Store
	log   *slog.Logger
}

// run deletes what has expired until ctx ends.
func (s sweeper) run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := each(ctx, s.store.DeleteExpired); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "expired tokens stay a while longer", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// handlers delete the authorizations of a user or an application that was removed.
func (s sweeper) handlers() []event.Handler {
	return []event.Handler{
		event.On(func(ctx context.Context, d event.Delivery, _ *usersv1.UserRemoved) error {
			return each(ctx, func(ctx context.Context) (bool, error) {
				return s.store.DeleteOfUser(ctx, d.AggregateID)
			})
		}),
		event.On(func(ctx context.Context, d event.Delivery, _ *projectsv1.ApplicationRemoved) error {
			return each(ctx, func(ctx context.Context) (bool, error) {
				return s.store.DeleteOfClient(ctx, d.AggregateID)
			})
		}),
	}
}

// removed deletes the authorizations of an organization's users. Those of its applications go with these.
func (s sweeper) removed() removal.Sweep {
	return func(ctx context.Context, removed event.Delivery) (bool, error) {
		return s.store.DeleteOfOrg(ctx, removed.OrganizationID)
	}
}

// each deletes batches until there is no more.
func each(ctx context.Context, batch func(context.Context) (more bool, err error)) error {
	for {
		more, err := batch(ctx)
		if !more || err != nil {
			return err
		}
	}
}
