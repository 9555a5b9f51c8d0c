package event_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"herald/shared/event"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/postgres"
	"herald/shared/testkit"
)

func newJournal(t *testing.T) *replica {
	t.Helper()
	return newReplica(t, testkit.Ground(t), kit.Database(t))
}

// clean fails if a connection of the pool is in a transaction, or was lost.
func (r *replica) clean(t *testing.T) {
	t.Helper()
	n := r.count("pg_stat_activity where datname = current_database() and state like 'idle in transaction%'")
	if n != 0 {
		t.Errorf("%d connections are left in a transaction", n)
	}
	if n := r.db.Stat().NewConnsCount(); n != 1 {
		t.Errorf("the pool has opened %d connections: one was lost", n)
	}
}

func wants(t *testing.T, err error, want *fault.Fault) {
	t.Helper()
	if f, ok := errors.AsType[*fault.Fault](err); !ok || f.ID != want.ID {
		t.Errorf("got %v, want %s", err, want.ID)
	}
}

func TestCreateWritesObjectEventAndOutbox(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	var commits atomic.Int64
	r.Committed = func(event.Event) { commits.Add(1) }
	record, err := r.create("a")
	if err != nil || record.Sequence == 0 || !record.CreatedAt.Equal(record.ChangedAt) {
		t.Fatalf("record %+v, %v", record, err)
	}
	if r.count(`things t join events e on e.position = t.sequence and e.time = t.created_at join outbox o
		using (position)
		where t.sequence = $1 and t.created_at = $2`, record.Sequence, record.CreatedAt) != 1 {
		t.Error("object, event and outbox do not agree with the record")
	}
	_, err = r.create("b", func(s *event.Statement) { s.Args["name"] = "name of a" })
	wants(t, err, errTaken)
	_, err = r.create("c", func(s *event.Statement) {
		s.If = "not exists (select from things where name = @name)"
		s.Args["name"] = "name of a"
	})
	wants(t, err, errUnless)
	if r.count("things") != 1 || r.count("events") != 1 || r.count("outbox") != 1 || commits.Load() != 1 {
		t.Error("a refused creation left something behind")
	}
	r.clean(t)
}

