package event_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/contract"
	"herald/shared/event"
	"herald/shared/testkit"
)

// Writers that take positions and commit late or never lose nothing, double nothing
// and keep the order of each aggregate, whichever of three relays works.
func TestRelayUnderLateCommits(t *testing.T) {
	t.Parallel()
	const writers, changes = 8, 40
	g, url := testkit.Ground(t), kit.Database(t)
	r := newReplica(t, g, url)
	for range 3 {
		testkit.Go(t, newReplica(t, g, url).relay.Run)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() { r.write(w, changes) })
	}
	all.Go(func() {
		for i := range 5 {
			r.commitLate(fmt.Sprint("late ", i))
		}
	})
	all.Wait()
	want := writers*changes*4/5 + 5*2
	if n := r.count("events"); n != want {
		t.Fatalf("%d events were committed, want %d", n, want)
	}
	r.intact(want)
}

func sequence(t testing.TB, m jetstream.Msg) int64 {
	t.Helper()
	n, err := strconv.ParseInt(m.Headers().Get("ce-sequence"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// write makes changes of ten aggregates that all writers share; every fifth is
// rolled back after it took its position.
func (r *replica) write(writer, changes int) {
	for i := range changes {
		err := pgx.BeginFunc(r.Context(), r.db, func(tx pgx.Tx) error {
			aggregate := fmt.Sprint("shared ", (writer+i)%10)
			if _, err := tx.Exec(r.Context(), `select pg_advisory_xact_lock(hashtext($1))`, aggregate); err != nil {
				return err
			}
			if err := record(r.Context(), tx, aggregate); err != nil {
				return err
			}
			if i%5 == 4 {
				return pgx.ErrTxCommitRollback
			}
			return nil
		})
		if err != nil && i%5 != 4 {
			r.Error(err)
		}
		r.relay.Wake(event.Event{})
	}
}

// commitLate takes a position, and commits after the event of a later one is published.
func (r *replica) commitLate(aggregate string) {
	subscriber, _ := connect(r, r.ground, bus.Subscriber)
	news, err := subscriber.SubscribeSync("events.users.org.created." + strings.ReplaceAll(aggregate, " ", "_"))
	if err != nil {
		r.Error(err)
		return
	}
	if err := subscriber.Flush(); err != nil {
		r.Error(err)
	}
	err = pgx.BeginFunc(r.Context(), r.db, func(tx pgx.Tx) error {
		if err := record(r.Context(), tx, aggregate); err != nil {
			return err
		}
		err := pgx.BeginFunc(r.Context(), r.db, func(later pgx.Tx) error {
			return record(r.Context(), later, "after "+aggregate, aggregate)
		})
		if err != nil {
			return err
		}
		r.relay.Wake(event.Event{})
		_, err = news.NextMsg(20 * time.Second)
		return err
	})
	if err != nil {
		r.Errorf("%s: %v", aggregate, err)
	}
	r.relay.Wake(event.Event{})
}

// record writes an event as Journal does, in a transaction that the test holds.
func record(ctx context.Context, tx pgx.Tx, aggregate string, organization ...string) error {
	_, err := tx.Exec(ctx, `with event as (
		insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
		values (gen_random_uuid()::text, 'org', $1, $1, 'created', $2, '', '{}', now()) returning position
	) insert into outbox select position from event`, aggregate, strings.Join(organization, ""))
	return err
}

// A commit anywhere is published at once, also when another replica relays.
func TestRelayWakesAtOnce(t *testing.T) {
	g, url := testkit.Ground(t), kit.Database(t)
	holder, other := newReplica(t, g, url), newReplica(t, g, url)
	testkit.Go(t, holder.relay.Run)
	subscriber, _ := connect(t, g, bus.Subscriber)
	news, err := subscriber.SubscribeSync("events.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := subscriber.Flush(); err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	for i := range 200 {
		if i == 1 { // the first is out: the holder holds
			testkit.Go(t, other.relay.Run)
		}
		other.mustCreate(fmt.Sprint(i))
		committed := time.Now()
		if _, err := news.NextMsg(20 * time.Second); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(committed))
	}
	took = took[1:]
	slices.Sort(took)
	t.Logf("commit to publication by another replica: p50 %v, p99 %v", took[len(took)/2], took[len(took)*99/100])
	if p90 := took[len(took)*9/10]; p90 > 2*time.Second { // without a message the relay looks every five
		t.Errorf("p90 is %v", p90)
	}
}

// The process whose relay works needs no message for an event that ends no cached callers; all
// others come as messages, because caches listen.
func TestRelayWakesItself(t *testing.T) {
	t.Parallel()
	g, url := testkit.Ground(t), kit.Database(t)
	r := newReplica(t, g, url)
	gateway, _ := connect(t, g, bus.Gateway)
	subscriber, _ := connect(t, g, bus.Subscriber)
	wakeUps, err := gateway.SubscribeSync("outbox.users")
	if err != nil {
		t.Fatal(err)
	}
	news, err := subscriber.SubscribeSync("events.>")
	if err != nil {
		t.Fatal(err)
	}
	for _, conn := range []*nats.Conn{gateway, subscriber} {
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Go(t, r.relay.Run)
	r.mustCreate("first")
	if _, err := news.NextMsg(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	before, _, err := wakeUps.Pending() // the first event may be older than the relay's work
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		r.mustCreate(fmt.Sprint(i))
		if _, err := news.NextMsg(4 * time.Second); err != nil { // without a wake-up it comes after five
			t.Fatal(err)
		}
	}
	r.relay.Wake(event.Event{ID: "last"}) // it may end callers
	var last *nats.Msg
	for range before + 1 {
		if last, err = wakeUps.NextMsg(20 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if id := last.Header.Get(contract.HeaderID); id != "last" {
		t.Errorf("the event %s ends no callers and came as a message", id)
	}
}

// lockHolders are the backends whose relay works.
func (r *replica) lockHolders() (pids []int32) {
	r.Helper()
	rows, err := r.db.Query(r.Context(), `select l.pid from pg_locks l join pg_database d on d.oid = l.database
		where l.locktype = 'advisory' and l.granted and d.datname = current_database()`)
	if err != nil {
		r.Fatal(err)
	}
	if pids, err = pgx.CollectRows(rows, pgx.RowTo[int32]); err != nil {
		r.Fatal(err)
	}
	return pids
}

func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	g, url := testkit.Ground(t), kit.Database(t)
	r := newReplica(t, g, url)
	for range 2 {
		testkit.Go(t, newReplica(t, g, url).relay.Run)
	}
	const asked = `pg_stat_activity where datname = current_database() and query like 'select pg_try_advisory_lock%' ` +
		`and state = 'idle'`
	r.mustCreate("before")
	r.stream(1)
	r.until("one stands by", func() bool { return r.count(asked) == 1 })
	// A snapshot held for hours would keep vacuum from the outbox.
	if r.count(asked+" and backend_xmin is null and backend_xid is null") != 1 {
		t.Error("standing by holds a snapshot")
	}
	holders := r.lockHolders()
	if len(holders) != 1 || r.count("pg_terminate_backend($1) as done where done", holders[0]) != 1 {
		t.Fatalf("holders %v", holders)
	}
	r.mustCreate("after")
	r.stream(2)
	if now := r.lockHolders(); len(now) != 1 || now[0] == holders[0] {
		t.Errorf("holders %v, before %v", now, holders)
	}
}

// What a crash between publishing and clearing the outbox left is published again,
// and dropped by JetStream.
func TestCrashAfterPublishing(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testkit.Ground(t), kit.Database(t))
	r.mustCreate("a", "b")
	var id string
	if err := r.db.QueryRow(t.Context(), `select id from events where aggregate_id = 'a'`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	half := &nats.Msg{
		Subject: "events.users.org.created.org-1", Header: nats.Header{nats.MsgIdHdr: {id}, "ce-subject": {"a"}},
	}
	if _, err := r.js.PublishMsg(t.Context(), half); err != nil {
		t.Fatal(err)
	}
	testkit.Go(t, r.relay.Run)
	r.until("the outbox is empty", func() bool { return r.count("outbox") == 0 })
	if got := r.stream(2); got[1].Headers().Get("ce-subject") != "b" {
		t.Errorf("second in the stream is %v", got[1].Headers())
	}
}

// world is a ground whose NATS can be stopped and started.
type world struct {
	boot.Ground
	server bus.Embedded
	stop   func()
}

func newWorld(t *testing.T) *world {
	w := &world{Ground: testkit.Ground(t)}
	w.server = bus.Embedded{Dir: t.TempDir(), Listen: "127.0.0.1:0", Keys: w.Keys}
	w.start(t)
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *world) start(t *testing.T) {
	t.Helper()
	s, err := w.server.Start()
	if err != nil {
		t.Fatal(err)
	}
	w.server.Listen = s.Addr().String()
	w.Bus = bus.Address{URL: "nats://" + w.server.Listen}
	w.stop = func() { bus.Stop(s) }
}

func TestRelayOutlivesNATS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReplica(t, w.Ground, kit.Database(t))
	testkit.Go(t, r.relay.Run)
	r.mustCreate("before")
	r.stream(1)
	w.stop()
	r.mustCreate("during")
	r.until("the client has noticed", func() bool { return !r.conn.IsConnected() })
	r.mustCreate("during too")
	w.start(t)
	r.mustCreate("after")
	r.stream(4)
}

// lines passes on what is written.
type lines chan<- string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}
