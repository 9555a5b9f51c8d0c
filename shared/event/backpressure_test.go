package event_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// small is a ground whose stream is full after some 2,700 events.
func small(t testing.TB) boot.Ground {
	t.Helper()
	g := testkit.Ground(t)
	g.Streams.MaxBytes = 1 << 20
	return g
}

func (r *replica) state() jetstream.StreamState {
	r.Helper()
	s, err := r.js.Stream(r.Context(), event.Stream)
	if err != nil {
		r.Fatal(err)
	}
	return s.CachedInfo().State
}

func (r *replica) untilPublished() {
	r.Helper()
	r.until("the outbox is empty", func() bool { return r.count("outbox") == 0 })
}

// If no service lags, a full stream drops its oldest messages and accepts new ones. A consumer that is
// not a service's does not hold events back.
func TestFullStreamDropsTheOldest(t *testing.T) {
	t.Parallel()
	const n = 3200
	r := newReplica(t, small(t), kit.Database(t))
	_, js := connect(t, r.ground, "auth") // not among the relay's services
	idle := jetstream.ConsumerConfig{Durable: "auth", AckPolicy: jetstream.AckExplicitPolicy}
	if _, err := js.CreateOrUpdateConsumer(t.Context(), event.Stream, idle); err != nil {
		t.Fatal(err)
	}
	r.fill(n, 100)
	testkit.Go(t, r.relay.Run)
	r.untilPublished()
	s := r.state()
	if s.LastSeq != n || s.FirstSeq == 1 || s.Bytes > 1<<20 || s.Bytes < 1<<19 {
		t.Errorf("the stream holds %d to %d, %d bytes", s.FirstSeq, s.LastSeq, s.Bytes)
	}
	if err := r.relay.Delayed(); err != nil {
		t.Error(err)
	}
}

// Events that a service has not handled are not dropped. New ones wait in the outbox, and the relay
// says why.
func TestRelayHoldsBackForAService(t *testing.T) {
	t.Parallel()
	const n = 3200
	r := newReplica(t, small(t), kit.Database(t))
	said := make(chan string, 100)
	r.relay.Log = slog.New(slog.NewTextHandler(lines(said), nil))
	r.relay.Hurry()
	all, resume := newTally(), make(chan struct{})
	testkit.Go(t, consumer(t, r.ground, onCreated(func(ctx context.Context, d event.Delivery) error {
		<-resume
		return all.note(ctx, d)
	})).Run)
	r.until("text consumes", func() bool { return r.consumes("text") })
	r.fill(n, 100)
	testkit.Go(t, r.relay.Run)
	if line := <-said; !strings.Contains(line, "lagging=text") {
		t.Error(line)
	}
	if err := r.relay.Delayed(); err == nil || !strings.Contains(err.Error(), "text has not handled") {
		t.Errorf("delayed: %v", err)
	}
	s := r.state()
	if s.FirstSeq != 1 || s.LastSeq < 1000 || s.LastSeq == n {
		t.Errorf("the stream holds %d to %d, want from 1 on, and not all", s.FirstSeq, s.LastSeq)
	}
	// New events are accepted while the relay waits.
	r.mustCreate("another")
	close(resume)
	seen := map[string]bool{}
	for _, d := range all.wait(t, n+1) {
		seen[d.ID] = true
	}
	if len(seen) != n+1 {
		t.Errorf("%d different events were handled, want %d", len(seen), n+1)
	}
	r.untilPublished()
	for line := range said { // there may be more waits before text is fast enough
		if strings.Contains(line, "published again") {
			break
		}
	}
	r.until("nothing is said to wait", func() bool { return r.relay.Delayed() == nil })
}

// consumes reports whether a service has its consumer.
func (r *replica) consumes(service string) bool {
	_, js := connect(r, r.ground, service)
	_, err := js.Consumer(r.Context(), event.Stream, service)
	return err == nil
}

