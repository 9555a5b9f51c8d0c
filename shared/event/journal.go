package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/rpc"
)

// Journal writes a change and its event in one transaction, so that neither exists without
// the other.
type Journal struct {
	DB  *pgxpool.Pool
	Now func() time.Time
	// Committed is called after a commit, for each event; it wakes the relay.
	Committed func(Event)
	// Constraints are the faults for violated constraints, by the constraint's name.
	Constraints map[string]*fault.Fault
	// Guard adds queries to the batch that begins a transaction. They check whether the caller may act on the user
	// whom the request names. If they fail, the transaction ends. Guard is called only if the check was left to the
	// change.
	Guard func(ctx context.Context, target *caller.Target, b *pgx.Batch)
}

// Statement is the SQL that writes one change and, in the same statement, its event.
type Statement struct {
	// AggregateID is the object that the event is about. OrganizationID is the organization of that object.
	AggregateID    string
	OrganizationID string
	// OrganizationOf is an SQL expression for the organization's id. It replaces OrganizationID if only the database
	// knows the organization. An empty organization is refused.
	OrganizationOf string
	// EventID is the event's id if the caller must know it before the change. Empty for a new id.
	EventID string
	// If is an SQL condition. If it is false, neither the change nor its event is written. Empty is always true.
	If string
	// Unless is the fault that is returned if the condition is false.
	Unless *fault.Fault
	// Along is a select of the events of other objects that change together with this one. It returns rows of
	// (aggregate, name, aggregate_id, organization_id, data). Each row becomes an event whose cause is the event of
	// this change. The data must have the field that history_of names in the contract. SQL can read these events from
	// the table `along`. Empty for none.
	Along string
	// SQL is a list of common table expressions that make the change, without a comma at
	// its end. They read the event's position and time from the table `event`. Empty if there
	// is only an event to write.
	SQL string
	// Args are the arguments of all SQL here. The SQL may also use @event_id, @event_actor,
	// @event_time and, without OrganizationOf, @event_organization.
	Args postgres.Args
}

// Removal returns the statement that deletes the row with that id from a table of objects.
func Removal(table, id, organizationID string) Statement {
	return Statement{
		AggregateID: id, OrganizationID: organizationID,
		SQL:  `removed as (delete from ` + table + ` using event where id = @id)`,
		Args: postgres.Args{"id": id},
	}
}

// Also appends a common table expression and its arguments. The expression may use the
// arguments that are there already. Also panics if two arguments have the same name.
func (s *Statement) Also(sql string, args postgres.Args) {
	for name := range args {
		if _, taken := s.Args[name]; taken {
			panic("event: two arguments are called " + name)
		}
	}
	s.SQL += ", " + sql
	maps.Copy(s.Args, args)
}

// Create runs a statement and returns the new object's record. It takes one round trip, or two if the transaction
// must also check the escalation rule.
func (j Journal) Create(ctx context.Context, m proto.Message, s Statement) (resource.Record, error) {
	if caller.TargetOf(ctx).LeftToChange() {
		return j.CreateLocked(ctx, Lock{SQL: `select`}, m, s) // no row to lock: one empty row
	}
	e, err := j.write(ctx, j.DB, m, s)
	if err != nil {
		return resource.Record{}, err
	}
	j.Committed(e)
	return resource.Record{Sequence: e.Position, CreatedAt: e.Time, ChangedAt: e.Time}, nil
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// write runs one statement with its event, and returns the event as the database has it.
func (j Journal) write(ctx context.Context, db querier, m proto.Message, s Statement) (Event, error) {
	e, err := j.event(ctx, m, s)
	if err != nil {
		return Event{}, err
	}
	sql, args := s.with(e)
	rows, _ := db.Query(ctx, sql, args) // written returns its error
	e, err = e.written(rows)
	if err != nil {
		return Event{}, j.fault(err, s)
	}
	return e, nil
}

// Lock is a `select … for update` of one row, its arguments, and the fault if there is no such row.
type Lock struct {
	SQL      string
	Args     postgres.Args
	NotFound *fault.Fault
}

// CreateLocked is Create after a lock, in two round trips. The statement sees everything that was committed before
// the lock was granted.
func (j Journal) CreateLocked(ctx context.Context, l Lock, m proto.Message, s Statement) (resource.Record, error) {
	created, err := Change(ctx, j, Locked[Creation]{
		Lock: l.SQL, Args: l.Args, NotFound: l.NotFound, Write: func(Creation) Statement { return s },
	}, func(*Creation) (proto.Message, error) { return m, nil })
	return created.Record, err
}

// Creation is the row type of Change for a new object, because then the locked row is not the row that changes.
type Creation struct {
	Record resource.Record `db:"-"`
}

// Moved makes *Creation a row that Change accepts.
func (c *Creation) Moved(sequence int64, at time.Time) {
	c.Record = resource.Record{Sequence: sequence, CreatedAt: at, ChangedAt: at}
}

// Follow writes the changes that an event of another service causes here. Their actor is the actor of that event. The
// statement has no event of its own: it has only Along, SQL and Args, and the table `event` has only the time.
func (j Journal) Follow(ctx context.Context, cause Delivery, s Statement) error {
	written, err := j.follow(ctx, j.DB, cause, s)
	return j.announce(written, err)
}

// FollowLocked is Follow after a query that locks rows and returns ids, in one transaction. The statement sees
// everything that was committed before the locks were granted, and reads the ids as @locked. Without ids it does not
// run. FollowLocked returns how many ids there are. The cause is empty for a change without an event, such as an
// expiry.
func (j Journal) FollowLocked(ctx context.Context, cause Delivery, lock Lock, s Statement) (ids int, err error) {
	var written []Event
	err = pgx.BeginFunc(ctx, j.DB, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, lock.SQL, lock.Args) // CollectRows returns its error
		locked, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if ids = len(locked); err != nil || ids == 0 {
			return err
		}
		s.Args = maps.Clone(s.Args)
		s.Args["locked"] = locked
		written, err = j.follow(ctx, tx, cause, s)
		return err
	})
	return ids, j.announce(written, err)
}

