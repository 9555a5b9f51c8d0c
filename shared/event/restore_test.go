package event_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/bus"
	"herald/shared/event"
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
	s, err := server.NewServer(&server.Options{
		JetStream: true, StoreDir: t.TempDir(), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { bus.Stop(s) })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS is not ready")
	}
	w.Bus = bus.Address{URL: s.ClientURL()}
	return w
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