// A service has not handled one event. Other events may be dropped, but not this one.
func TestRelayHoldsBackForWhatAServiceWants(t *testing.T) {
	t.Parallel()
	r := newReplica(t, small(t), kit.Database(t))
	r.relay.Hurry()
	all, came, resume := newTally(), make(chan struct{}, 1), make(chan struct{})
	testkit.Go(t, consumer(t, r.ground, onRenamed(func(ctx context.Context, d event.Delivery) error {
		came <- struct{}{}
		<-resume
		return all.note(ctx, d)
	})).Run)
	r.until("text consumes", func() bool { return r.consumes("text") })
	testkit.Go(t, r.relay.Run)
	r.fill(2200, 100)
	r.mustCreate("a")
	if _, err := r.rename("a", "A"); err != nil {
		t.Fatal(err)
	}
	<-came
	wanted := r.state().LastSeq
	r.fill(1000, 100)
	r.untilPublished()
	if s := r.state(); s.FirstSeq == 1 || s.FirstSeq > wanted {
		t.Errorf("the stream holds %d to %d, want not the first, but %d", s.FirstSeq, s.LastSeq, wanted)
	}
	r.fill(2000, 100)
	r.until("the relay holds back", func() bool { return r.relay.Delayed() != nil })
	if s := r.state(); s.FirstSeq > wanted {
		t.Errorf("the stream begins with %d, text waits for %d", s.FirstSeq, wanted)
	}
	close(resume)
	if seen := all.wait(t, 1); seen[0].AggregateID != "a" {
		t.Errorf("handled %+v", seen)
	}
	r.untilPublished()
}

// Relays of two services fill the stream while a service that consumes all events does not run.
func TestServiceThatWasAwayLosesNothing(t *testing.T) {
	t.Parallel()
	const n = 3200
	g := small(t)
	r, other := newReplica(t, g, kit.Database(t)), newReplica(t, g, kit.Database(t))
	other.relay.Hurry()
	all := newTally()
	stop := testkit.Go(t, consumer(t, g, onCreated(all.note)).Run)
	r.until("text consumes", func() bool { return r.consumes("text") })
	testkit.Go(t, r.relay.Run)
	testkit.Go(t, other.relay.Run)
	r.mustCreate("before")
	all.wait(t, 1)
	stop()
	r.fill(n, 100)
	other.fill(n, 100)
	r.until("a relay holds back", func() bool { return other.relay.Delayed() != nil })
	testkit.Go(t, consumer(t, g, onCreated(all.note)).Run)
	seen := map[string]bool{}
	for _, d := range all.wait(t, 2*n) {
		seen[d.ID] = true
	}
	if len(seen) != 2*n+1 {
		t.Errorf("%d different events were handled, want %d", len(seen), 2*n+1)
	}
	if s := r.state(); s.LastSeq != 2*n+1 || s.FirstSeq == 1 {
		t.Errorf("the stream holds %d to %d", s.FirstSeq, s.LastSeq)
	}
}

// The configuration of streams from an older version is updated, and their events stay.
func TestStreamsAreUpgraded(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	_, js := connect(t, g, "users")
	old := jetstream.StreamConfig{
		Name: event.Stream, Subjects: []string{"events.>"}, MaxAge: 7 * 24 * time.Hour, MaxBytes: 2 << 20,
		Duplicates: 2 * time.Minute, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, Replicas: 1,
		AllowDirect: true,
	}
	if _, err := js.CreateStream(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "events.users.org.created.o", nil); err != nil {
		t.Fatal(err)
	}
	r := newReplica(t, g, kit.Database(t))
	s, err := js.Stream(t.Context(), event.Stream)
	if err != nil {
		t.Fatal(err)
	}
	c := s.CachedInfo().Config
	if c.Discard != jetstream.DiscardOld || !c.AllowAtomicPublish || c.MaxBytes != g.Streams.MaxBytes {
		t.Errorf("the stream is %+v", c)
	}
	r.fill(100, 10)
	testkit.Go(t, r.relay.Run)
	r.untilPublished()
	if n := r.state().Msgs; n != 101 {
		t.Errorf("the stream has %d events, want 101", n)
	}
}

// A stream shrinks only when all events that a service has not handled fit into it.
func TestStreamShrinksWithoutLoss(t *testing.T) {
	t.Parallel()
	const n = 3200 // more than 1 MiB
	g := testkit.Ground(t)
	g.Streams.MaxBytes = 4 << 20
	r := newReplica(t, g, kit.Database(t))
	all := newTally()
	stop := testkit.Go(t, consumer(t, g, onCreated(all.note)).Run)
	r.until("text consumes", func() bool { return r.consumes("text") })
	stop()
	testkit.Go(t, r.relay.Run)
	r.fill(n, 100)
	r.untilPublished()
	if lagging := r.resize(1 << 20); lagging != "text" {
		t.Errorf("%q lags, want text", lagging)
	}
	r.fill(100, 100) // the relay has the room of the larger stream
	r.untilPublished()
	if s := r.state(); s.FirstSeq != 1 || s.LastSeq != n+100 {
		t.Errorf("the stream holds %d to %d, want all %d", s.FirstSeq, s.LastSeq, n+100)
	}
	testkit.Go(t, consumer(t, g, onCreated(all.note)).Run)
	all.wait(t, n+100)
	r.until("the stream is smaller", func() bool { return r.resize(1<<20) == "" })
	if s := r.state(); s.LastSeq != n+100 || s.FirstSeq == 1 || s.Bytes > 1<<20 {
		t.Errorf("the stream holds %d to %d, %d bytes", s.FirstSeq, s.LastSeq, s.Bytes)
	}
}

