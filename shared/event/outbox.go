package event

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/postgres"
)

// waiting reads the oldest events of the outbox. It looks up each one by its position. With a plain join of the two
// tables Postgres might read all events that were ever written.
func waiting(ctx context.Context, conn *pgx.Conn) ([]Event, error) {
	rows, err := conn.Query(ctx, `select e.position, e.id, e.aggregate, e.aggregate_id, e.name, e.organization_id,
			e.actor, e.data, e.time
		from (select position from outbox order by position limit $1) o
		cross join lateral (select * from events where position = o.position limit 1) e order by e.position`, window)
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", postgres.Fault(err))
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByName[Event])
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", postgres.Fault(err))
	}
	return events, nil
}

// published deletes events from the outbox, each by its position. A range of positions would be wrong, because a
// transaction that commits late can add other events inside it.
func published(ctx context.Context, conn *pgx.Conn, events []Event) error {
	positions := make([]int64, len(events))
	for i, e := range events {
		positions[i] = e.Position
	}
	if _, err := conn.Exec(ctx, `delete from outbox where position = any($1)`, positions); err != nil {
		return fmt.Errorf("clear outbox: %w", postgres.Fault(err))
	}
	return nil
}

// Backlog returns how many events wait in the outbox, and for how long the first of them.
func Backlog(ctx context.Context, db *pgxpool.Pool) (n int, oldest time.Duration, err error) {
	var seconds float64
	err = db.QueryRow(ctx, `select (select count(*) from outbox), coalesce((
			select extract(epoch from clock_timestamp() - since) from outbox order by position limit 1
		), 0)`).Scan(&n, &seconds)
	if err != nil {
		return 0, 0, fmt.Errorf("backlog: %w", err)
	}
	return n, time.Duration(seconds * float64(time.Second)), nil
}

// Waiting returns an error if an event has waited in the outbox for more than half a minute.
func Waiting(ctx context.Context, db *pgx.Conn) error {
	var since time.Time
	err := db.QueryRow(ctx, `select coalesce((
			select since from outbox order by position limit 1
		), clock_timestamp())`).Scan(&since)
	if err != nil {
		return fmt.Errorf("outbox: %w", postgres.Fault(err))
	}
	if age := time.Since(since); age > tooLong {
		return fmt.Errorf("events wait to be published since %s", since.UTC().Format(time.RFC3339))
	}
	return nil
}

// Replay puts all events from a position on back into the outbox, so that a lost stream is built again. It returns
// the number of events.
func Replay(ctx context.Context, db *pgxpool.Pool, from int64) (int64, error) {
	tag, err := db.Exec(ctx,
		`insert into outbox select position from events where position >= $1 on conflict do nothing`, from)
	if err != nil {
		return 0, fmt.Errorf("replay: %w", err)
	}
	return tag.RowsAffected(), nil
}
