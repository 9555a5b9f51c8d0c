// Package removal removes what an organization had in a service, after the organization itself
// was removed in users. The event is noted in the table removals, and a task removes the objects
// a batch at a time, so that neither a request nor a consumer waits for them. A process that ends
// in the middle leaves the note behind, and the next one goes on.
package removal

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/postgres"
)

const (
	// Batch is how many objects a Sweep removes at most.
	Batch = 100
	// settle is how long an organization is looked at again: a request that began before its
	// removal can still write for 60 s (caller.Lifetime and rpc.MaxDuration).
	settle = 90 * time.Second
	// look is how often notes are looked for without an event.
	look = 10 * time.Second
)

// Sweep removes a batch of what an organization has, with an event for each object that names the
// cause, which is removed.ID. The caller in ctx is who removed the organization. It reports
// whether there was anything.
type Sweep func(ctx context.Context, removed event.Delivery) (found bool, err error)

// Start lets a service sweep in the background. It returns the handler that the service consumes.
func Start(s *boot.Service, sweep Sweep) event.Handler {
	w := sweeper{db: s.DB, log: s.Log, sweep: sweep, wake: make(chan struct{}, 1)}
	s.Background(w.run)
	return event.On(func(ctx context.Context, d event.Delivery, _ *usersv1.OrgRemoved) error {
		return w.note(ctx, d)
	})
}

// Each removes objects with remove. One that is not there any more was removed by another
// replica, or by its user.
func Each[T any](objects []T, remove func(T) error) (found bool, err error) {
	for _, o := range objects {
		if err := remove(o); err != nil && fault.From(err).Code != fault.NotFound {
			return true, err
		}
	}
	return len(objects) > 0, nil
}

type sweeper struct {
	db    *pgxpool.Pool
	log   *slog.Logger
	sweep Sweep
	wake  chan struct{}
}

func (w sweeper) note(ctx context.Context, d event.Delivery) error {
	_, err := w.db.Exec(ctx, `insert into removals (organization_id, cause, actor) values (@id, @cause, @actor)
		on conflict do nothing`, postgres.Args{"id": d.AggregateID, "cause": d.ID, "actor": d.Actor})
	if err != nil {
		return postgres.Fault(err)
	}
	select {
	case w.wake <- struct{}{}:
	default: // it is woken already
	}
	return nil
}

func (w sweeper) run(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if err := w.sweepAll(ctx); err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "the removal of an organization goes on later", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-tick.C:
		}
	}
}

type removal struct {
	OrganizationID string
	Cause          string
	Actor          string
}

// sweepAll takes a batch of each organization by turns, until nothing is found.
func (w sweeper) sweepAll(ctx context.Context) error {
	all, err := postgres.All[removal](ctx, w.db, `select organization_id, cause, actor from removals
		order by heard_at`, nil)
	for len(all) > 0 && err == nil && ctx.Err() == nil {
		var left []removal
		for _, r := range all {
			found, failed := w.sweepOne(ctx, r)
			if err = errors.Join(err, failed); found && failed == nil {
				left = append(left, r)
			}
		}
		all = left
	}
	return err
}

func (w sweeper) sweepOne(ctx context.Context, r removal) (found bool, err error) {
	found, err = w.sweep(caller.With(ctx, caller.Caller{UserID: r.Actor}), event.Delivery{
		ID: r.Cause, AggregateID: r.OrganizationID, OrganizationID: r.OrganizationID, Actor: r.Actor,
	})
	if found || err != nil {
		return found, err
	}
	_, err = w.db.Exec(ctx, `delete from removals where organization_id = @id and heard_at < now() - @settle::interval`,
		postgres.Args{"id": r.OrganizationID, "settle": settle})
	return false, postgres.Fault(err)
}
