package event

import (
	"context"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"herald/shared/postgres"
)

// Many is the SQL that writes new objects of one organization, and an event for each of them, in one statement. An
// object that conflicts with an existing one is skipped. The other objects are still written.
type Many struct {
	OrganizationID string
	// Objects are the objects' events, all of one type.
	Objects []Object
	// SQL is a list of common table expressions that write the objects, without a comma at its end. They read the
	// table `event` with the columns n, id, position and time. It has one row for each of Objects, and n starts at 1.
	// One expression must be called `created` and return the positions of the written objects, usually from an
	// `insert … on conflict do nothing`.
	SQL string
	// Args are the arguments of SQL.
	Args postgres.Args
}

// Object is the id of a new object, its event, and the id of the event. An empty event id means a new one.
type Object struct {
	ID      string
	EventID string
	Event   proto.Message
}

// CreateMany writes objects in one round trip and reports which of them were written. The position of a skipped
// object is never used again.
func (j Journal) CreateMany(ctx context.Context, m Many) ([]bool, error) {
	written := make([]bool, len(m.Objects))
	if len(m.Objects) == 0 {
		return written, nil
	}
	events := make([]Event, len(m.Objects))
	for i, o := range m.Objects {
		var err error
		s := Statement{AggregateID: o.ID, OrganizationID: m.OrganizationID, EventID: o.EventID}
		if events[i], err = j.event(ctx, o.Event, s); err != nil {
			return nil, err
		}
	}
	var last *Event
	err := j.DB.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		err := m.commit(ctx, c, events, func(n int, position int64) {
			written[n-1], last = true, &events[n-1]
			last.Position = position
		})
		if err != nil {
			return rollback(ctx, c, postgres.Named(err, j.Constraints))
		}
		return nil
	})
	if err != nil {
		return nil, postgres.Fault(err)
	}
	if last != nil {
		j.Committed(*last) // one call wakes the relay for all events
	}
	return written, nil
}

// commit runs the statement in its own transaction and calls wrote with the number of each written object and the
// position of its event. Nested loops are off: the planner assumes that each array has ten elements, and would compare
// each row with every other row.
func (m Many) commit(
	ctx context.Context, c *pgxpool.Conn, events []Event, wrote func(n int, position int64),
) error {
	var b pgx.Batch
	b.Queue("begin")
	b.Queue("set local enable_nestloop = off")
	b.Queue(m.sql(), m.args(events)).Query(func(rows pgx.Rows) error {
		var n int
		var position int64
		_, err := pgx.ForEachRow(rows, []any{&n, &position}, func() error {
			wrote(n, position)
			return nil
		})
		return err
	})
	b.Queue("commit")
	return c.SendBatch(ctx, &b).Close()
}

func (m Many) sql() string {
	return `with event as (
	select e.n, e.id, e.aggregate_id, e.history_id, e.data, nextval('events_position_seq') as position,
		@event_time::timestamptz as time
	from unnest(@event_ids::text[], @event_aggregate_ids::text[], @event_history_ids::text[], @event_data::text[])
		with ordinality e (id, aggregate_id, history_id, data, n)
), ` + m.SQL + `, recorded as (
	insert into events (position, id, aggregate, aggregate_id, history_id, name, organization_id, actor, request_id,
		data, time)
	overriding system value
	select e.position, e.id, @event_aggregate, e.aggregate_id, e.history_id, @event_name, @event_organization,
		@event_actor, @event_request, e.data::jsonb, e.time
	from event e join created c on c.position = e.position
), outboxed as (
	insert into outbox select position from created
) select e.n, e.position from event e join created c on c.position = e.position order by e.n`
}

func (m Many) args(events []Event) postgres.Args {
	var ids, aggregates, histories, data []string
	for _, e := range events {
		ids, aggregates = append(ids, e.ID), append(aggregates, e.AggregateID)
		histories, data = append(histories, e.HistoryID), append(data, string(e.Data))
	}
	args := postgres.Args{
		"event_aggregate": events[0].Aggregate, "event_name": events[0].Name, "event_actor": events[0].Actor,
		"event_organization": m.OrganizationID, "event_time": events[0].Time, "event_ids": ids,
		"event_aggregate_ids": aggregates, "event_history_ids": histories, "event_data": data,
		"event_request": events[0].Request,
	}
	maps.Copy(args, m.Args)
	return args
}