// follow runs the statement of Follow, and returns the events as the database has them.
func (j Journal) follow(ctx context.Context, db querier, cause Delivery, s Statement) ([]Event, error) {
	args := maps.Clone(s.Args)
	args["event_id"], args["event_cause"], args["event_actor"] = resource.NewID(), cause.ID, cause.Actor
	args["event_time"], args["event_history_fields"] = j.Now(), contract.HistoryFields()
	args["event_request"] = rpc.RequestID(ctx)
	args["event_aggregates_of_instance"] = contract.AggregatesOfInstance()
	rows, _ := db.Query(ctx, `with event as (select @event_time::timestamptz as time)`+s.changes()+
		` select `+columns+` from along order by position`, args) // CollectRows returns its error
	return pgx.CollectRows(rows, pgx.RowToStructByName[Event])
}

// announce reports the events of a change that is committed, unless it failed.
func (j Journal) announce(written []Event, err error) error {
	if err != nil {
		return postgres.Fault(err)
	}
	for _, e := range written {
		j.Committed(e)
	}
	return nil
}

// Entry is one of the changes that CreateAll writes: the event's message and the statement.
type Entry struct {
	Message   proto.Message
	Statement Statement
}

// CreateAll runs the statements of several creations in one transaction.
func (j Journal) CreateAll(ctx context.Context, all []Entry) error {
	var events []Event
	err := pgx.BeginFunc(ctx, j.DB, func(tx pgx.Tx) error {
		for _, c := range all {
			e, err := j.write(ctx, tx, c.Message, c.Statement)
			if err != nil {
				return err
			}
			events = append(events, e)
		}
		return nil
	})
	return j.announce(events, err)
}

// Locked says how an object is locked and saved by Change.
type Locked[T any] struct {
	// LockFirst locks another row before Lock does. That row may be missing, so its NotFound is ignored. Empty for
	// none.
	LockFirst Lock
	// Lock is a `select … for update` of exactly one row, Args are its arguments.
	Lock     string
	Args     postgres.Args
	NotFound *fault.Fault
	// LockParts locks rows that belong to the object, if Lock does not protect them. It uses the arguments of Lock.
	// Empty for none.
	LockParts string
	// Check adds queries that run after the locks and check whether the caller may change the object. If they fail,
	// the transaction ends. Nil for none.
	Check func(*pgx.Batch)
	// Write returns the statement that saves the changed object.
	Write func(T) Statement
}

// Change locks an object and calls decide, which changes it and returns the event. Then Change saves the object with
// that event. This takes two round trips. If decide returns no event, nothing is written. decide must not make remote
// calls, because the row is locked while it runs. Change returns the changed object.
func Change[T any, P interface {
	*T
	Moved(int64, time.Time)
}](ctx context.Context, j Journal, l Locked[T], decide func(P) (proto.Message, error)) (T, error) {
	var row T
	err := j.DB.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		var err error
		if row, err = l.lock(ctx, j, c); err != nil {
			return rollback(ctx, c, postgres.Missing(err, l.NotFound))
		}
		m, err := decide(&row)
		if err != nil || m == nil {
			return rollback(ctx, c, err)
		}
		s := l.Write(row)
		e, err := j.event(ctx, m, s)
		if err != nil {
			return rollback(ctx, c, err)
		}
		written, err := s.commit(ctx, c, e)
		if err != nil {
			return rollback(ctx, c, j.fault(err, s))
		}
		P(&row).Moved(written.Position, e.Time)
		j.Committed(written)
		return nil
	})
	if err != nil {
		var none T
		return none, postgres.Fault(err)
	}
	return row, nil
}

