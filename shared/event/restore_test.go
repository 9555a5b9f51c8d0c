package event_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// lose is a way in which a stream loses events.
type lose struct {
	name string
	// running is true if the server runs while this happens.
	running bool
	do      func(r *replica, w *world)
}

var losses = []lose{
	{"the stream is removed", true, func(r *replica, w *world) {
		if err := w.operator(r).DeleteStream(r.Context(), event.Stream); err != nil {
			r.Error(err)
		}
	}},
	{"the stream is emptied", true, func(r *replica, w *world) {
		s, err := w.operator(r).Stream(r.Context(), event.Stream)
		if err == nil {
			err = s.Purge(r.Context())
		}
		if err != nil {
			r.Error(err)
		}
	}},
	{"another relay has made the stream again", true, func(r *replica, w *world) {
		js := w.operator(r)
		if err := js.DeleteStream(r.Context(), event.Stream); err != nil {
			r.Error(err)
		}
		if _, err := event.EnsureStreams(r.Context(), js, r.ground.Streams, nil); err != nil {
			r.Error(err)
		}
		r.mustCreate("at once")
	}},
	{"the files are gone", false, func(r *replica, w *world) {
		if err := os.RemoveAll(w.server.Dir); err != nil {
			r.Error(err)
		}
	}},
	{"the newest events are cut off", false, func(r *replica, w *world) {
		r.damage(w.server.Dir, func(b []byte) []byte { return b[:len(b)/2] })
	}},
	{"a byte in the middle is another", false, func(r *replica, w *world) {
		r.damage(w.server.Dir, func(b []byte) []byte { b[len(b)/2] ^= 0xff; return b })
	}},
	{"the oldest events are gone", false, func(r *replica, w *world) {
		r.damage(w.server.Dir, func(b []byte) []byte { b[40] ^= 0xff; return b })
	}},
}

// damage changes the files with the stream's messages.
func (r *replica) damage(dir string, change func([]byte) []byte) {
	r.Helper()
	files, err := filepath.Glob(dir + "/jetstream/*/streams/" + event.Stream + "/msgs/*.blk")
	if err != nil || len(files) == 0 {
		r.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, change(b), 0o600)
		}
		if err != nil {
			r.Fatal(err)
		}
	}
	// NATS trusts what it has written at its stop. After a crash it reads the messages.
	if err := os.Remove(filepath.Dir(files[0]) + "/index.db"); err != nil {
		r.Fatal(err)
	}
}

// openWorld is a world whose NATS lets everybody do everything.
func openWorld(t *testing.T) *world {
	w := &world{Ground: testkit.Ground(t)}
	w.server.Dir, w.server.Listen = t.TempDir(), "127.0.0.1:0"
	w.startPlain(t)
	t.Cleanup(func() { w.stop() })
	return w
}

