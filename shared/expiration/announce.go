// Package expiration announces each end of what expires in a service 30, 7 and 1 days before. It also counts what ends
// soon.
//
// The SQL of a service is a select of all that expires there. It has the columns of search.Expirations, and also
// made_at, active (whether it and its owner can be used), and the aggregate, event, aggregate_id and data of the
// announcement.
package expiration

import (
	"context"
	"errors"
	"maps"
	"time"

	"herald/shared/boot"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/retry"
)

const (
	// look is how often a replica looks for what to announce.
	look = 5 * time.Minute
	// batch is the largest number of events of one transaction.
	batch = 500
	// settle is how long a transaction may take that writes something that expires. What is closer to now than this is
	// announced by the next look, so that no late commit is passed over.
	settle = time.Minute

	day = 24 * time.Hour
)

// steps are how many days before its end something is announced.
var steps = []int{1, 7, 30}

// Start starts the background task that announces what of a service ends soon, and counts it for the metric.
func Start(s *boot.Service, sql string) {
	gauge := newGauge(s.Name)
	s.Background(func(ctx context.Context) {
		// Tests run two replicas in one process. Only the metric of the first one is registered.
		if s.Metrics.Register(gauge) == nil {
			defer s.Metrics.Unregister(gauge)
		}
		for more := true; more; more = retry.Wait(ctx, look) {
			err := errors.Join(Announce(ctx, s.Journal, sql), Count(ctx, s.DB, sql, s.Now(), gauge))
			if err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "what expires soon is announced later", "err", err)
			}
		}
	})
}

// Announce writes an event for everything that came within 30, 7 or 1 days of its end since the last call. The table
// expiration_steps has how far each step is, and moves in the transaction of the events. So each event is written once,
// however many replicas there are and wherever they end. After a longer stop only the last step that was missed is
// announced.
func Announce(ctx context.Context, j event.Journal, sql string) (err error) {
	now, passed := j.Now(), j.Now()
	for _, days := range steps {
		until := now.Add(time.Duration(days)*day - settle)
		for more := true; more; {
			var failed error
			more, failed = announce(ctx, j, sql, passed, postgres.Args{"days": days, "until": until, "batch": batch})
			err = errors.Join(err, failed)
		}
		passed = until
	}
	return err
}

// announce announces a batch of a step, without what has passed the next step too. It reports whether there may be
// more.
func announce(
	ctx context.Context, j event.Journal, sql string, passed time.Time, args postgres.Args,
) (more bool, err error) {
	write := maps.Clone(args)
	write["passed"] = passed
	// The lock returns an empty id besides those of the batch, because the step moves without any, too.
	found, err := j.FollowLocked(ctx, event.Delivery{}, event.Lock{
		SQL: `with step as (select * from expiration_steps where days = @days for update)
			select '' from step union all
			select e.id from step cross join lateral (select e.id from (` + sql + `) e
				where e.expires_at >= step.reached_at and (e.expires_at, e.id) > (step.reached_at, step.reached_id)
					and e.expires_at < @until order by e.expires_at, e.id limit @batch) e`,
		Args: args,
	}, event.Statement{
		Along: `select e.aggregate, e.event, e.aggregate_id, e.org_id, e.data || jsonb_build_object('days', @days::int,
				'expirationDate', to_char(e.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
			from (` + sql + `) e where ` + ofBatch + ` and e.active and e.expires_at > @passed
				and e.made_at <= e.expires_at - make_interval(hours => 24 * @days) order by e.expires_at, e.id`,
		SQL: `moved as (
			update expiration_steps s set reached_at = next.at, reached_id = next.id from (
				(select e.expires_at as at, e.id from (` + sql + `) e
				where cardinality(@locked::text[]) > @batch and ` + ofBatch + `
				order by e.expires_at desc, e.id desc limit 1)
				union all select @until, '' where cardinality(@locked::text[]) <= @batch) next
			where s.days = @days and (next.at, next.id) > (s.reached_at, s.reached_id))`,
		Args: write,
	})
	return found > batch, err
}

// ofBatch is an SQL condition for what the lock found.
const ofBatch = `e.id = any (@locked) and e.expires_at < @until
	and e.expires_at >= (select reached_at from expiration_steps where days = @days)`