// Objects that change along have events, whose positions the change can read.
func TestCreateAlong(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	r.mustCreate("a", "b")
	record, err := r.create("c", func(s *event.Statement) {
		s.EventID = "first"
		s.Along = `select 'org', 'changed', t.id, 'org of ' || t.id, jsonb_build_object('was', t.name) from things t`
		s.Also(`others as (update things t set name = t.name || '!', sequence = along.position, changed_at = along.time
			from along where along.aggregate_id = t.id)`, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.count("things where id = 'c' and name = 'name of c' and sequence = $1", record.Sequence) != 1 {
		t.Error("the change itself is not what it was to be")
	}
	if r.count(`things t join events e on e.position = t.sequence and e.time = t.changed_at
		join outbox o on o.position = e.position join events c on c.id = e.data ->> 'cause'
		where t.name = 'name of ' || t.id || '!' and e.aggregate_id = t.id and e.organization_id = 'org of ' || t.id
			and e.aggregate = 'org' and e.name = 'changed' and e.actor = 'someone' and c.aggregate_id = 'c'
			and e.data = jsonb_build_object('was', 'name of ' || t.id, 'cause', 'first')
			and e.id in ('first-1', 'first-2') and e.position > c.position`) != 2 {
		t.Error("not each of the others has its own event")
	}
	_, err = r.create("d", func(s *event.Statement) {
		s.If = "false"
		s.Along = `select 'org', 'changed', t.id, '', '{}'::jsonb from things t`
	})
	wants(t, err, errUnless)
	if r.count("events") != 5 || r.count("outbox") != 5 {
		t.Error("a change that did not happen has taken something along")
	}
}

// Events that follow another service's event have that event as the cause.
func TestFollow(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	r.mustCreate("a", "b", "c")
	var committed []event.Event
	r.Committed = func(e event.Event) { committed = append(committed, e) }
	gone := event.Statement{
		Along: `select 'org', 'changed', t.id, 'org-1', '{}'::jsonb from things t where t.id <> @kept for update`,
		SQL:   `gone as (delete from things t using along where along.aggregate_id = t.id)`,
		Args:  postgres.Args{"kept": "b"},
	}
	for range 2 { // again there is nothing left to do
		if err := r.Follow(t.Context(), event.Delivery{ID: "the cause", Actor: "their user"}, gone); err != nil {
			t.Fatal(err)
		}
		if len(committed) != 2 || committed[0].ID == committed[1].ID ||
			committed[0].AggregateID != "a" || committed[1].AggregateID != "c" {
			t.Errorf("committed %+v", committed)
		}
	}
	if r.count("things where id = 'b'") != 1 || r.count("things") != 1 ||
		r.count(`events e join outbox using (position) where e.data = '{"cause": "the cause"}'
			and e.actor = 'their user'`) != 2 {
		t.Error("the wrong ones are gone, or not all events are there")
	}
}

func TestCreateAlso(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	if _, err := r.create("a", func(s *event.Statement) {
		s.Also(`second as (insert into things (id, name, sequence, created_at, changed_at) select @second, @its_name,
			position, time, time from event)`,
			postgres.Args{"second": "b", "its_name": "B?"})
		s.Also(`third as (insert into things (id, name, sequence, created_at, changed_at) select @third,
			'C of ' || @id, position, time, time from event)`,
			postgres.Args{"third": "c"})
	}); err != nil {
		t.Fatal(err)
	}
	if r.count("things where (id, name) in (('a', 'name of a'), ('b', 'B?'), ('c', 'C of a'))") != 3 ||
		r.count("events") != 1 {
		t.Error("not all was written")
	}
}

func TestOrganizationOf(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	r.mustCreate("a")
	of := func(s *event.Statement) {
		s.OrganizationOf = `coalesce((select 'owner of ' || id from things where name = @name), @id)`
	}
	for id, want := range map[string]string{"a": "owner of a", "b": "b's"} {
		if _, err := r.create(id+"'s", of, func(s *event.Statement) {
			s.Args["name"] = "name of " + id
			s.SQL = `other as (select @id, @name)`
		}); err != nil {
			t.Fatal(err)
		}
		if r.count("events where aggregate_id = $1 and organization_id = $2", id+"'s", want) != 1 {
			t.Errorf("the event is not of %s", want)
		}
	}
}

// Only what belongs to the instance has events without organization.
func TestEventWithoutOrganizationIsRefused(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	for name, without := range map[string]func(*event.Statement){
		"not given":    func(s *event.Statement) { s.OrganizationID = "" },
		"not found":    func(s *event.Statement) { s.OrganizationOf = `(select id from things)` },
		"found empty":  func(s *event.Statement) { s.OrganizationOf = `''` },
		"of one along": func(s *event.Statement) { s.Along = `select 'org', 'changed', 'b', '', '{}'::jsonb` },
	} {
		if _, err := r.create("a", without); err == nil || r.count("events") != 0 {
			t.Errorf("%s: %v, an event was written", name, err)
		}
	}
	if _, err := r.Create(t.Context(), &usersv1.MemberRemoved{}, event.Statement{
		AggregateID: "a", Along: `select 'member', 'removed', 'b', '', '{}'::jsonb`,
	}); err != nil || r.count("events where organization_id = ''") != 2 {
		t.Errorf("events of the instance: %v", err)
	}
}

func TestCreateAllIsAllOrNothing(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	creations := func(ids ...string) (all []event.Entry) {
		for _, id := range ids {
			all = append(all, event.Entry{Message: &usersv1.OrgCreated{}, Statement: newThing(id)})
		}
		return all
	}
	if err := r.CreateAll(t.Context(), creations("a", "b")); err != nil {
		t.Fatal(err)
	}
	bad := creations("c", "d")
	bad[1].Statement.Args["name"] = "name of a"
	wants(t, r.CreateAll(t.Context(), bad), errTaken)
	bad = creations("e", "f")
	bad[1].Statement.If = "false"
	wants(t, r.CreateAll(t.Context(), bad), errUnless)
	if r.count("things") != 2 || r.count("events") != 2 || r.count("outbox") != 2 {
		t.Error("a part was written")
	}
	r.clean(t)
}

func TestChange(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	created, err := r.create("a")
	if err != nil {
		t.Fatal(err)
	}
	r.mustCreate("b")
	changed, err := r.rename("a", "A")
	if err != nil || changed.Name != "A" || changed.Sequence <= created.Sequence ||
		!changed.CreatedAt.Equal(created.CreatedAt) {
		t.Fatalf("changed to %+v, %v", changed, err)
	}
	if r.count(`things t join events e on e.position = t.sequence and e.time = t.changed_at
		where t.id = 'a' and t.name = 'A' and t.sequence = $1 and t.changed_at = $2`,
		changed.Sequence, changed.ChangedAt) != 1 {
		t.Error("the row is not what the change answered")
	}
	var commits atomic.Int64
	r.Committed = func(event.Event) { commits.Add(1) }
	same, err := r.rename("a", "A")
	if err != nil || same.Sequence != changed.Sequence {
		t.Errorf("no difference: %+v, %v", same, err)
	}
	_, err = r.rename("z", "Z")
	wants(t, err, errNotFound)
	_, err = r.rename("a", "name of b")
	wants(t, err, errTaken)
	_, err = r.rename("a", "AA", func(s *event.Statement) { s.If = "@name <> 'AA'" })
	wants(t, err, errUnless)
	_, err = r.rename("a", "AA", func(s *event.Statement) { // refused at the commit only
		s.SQL = `changed as (update things set name = @name, parent = 'nobody', sequence = position, changed_at = time
			from event where id = @id)`
	})
	wants(t, err, errParent)
	if _, err = r.rename("a", "NUL \x00"); fault.From(err).Code != fault.Invalid {
		t.Errorf("NUL: %v", err)
	}
	if r.count("things where name in ('A', 'name of b')") != 2 || r.count("events") != 3 || commits.Load() != 0 {
		t.Error("a refused change left something behind")
	}
	r.clean(t)
}

func TestChangeOutlivesPanicAndDeadline(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	r.mustCreate("a")
	object := event.Locked[thing]{
		Lock: `select id, name, sequence, created_at, changed_at from things where id = @id for update`,
		Args: postgres.Args{"id": "a"}, NotFound: errNotFound,
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = event.Change(t.Context(), r.Journal, object, func(*thing) (proto.Message, error) { panic("decide") })
	}()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := event.Change(ctx, r.Journal, object, func(*thing) (proto.Message, error) {
		cancel()
		return nil, ctx.Err()
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := r.rename("a", "free again"); err != nil {
		t.Error(err)
	}
}

// Changes of one object run one after the other, and their events have the same order.
func TestChangesTakeTurns(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	r.mustCreate("a")
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			if _, err := r.rename("a", "A"+string(rune('a'+n))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if r.count("events") != 21 || r.count("things t where sequence = (select max(position) from events)") != 1 {
		t.Error("a change was lost")
	}
}

// turns counts round trips: how often the client sent after it had received.
type turns struct {
	net.Conn
	n       *atomic.Int64
	waiting atomic.Bool
}

func (c *turns) Write(b []byte) (int, error) {
	if !c.waiting.Swap(true) {
		c.n.Add(1)
	}
	return c.Conn.Write(b)
}

func (c *turns) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.waiting.Store(false)
	return n, err
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	var n atomic.Int64
	config := r.db.Config()
	config.MaxConns = 1
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return &turns{Conn: c, n: &n}, err
	}
	counted, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(counted.Close)
	r.DB = counted
	do := func(what string, want int64, f func(int) error) {
		t.Helper()
		for i := range 3 { // the first prepares the statements
			before := n.Load()
			if err := f(i); err != nil {
				t.Fatal(err)
			}
			if got := n.Load() - before; i > 0 && got != want {
				t.Errorf("%s took %d round trips, want %d", what, got, want)
			}
		}
	}
	do("Create", 1, func(i int) error { _, err := r.create(string(rune('a' + i))); return err })
	do("Change", 2, func(i int) error { _, err := r.rename("a", string(rune('A'+i))); return err })
}
