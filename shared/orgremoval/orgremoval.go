// Package orgremoval removes a service's objects of a removed organization. The event of the removal is stored in the
// table removals. A background task then removes the objects in batches, so that no request and no consumer waits for
// this. If the process ends before all objects are removed, the next process continues.
package orgremoval

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
	// batch is the largest number of objects that one Sweep removes.
	batch = 100
	// settle is how long the task looks for new objects of a removed organization. A request that began before the
	// removal can still write for 60 s (caller.Lifetime and rpc.MaxDuration).
	settle = 90 * time.Second
	// look is how often the task reads the table without a new event.
	look = 10 * time.Second
)

// Sweep removes a batch of an organization's objects. Each removal writes an event whose cause is removed.ID. The
// caller in ctx is the user who removed the organization. found reports whether there were any objects.
type Sweep func(ctx context.Context, removed event.Delivery) (found bool, err error)

// Start starts the background task of a service. It returns the handler of the events, which the
// service must consume.
func Start(s *boot.Service, sweep Sweep) event.Handler {
	w := sweeper{db: s.DB, log: s.Log, sweep: sweep, wake: make(chan struct{}, 1)}
	s.Background(w.run)
	return event.On(func(ctx context.Context, d event.Delivery, _ *usersv1.OrgRemoved) error {
		return w.note(ctx, d)
	})
}

// All returns a Sweep of one kind of object. some returns at most so many objects of an organization. All ignores the
// fault "not found" of remove, because another replica or a caller may have removed the object.
func All[T any](
	some func(ctx context.Context, orgID string, most int) ([]T, error),
	remove func(ctx context.Context, removed event.Delivery, object T) error,
) Sweep {
	return func(ctx context.Context, removed event.Delivery) (bool, error) {
		objects, err := some(ctx, removed.OrganizationID, batch)
		for _, o := range objects {
			if err := remove(ctx, removed, o); err != nil && fault.From(err).Code != fault.NotFound {
				return true, err
			}
		}
		return len(objects) > 0, err
	}
}

// InOrder returns a Sweep that does the next of some sweeps when the earlier ones have found nothing.
func InOrder(sweeps ...Sweep) Sweep {
	return func(ctx context.Context, removed event.Delivery) (bool, error) {
		for _, sweep := range sweeps {
			if found, err := sweep(ctx, removed); found || err != nil {
				return found, err
			}
		}
		return false, nil
	}
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
	default: // the task already has a signal
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

// sweepAll removes one batch of each organization in turn, until there are no more objects. If an organization fails,
// it is tried again next time, and the others continue.
func (w sweeper) sweepAll(ctx context.Context) error {
	all, err := postgres.All[removal](ctx, w.db, `select organization_id, cause, actor from removals
		order by heard_at`, nil)
	for len(all) > 0 && ctx.Err() == nil {
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
