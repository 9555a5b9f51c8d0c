package event_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/fault"
	_ "herald/shared/gen/herald/text/v1" // its service consumes here
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// things are what the tests change, in the name of the service users.
var things fs.FS = fstest.MapFS{"migrations/001_things.sql": {Data: []byte(`
	create table things (
		id text collate "C" primary key,
		name text collate "C" not null constraint things_name unique,
		parent text constraint things_parent references things (id) deferrable initially deferred,
		sequence bigint not null,
		created_at timestamptz not null,
		changed_at timestamptz not null
	)`)}}

var kit = testkit.New("users", things)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

var (
	errNotFound = fault.New(fault.NotFound, "THING_NOT_FOUND", "")
	errTaken    = fault.New(fault.Exists, "THING_TAKEN", "")
	errParent   = fault.New(fault.Precondition, "THING_PARENT", "")
	errUnless   = fault.New(fault.Precondition, "THING_UNLESS", "")
)

type thing struct {
	resource.Record
	ID   string
	Name string
}

// replica is one process of the service, with its own pool and connection to NATS.
type replica struct {
	testing.TB
	ground boot.Ground
	db     *pgxpool.Pool
	conn   *nats.Conn
	js     jetstream.JetStream
	relay  *event.Relay
	read   []jetstream.Msg // from the stream
	event.Journal
}

func newReplica(t testing.TB, g boot.Ground, url secret.Text) *replica {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, g.Traces)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	r := &replica{TB: t, ground: g, db: db}
	r.conn, r.js = connect(t, g, "users")
	if _, err := event.EnsureStreams(t.Context(), r.js, g.Streams, nil); err != nil {
		t.Fatal(err)
	}
	r.relay = &event.Relay{
		Service: "users", DB: db, Conn: r.conn, JS: r.js, Log: g.Log, Services: []string{"users", "text"},
		Streams: g.Streams,
	}
	r.Journal = event.Journal{
		DB: db, Now: time.Now, Committed: r.relay.Wake,
		Constraints: map[string]*fault.Fault{"things_name": errTaken, "things_parent": errParent},
	}
	return r
}

// connect is testkit.Connect with JetStream.
func connect(t testing.TB, g boot.Ground, user string) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	conn := testkit.Connect(t, g, user)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return conn, js
}

func (r *replica) create(id string, with ...func(*event.Statement)) (resource.Record, error) {
	return r.Create(caller.With(r.Context(), caller.Caller{UserID: "someone"}), &usersv1.OrgCreated{},
		newThing(id, with...))
}

func newThing(id string, with ...func(*event.Statement)) event.Statement {
	save := event.Statement{
		AggregateID: id, OrganizationID: "org-1", Unless: errUnless,
		SQL: `created as (
			insert into things (id, name, sequence, created_at, changed_at) select @id, @name, position, time, time
				from event
		)`,
		Args: postgres.Args{"id": id, "name": "name of " + id},
	}
	for _, f := range with {
		f(&save)
	}
	return save
}

func (r *replica) mustCreate(ids ...string) {
	r.Helper()
	for _, id := range ids {
		if _, err := r.create(id); err != nil {
			r.Fatal(err)
		}
	}
}

// rename changes a thing; the same name changes nothing.
func (r *replica) rename(id, name string, with ...func(*event.Statement)) (thing, error) {
	return event.Change(r.Context(), r.Journal, event.Locked[thing]{
		Lock:     `select id, name, sequence, created_at, changed_at from things where id = @id for update`,
		Args:     postgres.Args{"id": id},
		NotFound: errNotFound,
		Write: func(x thing) event.Statement {
			save := event.Statement{
				AggregateID: x.ID, OrganizationID: "org-1", Unless: errUnless,
				SQL: `changed as (update things set name = @name, sequence = position, changed_at = time from event
					where id = @id)`,
				Args: postgres.Args{"id": x.ID, "name": x.Name},
			}
			for _, f := range with {
				f(&save)
			}
			return save
		},
	}, func(x *thing) (proto.Message, error) {
		if x.Name == name {
			return nil, nil
		}
		x.Name = name
		return &usersv1.OrgChanged{}, nil
	})
}

func (r *replica) count(sql string, args ...any) int {
	r.Helper()
	return testkit.Rows(r, r.db, sql, args...)
}