func (j Journal) event(ctx context.Context, m proto.Message, s Statement) (Event, error) {
	e, err := New(m, Origin{
		EventID: s.EventID, AggregateID: s.AggregateID, OrganizationID: s.OrganizationID,
		Actor: caller.From(ctx).Actor(), Time: j.Now(),
	})
	e.Request = rpc.RequestID(ctx)
	if err == nil && s.OrganizationID == "" && s.OrganizationOf == "" && !contract.OfInstance(e.Aggregate) {
		return Event{}, fmt.Errorf("event %s.%s has no organization, and its contract lacks of_instance", e.Aggregate,
			e.Name)
	}
	return e, err
}

// fault translates the error of a statement into the fault for the caller.
func (j Journal) fault(err error, s Statement) error {
	if errors.Is(err, pgx.ErrNoRows) && s.Unless != nil {
		return s.Unless
	}
	return postgres.Named(err, j.Constraints)
}

// with returns the whole SQL of a change and all its arguments. The SQL returns the event.
func (s Statement) with(e Event) (string, postgres.Args) {
	args := make(postgres.Args, len(s.Args)+8)
	maps.Copy(args, s.Args)
	args["event_id"], args["event_aggregate"], args["event_name"] = e.ID, e.Aggregate, e.Name
	args["event_aggregate_id"], args["event_history_id"], args["event_request"] = e.AggregateID, e.HistoryID, e.Request
	args["event_actor"], args["event_data"], args["event_time"] = e.Actor, e.Data, e.Time
	if s.Along != "" {
		args["event_cause"], args["event_history_fields"] = e.ID, contract.HistoryFields()
		args["event_aggregates_of_instance"] = contract.AggregatesOfInstance()
	}
	organization := "@event_organization"
	if s.OrganizationOf != "" {
		organization = "nullif(" + s.OrganizationOf + ", '')" // the column refuses null
	} else {
		args["event_organization"] = e.OrganizationID
	}
	return `with written as (
	insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, request_id, data, time)
	select @event_id, @event_aggregate, @event_aggregate_id, @event_history_id, @event_name,
		` + organization + `, @event_actor, @event_request, @event_data::jsonb, @event_time::timestamptz
	where ` + cmp.Or(s.If, "true") + ` returning ` + columns + `
), event as (
	select position, time from written
), outboxed as (
	insert into outbox select position from event
)` + s.changes() + ` select ` + columns + ` from written`, args
}

// changes returns the SQL of Along and SQL, each after a comma.
func (s Statement) changes() string {
	var sql string
	if s.Along != "" {
		sql = `, along as (
	insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, request_id, data, time)
	select @event_id::text || '-' || row_number() over (), a.aggregate, a.aggregate_id,
		case when @event_history_fields::jsonb ? a.aggregate
			then a.data ->> (@event_history_fields::jsonb ->> a.aggregate) else a.aggregate_id end,
		a.name, case when a.organization_id <> '' or a.aggregate = any (@event_aggregates_of_instance)
			then a.organization_id end,
		@event_actor, @event_request, a.data || jsonb_strip_nulls(jsonb_build_object(
			'cause', nullif(@event_cause::text, ''))), event.time
	from event, (` + s.Along + `) a (aggregate, name, aggregate_id, organization_id, data)
	returning ` + columns + `
), along_outboxed as (
	insert into outbox select position from along
)`
	}
	if s.SQL != "" {
		sql += ", " + s.SQL
	}
	return sql
}

// lock begins a transaction, checks whether the caller may act on the user whom the request names, and locks the
// object.
func (l Locked[T]) lock(ctx context.Context, j Journal, c *pgxpool.Conn) (row T, err error) {
	var b pgx.Batch
	b.Queue("begin")
	if target := caller.TargetOf(ctx); target.LeftToChange() {
		j.Guard(ctx, target, &b)
	}
	if l.LockFirst.SQL != "" {
		b.Queue(l.LockFirst.SQL, l.LockFirst.Args)
	}
	b.Queue(l.Lock, l.Args).Query(func(rows pgx.Rows) error {
		row, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
		return err
	})
	if l.LockParts != "" {
		b.Queue(l.LockParts, l.Args)
	}
	if l.Check != nil {
		l.Check(&b)
	}
	err = c.SendBatch(ctx, &b).Close()
	return row, err
}

// commit runs the statement, commits the transaction and returns the event.
func (s Statement) commit(ctx context.Context, c *pgxpool.Conn, e Event) (written Event, err error) {
	var b pgx.Batch
	sql, args := s.with(e)
	b.Queue(sql, args).Query(func(rows pgx.Rows) error {
		written, err = e.written(rows)
		return err
	})
	b.Queue("commit")
	err = c.SendBatch(ctx, &b).Close()
	return written, err
}

// written reads the event e as the database has written it. Only the database knows its position, and sometimes its
// organization.
func (e Event) written(rows pgx.Rows) (Event, error) {
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Event])
	row.quiet = e.quiet
	return row, err
}

// rollback rolls the transaction back and returns cause. If rolling back fails, the pool
// closes the connection, which ends the transaction.
func rollback(ctx context.Context, c *pgxpool.Conn, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, _ = c.Exec(ctx, "rollback")
	return cause
}