// startPlain starts a server as operators run it, without what Herald does before the start of its own.
func (w *world) startPlain(t *testing.T) {
	t.Helper()
	at := netip.MustParseAddrPort(w.server.Listen)
	s, err := server.NewServer(&server.Options{
		JetStream: true, StoreDir: w.server.Dir, Host: at.Addr().String(),
		Port: cmp.Or(int(at.Port()), server.RANDOM_PORT), NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	w.stop = func() { bus.Stop(s) }
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS is not ready")
	}
	w.server.Listen = s.Addr().String()
	w.Bus = bus.Address{URL: s.ClientURL()}
}

// operator is somebody who may remove streams.
func (w *world) operator(t testing.TB) jetstream.JetStream {
	t.Helper()
	_, js := connect(t, w.Ground, "admin")
	return js
}

// ids returns the ids of the aggregates whose events are in the stream.
func (r *replica) ids() (ids []string) {
	r.Helper()
	s, err := r.js.Stream(r.Context(), event.Stream)
	if err != nil {
		return nil // it is not there
	}
	state := s.CachedInfo().State
	for n := state.FirstSeq; n <= state.LastSeq && n > 0; n++ {
		if m, err := s.GetMsg(r.Context(), n); err == nil {
			ids = append(ids, m.Header.Get("ce-subject"))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Events that the stream loses while NATS runs or stands still are published again, and their handlers get all of them.
func TestLostEventsComeBack(t *testing.T) {
	t.Parallel()
	for _, loss := range losses {
		t.Run(loss.name, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t)
			if !loss.running {
				w = newWorld(t)
			}
			r := newReplica(t, w.Ground, kit.Database(t))
			testkit.Go(t, r.relay.Run)
			for n := range 100 {
				r.mustCreate(fmt.Sprint("a", n))
			}
			r.until("all are published", func() bool { return r.count("outbox") == 0 })
			if loss.running {
				loss.do(r, w)
			} else {
				w.stop()
				loss.do(r, w)
				w.start(t)
			}
			r.mustCreate("later")
			want := r.count("events")
			r.until("all are there", func() bool { return len(r.ids()) == want })
		})
	}
}

// A stream that has lost nothing gets no event twice, even if another relay works or NATS is started again.
func TestNothingIsRestoredWithoutALoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := kit.Database(t)
	r := newReplica(t, w.Ground, url)
	for n := range 3 {
		r = newReplica(t, w.Ground, secret.NewText(r.db.Config().ConnString()))
		stop := testkit.Go(t, r.relay.Run)
		for i := range 10 {
			r.mustCreate(fmt.Sprint(n, i))
		}
		w.stop()
		w.start(t)
		r.mustCreate(fmt.Sprint(n, "after"))
		r.until("all are published", func() bool { return r.count("outbox") == 0 })
		stop()
	}
	r.stream(33)
	if n := r.count("stream_seen"); n != 1 {
		t.Errorf("%d rows say what was seen of the stream", n)
	}
}

// Events that an operator publishes again stand in the stream behind newer ones. That is no loss: neither the next
// relay nor one after a restart of NATS publishes anything again, and the log has no warning.
func TestReplayIsNoLoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReplica(t, w.Ground, kit.Database(t))
	stop := testkit.Go(t, r.relay.Run)
	for n := range 20 {
		r.mustCreate(fmt.Sprint(n))
	}
	r.untilPublished()
	// JetStream drops repeats of the last two minutes, so the events get other ids, as after a longer time.
	if _, err := r.db.Exec(t.Context(), `update events set id = id || '-later' where position <= 10`); err != nil {
		t.Fatal(err)
	}
	_, err := r.db.Exec(t.Context(), `insert into outbox select position from events where position <= 10`)
	if err != nil {
		t.Fatal(err)
	}
	r.relay.Wake(event.Event{})
	r.untilPublished()
	stop()
	var said bytes.Buffer
	w.Log = slog.New(slog.NewTextHandler(&said, nil))
	w.stop()
	w.start(t)
	next := newReplica(t, w.Ground, secret.NewText(r.db.Config().ConnString()))
	stop = testkit.Go(t, next.relay.Run)
	next.mustCreate("after")
	next.until("all are there", func() bool { return next.state().Msgs == 31 && next.count("outbox") == 0 })
	stop()
	if strings.Contains(said.String(), "lost") {
		t.Errorf("the log says %s", said.String())
	}
}

// Events that are published again are old, but they have waited only since the replay.
func TestReplayedEventsWaitSinceTheReplay(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testkit.Ground(t), kit.Database(t))
	r.fill(10, 10)
	for _, made := range []string{`delete from outbox`, `update events set time = time - interval '1 day'`} {
		if _, err := r.db.Exec(t.Context(), made); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := event.Replay(t.Context(), r.db, 0); n != 10 || err != nil {
		t.Fatalf("%d are in the outbox again, %v", n, err)
	}
	waiting := func() error {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		return postgres.Ask(ctx, r.db, event.Waiting)
	}
	if err := waiting(); err != nil {
		t.Error(err)
	}
	if n, oldest, err := event.Backlog(t.Context(), r.db); n != 10 || oldest > time.Minute || err != nil {
		t.Errorf("%d wait since %v, %v", n, oldest, err)
	}
	if _, err := r.db.Exec(t.Context(), `update outbox set since = since - interval '1 minute'`); err != nil {
		t.Fatal(err)
	}
	if err := waiting(); err == nil {
		t.Error("no error says that they wait for a minute")
	}
}

// set changes the stream's settings.
func (w *world) set(r *replica, change func(*jetstream.StreamConfig)) {
	r.Helper()
	js := w.operator(r)
	s, err := js.Stream(r.Context(), event.Stream)
	if err != nil {
		r.Fatal(err)
	}
	config := s.CachedInfo().Config
	change(&config)
	if _, err := js.UpdateStream(r.Context(), config); err != nil {
		r.Fatal(err)
	}
}

// purge removes all events from the stream.
func (w *world) purge(r *replica) {
	r.Helper()
	s, err := w.operator(r).Stream(r.Context(), event.Stream)
	if err == nil {
		err = s.Purge(r.Context())
	}
	if err != nil {
		r.Fatal(err)
	}
}

func (r *replica) delayed(part string) func() bool {
	return func() bool {
		err := r.relay.Delayed()
		return err != nil && strings.Contains(err.Error(), part)
	}
}

// published makes n events and publishes them with a relay that ends then.
func (r *replica) published(n int) {
	r.Helper()
	stop := testkit.Go(r, r.relay.Run)
	defer stop()
	for i := range n {
		r.mustCreate(fmt.Sprint("a", i))
	}
	r.untilPublished()
}