// resize changes the size of EVENTS. It returns the service that has too many unhandled events for this size.
func (r *replica) resize(size int64) (lagging string) {
	r.Helper()
	c := event.StreamConfig{MaxBytes: size, Replicas: 1}
	lagging, err := event.EnsureStreams(r.Context(), r.js, c, r.relay.Services)
	if err != nil {
		r.Fatal(err)
	}
	return lagging
}

// A stream must have room for several of the largest events.
func TestStreamTooSmallForEventsIsRefused(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	_, js := connect(t, g, "users")
	_, err := event.EnsureStreams(t.Context(), js, event.StreamConfig{MaxBytes: 1<<20 - 1, Replicas: 1}, nil)
	if err == nil || !strings.Contains(err.Error(), "HERALD_EVENTS_MAX_BYTES") {
		t.Errorf("%v", err)
	}
}

// The relay's estimate of an event's size in the stream is a little more than the real size.
func TestSizeOfEvents(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testkit.Ground(t), kit.Database(t))
	empty := event.Event{ID: "1", Aggregate: "org", AggregateID: "a", Name: "created", Data: []byte("{}")}
	id := strings.Repeat("x", 200)
	full := event.Event{
		ID: id, Aggregate: "org", AggregateID: id, Name: "created", OrganizationID: id, Actor: id,
		Data: []byte(`{"userId":"` + strings.Repeat("x", 8<<10-13) + `"}`),
	}
	const each = 40 // one batch
	for _, e := range []event.Event{empty, full} {
		before := r.state().Bytes
		_, err := r.db.Exec(t.Context(), `with event as (
			insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
			select $1 || n, $2, $3, $3, $4, $5, $6, $7, now() from generate_series(1, $8) n returning position
		) insert into outbox select position from event`,
			e.ID, e.Aggregate, e.AggregateID, e.Name, e.OrganizationID, e.Actor, e.Data, each)
		if err != nil {
			t.Fatal(err)
		}
		stop := testkit.Go(t, r.relay.Run)
		r.untilPublished()
		stop()
		kept := int64(r.state().Bytes-before) / each
		least, most := e.Bounds()
		if kept < least || kept > most || most > event.LargestKept || most-kept > 500 {
			t.Errorf("%d bytes are kept of an event, want %d to %d", kept, least, most)
		}
	}
}

// DEAD accepts nothing when it is full. The event then stays with its consumer until DEAD has free space.
func TestFullDeadLeavesEventsWithTheirConsumer(t *testing.T) {
	t.Parallel()
	g := small(t)
	r := newSource(t, g)
	_, text := connect(t, g, "text")
	var full error
	for i := 0; full == nil; i++ {
		if i > 1<<10 {
			t.Fatal("DEAD takes more than it should hold")
		}
		_, full = text.PublishMsg(t.Context(), &nats.Msg{Subject: "dead.text.events.a", Data: make([]byte, 1<<10)})
	}
	said := make(chan string, 1000)
	c := consumer(t, g, event.On(func(context.Context, event.Delivery, *usersv1.OrgCreated) error {
		panic("always")
	}))
	c.Log = slog.New(slog.NewTextHandler(lines(said), nil))
	testkit.Go(t, c.Run)
	r.mustCreate("bad")
	for line := range said {
		if strings.Contains(line, "cannot be put aside") {
			break
		}
	}
	_, operator := connect(t, g, bus.Operator)
	dead, err := operator.Stream(t.Context(), event.Dead)
	if err != nil {
		t.Fatal(err)
	}
	for n := range dead.CachedInfo().State.LastSeq {
		if err := dead.DeleteMsg(t.Context(), n+1); err != nil {
			t.Fatal(err)
		}
	}
	if l := r.letters(operator, 1)[0]; l.Subject != "events.users.org.created.org-1" {
		t.Errorf("put aside %+v", l)
	}
}
