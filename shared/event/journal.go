package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/postgres"
	"herald/shared/resource"
)

// Journal writes changes together with their events, so that neither is ever there
// without the other.
type Journal struct {
	DB  *pgxpool.Pool
	Now func() time.Time
	// Committed is called after a commit, for each event; it wakes the relay.
	Committed func(Event)
}

// Save is how a change reaches the tables.
type Save struct {
	// AggregateID and OrganizationID say what the event is about.
	AggregateID    string
	OrganizationID string
	// OrganizationOf is SQL for the organization, for those who do not know it; it
	// falls back to $5, which is OrganizationID.
	OrganizationOf string
	// EventID is chosen by those who must know it beforehand; empty for a fresh one.
	EventID string
	// DataOf is SQL for a JSON object that the message lacks and only the change itself
	// sees; its parameters are those of SQL. Empty adds nothing.
	DataOf string
	// If is a condition that must hold when the change is written; without it the
	// change and its event do not happen. Empty holds.
	If string
	// SQL is a list of common table expressions that read `event` (position, time)
	// and number their parameters from $9. It ends before a comma.
	SQL  string
	Args []any
	// Unless is the fault of a change whose condition did not hold.
	Unless *fault.Fault
	// Constraints are the faults of the constraints that the change may violate.
	Constraints map[string]*fault.Fault
}

// firstArg is the number of the first parameter that a Save may use.
const firstArg = 9

// Also appends a common table expression; each ? in it stands for the next argument.
func (s *Save) Also(sql string, args ...any) {
	for _, a := range args {
		sql = strings.Replace(sql, "?", fmt.Sprintf("$%d", firstArg+len(s.Args)), 1)
		s.Args = append(s.Args, a)
	}
	s.SQL += ", " + sql
}

// Create runs one statement in one round trip and answers with the new object's record.
func (j Journal) Create(ctx context.Context, m proto.Message, s Save) (resource.Record, error) {
	e, err := j.event(ctx, m, s)
	if err != nil {
		return resource.Record{}, err
	}
	sql, args := e.with(s)
	r := resource.Record{CreatedAt: e.Time, ChangedAt: e.Time}
	if err := j.DB.QueryRow(ctx, sql, args...).Scan(&r.Sequence); err != nil {
		return resource.Record{}, s.fault(err)
	}
	e.Position = r.Sequence
	j.Committed(e)
	return r, nil
}

// Creation is one of several changes that CreateAll writes together.
type Creation struct {
	Message proto.Message
	Save    Save
}

// CreateAll runs several creations in one transaction.
func (j Journal) CreateAll(ctx context.Context, all []Creation) error {
	var events []Event
	err := pgx.BeginFunc(ctx, j.DB, func(tx pgx.Tx) error {
		for _, c := range all {
			e, err := j.event(ctx, c.Message, c.Save)
			if err != nil {
				return err
			}
			sql, args := e.with(c.Save)
			if err := tx.QueryRow(ctx, sql, args...).Scan(&e.Position); err != nil {
				return c.Save.fault(err)
			}
			events = append(events, e)
		}
		return nil
	})
	if err != nil {
		return postgres.Fault(err)
	}
	for _, e := range events {
		j.Committed(e)
	}
	return nil
}

// Object is how one kind of object is changed.
type Object[T any] struct {
	// Lock is a `select … for update` of exactly one row.
	Lock     string
	NotFound *fault.Fault
	Save     func(T) Save
}

// Change locks an object, lets decide alter it and saves it with the event that
// decide answered with: two round trips. Without an event nothing is written. Remote
// calls have no place in decide. Change answers with the object as it is afterwards.
func Change[T any, P interface {
	*T
	Moved(int64, time.Time)
}](ctx context.Context, j Journal, o Object[T], key []any, decide func(P) (proto.Message, error)) (T, error) {
	var row T
	err := j.DB.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		var err error
		if row, err = lock[T](ctx, c, o.Lock, key); err != nil {
			return rollback(ctx, c, postgres.Missing(err, o.NotFound))
		}
		m, err := decide(&row)
		if err != nil || m == nil {
			return rollback(ctx, c, err)
		}
		s := o.Save(row)
		e, err := j.event(ctx, m, s)
		if err != nil {
			return rollback(ctx, c, err)
		}
		position, err := save(ctx, c, e, s)
		if err != nil {
			return rollback(ctx, c, s.fault(err))
		}
		P(&row).Moved(position, e.Time)
		e.Position = position
		j.Committed(e)
		return nil
	})
	if err != nil {
		var none T
		return none, postgres.Fault(err)
	}
	return row, nil
}

func (j Journal) event(ctx context.Context, m proto.Message, s Save) (Event, error) {
	e, err := New(m, Origin{AggregateID: s.AggregateID, OrganizationID: s.OrganizationID, Actor: caller.From(ctx).Actor(), Time: j.Now()})
	if s.EventID != "" {
		e.ID = s.EventID
	}
	return e, err
}

func (s Save) fault(err error) error {
	if errors.Is(err, pgx.ErrNoRows) && s.Unless != nil {
		return s.Unless
	}
	return postgres.Named(err, s.Constraints)
}

func (e Event) with(s Save) (string, []any) {
	condition, organization, data := cmp.Or(s.If, "true"), cmp.Or(s.OrganizationOf, "$5"), "$7::jsonb"
	if s.DataOf != "" {
		data += " || (" + s.DataOf + ")"
	}
	sql := `with event as (
	insert into events (id, aggregate, aggregate_id, name, organization_id, actor, data, time)
	select $1, $2, $3, $4, ` + organization + `, $6, ` + data + `, $8::timestamptz where ` + condition + ` returning position, time
), outboxed as (
	insert into outbox select position from event
), ` + s.SQL + ` select position from event`
	args := append(make([]any, 0, firstArg-1+len(s.Args)), e.ID, e.Aggregate, e.AggregateID, e.Name, e.OrganizationID, e.Actor, e.Data, e.Time)
	return sql, append(args, s.Args...)
}

func lock[T any](ctx context.Context, c *pgxpool.Conn, sql string, key []any) (row T, err error) {
	var b pgx.Batch
	b.Queue("begin")
	b.Queue(sql, key...).Query(func(rows pgx.Rows) error {
		row, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
		return err
	})
	err = c.SendBatch(ctx, &b).Close()
	return row, err
}

func save(ctx context.Context, c *pgxpool.Conn, e Event, s Save) (position int64, err error) {
	var b pgx.Batch
	sql, args := e.with(s)
	b.Queue(sql, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&position) })
	b.Queue("commit")
	err = c.SendBatch(ctx, &b).Close()
	return position, err
}

// rollback ends a transaction that changed nothing, and passes on why. Where even
// that fails the pool closes the connection, and with it the transaction.
func rollback(ctx context.Context, c *pgxpool.Conn, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, _ = c.Exec(ctx, "rollback")
	return cause
}