// Readiness says that the stream is compared, that events are lost, and nothing when they are back.
func TestReadinessSaysThatTheStreamIsRebuilt(t *testing.T) {
	t.Parallel()
	w := openWorld(t)
	r := newReplica(t, w.Ground, kit.Database(t))
	r.published(40)
	w.purge(r)
	w.set(r, func(c *jetstream.StreamConfig) { c.AllowDirect = false }) // so nothing can be compared
	testkit.Go(t, r.relay.Run)
	r.until("readiness says that it is compared", r.delayed("is compared with the database since"))
	w.set(r, func(c *jetstream.StreamConfig) { c.AllowDirect, c.Subjects = true, []string{"other.>"} })
	r.until("readiness says what is lost", r.delayed("has lost 40 events"))
	w.set(r, func(c *jetstream.StreamConfig) { c.Subjects = []string{"events.>"} })
	r.until("readiness is green", func() bool { return r.relay.Delayed() == nil })
	r.stream(40)
}

// The stream can be lost again while its events are published. Readiness stays red until all are back, and the log says
// once how many that were.
func TestRebuildingIsOverWhenAllEventsAreBack(t *testing.T) {
	t.Parallel()
	w := openWorld(t)
	var said testkit.Lines
	w.Log = slog.New(slog.NewTextHandler(&said, nil))
	r := newReplica(t, w.Ground, kit.Database(t))
	r.published(40)
	w.purge(r)
	w.set(r, func(c *jetstream.StreamConfig) { c.Subjects = []string{"other.>"} }) // so nothing can be published
	testkit.Go(t, r.relay.Run)
	r.until("readiness says what is lost", r.delayed("has lost 40 events"))
	js := w.operator(r)
	first, err := js.Stream(t.Context(), event.Stream)
	if err == nil {
		err = js.DeleteStream(t.Context(), event.Stream)
	}
	if err != nil {
		t.Fatal(err)
	}
	second, err := js.CreateStream(t.Context(), first.CachedInfo().Config)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, r.db, "stream_seen", "exists (select from stream_seen where created = $1)",
		second.CachedInfo().Created.Truncate(time.Microsecond))
	if !r.delayed("has lost 40 events")() {
		t.Errorf("after the second loss readiness says %v", r.relay.Delayed())
	}
	w.set(r, func(c *jetstream.StreamConfig) { c.Subjects = []string{"events.>"} })
	r.until("readiness is green", func() bool { return r.relay.Delayed() == nil })
	r.stream(40)
	if n := strings.Count(said.String(), "has all of this service again"); n != 1 {
		t.Errorf("the log says %d times that all are back: %s", n, said.String())
	}
}

// A service whose consumer was lost with the files of NATS makes it again as soon as NATS is back. It does not wait
// until it misses heartbeats.
func TestConsumerIsMadeAgainAfterALoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReplica(t, w.Ground, kit.Database(t))
	testkit.Go(t, r.relay.Run)
	all := newTally()
	var said testkit.Lines
	c := consumer(t, w.Ground, onCreated(all.note))
	c.Log = slog.New(slog.NewTextHandler(&said, nil))
	c.Beat(14 * time.Second)
	testkit.Go(t, c.Run)
	r.mustCreate("before")
	all.wait(t, 1)
	w.stop()
	if err := os.RemoveAll(w.server.Dir); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	r.mustCreate("after")
	all.wait(t, 2)
	if strings.Contains(said.String(), "no heartbeat") {
		t.Errorf("it has waited for heartbeats: %s", said.String())
	}
}

// A relay whose comparison broke off reports nothing after another one has done it, whether that one still works or
// has ended.
func TestReadinessForgetsAComparisonThatAnotherRelayFinished(t *testing.T) {
	t.Parallel()
	for name, worksOn := range map[string]bool{"the other works": true, "the other has ended": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, url := openWorld(t), kit.Database(t)
			r, other := newReplica(t, w.Ground, url), newReplica(t, w.Ground, url)
			r.published(10)
			w.purge(r)
			w.set(r, func(c *jetstream.StreamConfig) { c.AllowDirect = false })
			stop := testkit.Go(t, r.relay.Run)
			r.until("it compares", r.delayed("is compared"))
			stop()
			w.set(r, func(c *jetstream.StreamConfig) { c.AllowDirect = true })
			stop = testkit.Go(t, other.relay.Run)
			other.until("all are back", func() bool { return r.state().Msgs == 10 && r.count("outbox") == 0 })
			if !worksOn {
				stop()
			}
			testkit.Go(t, r.relay.Run)
			r.until("readiness is green", func() bool { return r.relay.Delayed() == nil })
		})
	}
}