// stream reads the first n messages of EVENTS as soon as they are there, and fails
// if there are more.
func (r *replica) stream(n int) []jetstream.Msg {
	r.Helper()
	_, js := connect(r, r.ground, "auth")
	c, err := js.CreateOrUpdateConsumer(r.Context(), event.Stream,
		jetstream.ConsumerConfig{Durable: "auth", AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		r.Fatal(err)
	}
	if more := n - len(r.read); more > 0 {
		batch, err := c.Fetch(more, jetstream.FetchMaxWait(30*time.Second))
		if err != nil {
			r.Fatal(err)
		}
		for m := range batch.Messages() {
			r.read = append(r.read, m)
		}
	}
	s, err := js.Stream(r.Context(), event.Stream)
	if err != nil {
		r.Fatal(err)
	}
	if there := s.CachedInfo().State.Msgs; len(r.read) != n || there != uint64(n) {
		r.Fatalf("the stream has %d messages, read %d, want %d", there, len(r.read), n)
	}
	return r.read
}

// until polls a server, which sends no signal about its state.
func (r *replica) until(what string, is func() bool) {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(30 * time.Second); !is(); {
		select {
		case <-tick.C:
		case <-limit:
			r.Fatalf("not within 30 s: %s", what)
		}
	}
}

func TestEventsAreCloudEvents(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	r := newReplica(t, g, kit.Database(t))
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.FixedZone("", 3600))
	r.Now = func() time.Time { return at }
	testkit.Go(t, r.relay.Run)
	record, err := r.create("thing-1", func(s *event.Statement) { s.EventID, s.OrganizationID = "event-1", "a.b *>" })
	if err != nil {
		t.Fatal(err)
	}
	m := r.stream(1)[0]
	if m.Subject() != "events.users.org.created.a_b___" {
		t.Errorf("subject %s", m.Subject())
	}
	want := map[string]string{
		"Nats-Msg-Id": "event-1", "content-type": "application/json",
		"ce-specversion": "1.0", "ce-id": "event-1", "ce-source": "/herald/users",
		"ce-type":    "herald.users.org.created.v1",
		"ce-subject": "thing-1", "ce-time": "2026-01-02T02:04:05.678901Z", "ce-sequence": fmt.Sprint(record.Sequence),
		"ce-orgid": "a.b *>", "ce-actor": "someone",
	}
	for name, value := range want {
		if got := m.Headers().Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if len(m.Headers()) != len(want) {
		t.Errorf("headers %v", m.Headers())
	}
	if !json.Valid(m.Data()) || string(m.Data()) != "{}" {
		t.Errorf("data %q", m.Data())
	}
}

// Every event of the contracts names its aggregate and what happened, in tokens of
// a NATS subject.
func TestEventsAreNamed(t *testing.T) {
	t.Parallel()
	found := map[string]protoreflect.FullName{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Messages().Len() {
			m := f.Messages().Get(i)
			e, _ := proto.GetExtension(m.Options(), heraldv1.E_Event).(*heraldv1.Event)
			if e == nil {
				continue
			}
			name := string(f.Package()) + "." + e.Aggregate + "." + e.Name
			if e.Aggregate == "" || e.Name == "" || strings.ContainsAny(e.Aggregate+e.Name, ".*> ") {
				t.Errorf("%s is called %q %q", m.FullName(), e.Aggregate, e.Name)
			}
			if other, double := found[name]; double {
				t.Errorf("%s and %s are both %s", m.FullName(), other, name)
			}
			found[name] = m.FullName()
		}
		return true
	})
	if len(found) == 0 {
		t.Fatal("no events found")
	}
}

func TestStreamsAreEnsuredByAllAtOnce(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var all sync.WaitGroup
	for _, user := range slices.Repeat([]string{"users", "text"}, 4) {
		_, js := connect(t, g, user)
		all.Go(func() {
			if _, err := event.EnsureStreams(t.Context(), js, g.Streams, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	_, js := connect(t, g, "users")
	if event.LostDead(t.Context(), js) {
		t.Error("DEAD is missing")
	}
	if full, err := event.Fill(t.Context(), js); full != 0 || err != nil {
		t.Errorf("fill %v, %v", full, err)
	}
}