// JetStream knows the ids of events that it has lost. However often they are published again, the stream has each once.
func TestLostEventsComeBackOnce(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"some": 20, "as many as a batch": 200} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t)
			r := newReplica(t, w.Ground, kit.Database(t))
			r.published(n)
			w.purge(r)
			testkit.Go(t, r.relay.Run)
			r.until("all are back", func() bool { return r.state().Msgs == uint64(n) && r.count("outbox") == 0 })
			for range 2 { // as after a crash before the outbox was cleared
				_, err := r.db.Exec(t.Context(), `insert into outbox select position from events`)
				if err != nil {
					t.Fatal(err)
				}
				r.relay.Wake(event.Event{})
				r.untilPublished()
			}
			if got := r.state().Msgs; got != uint64(n) {
				t.Errorf("the stream has %d messages of %d events", got, n)
			}
		})
	}
}

// What is lost is published before anything new, in its order.
func TestLostEventsComeBackFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReplica(t, w.Ground, kit.Database(t))
	r.published(40)
	w.stop()
	if err := os.RemoveAll(w.server.Dir); err != nil {
		t.Fatal(err)
	}
	r.mustCreate("new 1", "new 2")
	w.start(t)
	testkit.Go(t, r.relay.Run)
	r.untilPublished()
	last := int64(0)
	for i, m := range r.stream(42) {
		if position := sequence(t, m); position < last {
			t.Errorf("message %d is event %d, after event %d", i, position, last)
		} else {
			last = position
		}
	}
}

// Events that a full stream has dropped and events that have expired are no loss.
func TestDroppedEventsAreNoLoss(t *testing.T) {
	t.Parallel()
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.Streams.MaxBytes = 1 << 20
		r := newReplica(t, w.Ground, kit.Database(t))
		stop := testkit.Go(t, r.relay.Run)
		r.fill(3200, 100)
		r.relay.Wake(event.Event{})
		r.untilPublished()
		stop()
		if r.state().FirstSeq == 1 {
			t.Fatal("nothing was dropped")
		}
		// The clock of the service is ahead of that of NATS.
		if _, err := r.db.Exec(t.Context(), `update events set time = time + interval '5 seconds'`); err != nil {
			t.Fatal(err)
		}
		w.stop()
		w.start(t)
		w.noLoss(t, r)
	})
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		w := openWorld(t)
		r := newReplica(t, w.Ground, kit.Database(t))
		r.published(20)
		if _, err := r.db.Exec(t.Context(), `update events set time = time - interval '8 days'`); err != nil {
			t.Fatal(err)
		}
		var before jetstream.StreamConfig
		w.set(r, func(c *jetstream.StreamConfig) {
			before = *c
			c.MaxAge, c.Duplicates = time.Second, time.Second
		})
		r.until("all have expired", func() bool { return r.state().Msgs == 0 })
		w.set(r, func(c *jetstream.StreamConfig) { *c = before })
		w.noLoss(t, r)
	})
}

// noLoss starts another relay and waits until it has published an event. It fails if its log speaks of a loss.
func (w *world) noLoss(t *testing.T, r *replica) {
	t.Helper()
	var said testkit.Lines
	w.Log = slog.New(slog.NewTextHandler(&said, nil))
	next := newReplica(t, w.Ground, secret.NewText(r.db.Config().ConnString()))
	before := next.state().LastSeq
	testkit.Go(t, next.relay.Run)
	next.mustCreate("after")
	next.until("it is published", func() bool { return next.state().LastSeq > before && next.count("outbox") == 0 })
	if got := next.state().LastSeq; got != before+1 || strings.Contains(said.String(), "lost") {
		t.Errorf("%d messages were published; the log says %s", got-before, said.String())
	}
}

// Without the stream of dead letters no event can be put aside, so it is made again while services run. A service that
// starts says that it was lost; the first one of all does not.
func TestStreamOfDeadLettersIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := openWorld(t)
	r := newReplica(t, w.Ground, kit.Database(t))
	lost := func(want bool) {
		t.Helper()
		if got := event.LostDead(t.Context(), r.js); got != want {
			t.Errorf("lost: %v", got)
		}
	}
	lost(false)
	js := w.operator(r)
	if err := js.DeleteStream(t.Context(), event.Dead); err != nil {
		t.Fatal(err)
	}
	lost(true)
	testkit.Go(t, r.relay.Run)
	r.until("it is there again", func() bool {
		_, err := r.js.Stream(t.Context(), event.Dead)
		return err == nil
	})
	lost(false)
	for _, stream := range []string{event.Dead, event.Stream} {
		if err := js.DeleteStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
	}
	lost(false) // nothing was there
}
