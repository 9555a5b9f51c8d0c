package event_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/shared/event"
	"herald/shared/testkit"
)

var all = flag.Bool("damages", false, "do all damages of TestDamagedStream, and not each fifth")

// damage is a way in which files of the stream are damaged while NATS is down.
type damage struct {
	name string
	do   func(file string) error
}

// rewritten returns what changes the content of a file.
func rewritten(change func([]byte) []byte) func(string) error {
	return func(file string) error {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(file, change(b), 0o600)
	}
}

// flipped returns what flips up to 64 bytes of a file, n/8 from its beginning.
func flipped(n int) func(string) error {
	return rewritten(func(b []byte) []byte {
		from := min(n*len(b)/8, max(0, len(b)-64))
		for i := range b[from:min(from+64, len(b))] {
			b[from+i] ^= 0xff
		}
		return b
	})
}

var damages = []damage{
	{"removed", os.Remove},
	{"emptied", rewritten(func([]byte) []byte { return nil })},
	{"shortened by half", rewritten(func(b []byte) []byte { return b[:len(b)/2] })},
	{"shortened by some bytes", rewritten(func(b []byte) []byte { return b[:max(0, len(b)-7)] })},
	{"flipped at its beginning", flipped(0)},
	{"flipped in the middle", flipped(4)},
	{"flipped at its end", flipped(8)},
}

// places are the files that are damaged. They get the blocks of messages and the directory of the stream.
var places = []struct {
	name  string
	files func(blocks []string, dir string) []string
}{
	{"first block", func(b []string, _ string) []string { return b[:1] }},
	{"middle block", func(b []string, _ string) []string { return b[1:2] }},
	{"last block", func(b []string, _ string) []string { return b[len(b)-1:] }},
	{"all blocks", func(b []string, _ string) []string { return b }},
	{"index", func(_ []string, dir string) []string { return []string{dir + "/msgs/index.db"} }},
	{"stream's meta", func(_ []string, dir string) []string { return []string{dir + "/meta.inf"} }},
	{"consumer's meta", func(_ []string, dir string) []string { return []string{dir + "/obs/text/meta.inf"} }},
	{"consumer's place", func(_ []string, dir string) []string { return []string{dir + "/obs/text/o.dat"} }},
}

// wholeAgain is how long it takes at most until the stream has all events again after NATS is back.
const wholeAgain = 30 * time.Second

// In whatever way files of the stream are damaged while NATS is down, and with or without the index that NATS writes
// when it stops: within 30 s the stream has all events again, and the service that consumes them has got all. Changes
// go on meanwhile.
func TestDamagedStream(t *testing.T) {
	t.Parallel()
	every := 5 // in make test
	if *all {
		every = 1
	}
	for n := 0; n < len(places)*len(damages)*2; n += every {
		at, d, crashed := places[n/2/len(damages)], damages[n/2%len(damages)], n%2 == 1
		t.Run(fmt.Sprintf("%s %s, crashed %t", at.name, d.name, crashed), func(t *testing.T) {
			t.Parallel()
			survive(t, at.files, d, crashed)
		})
	}
}

func survive(t *testing.T, files func([]string, string) []string, d damage, crashed bool) {
	w := newWorld(t)
	r := newReplica(t, w.Ground, kit.Database(t))
	got := &seen{ids: map[string]bool{}}
	testkit.Go(t, consumer(t, w.Ground, onCreated(got.note)).Run)
	testkit.Go(t, r.relay.Run)
	r.large("before", 2600)
	r.until("all are published", func() bool { return r.count("outbox") == 0 })
	end := r.underLoad()
	w.stop()
	dir, err := filepath.Glob(w.server.Dir + "/jetstream/*/streams/" + event.Stream)
	if err != nil || len(dir) != 1 {
		t.Fatal(dir, err)
	}
	blocks, err := filepath.Glob(dir[0] + "/msgs/*.blk")
	if err != nil || len(blocks) < 3 {
		t.Fatal(blocks, err)
	}
	for _, file := range files(blocks, dir[0]) {
		if err := d.do(file); err != nil {
			t.Fatal(err)
		}
	}
	if crashed { // a server that is killed writes no index
		if err := os.Remove(dir[0] + "/msgs/index.db"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	w.start(t)
	began := time.Now()
	r.until("some are published", func() bool { return r.count("outbox") == 0 })
	end()
	want := r.count("events")
	r.until("all are handled", func() bool { return got.count() == want })
	r.until("all are in the stream", func() bool {
		return r.state().Msgs >= uint64(want) && len(r.ids()) == want
	})
	if took := time.Since(began); took > wholeAgain {
		t.Errorf("%d events, whole only after %s", want, took.Round(time.Millisecond))
	}
}

// unreadable is the damage after which NATS takes a consumer's settings for those of a newer version. It stops the
// whole stream then, and only an operator can help.
const unreadable = "meta.inf flipped in the middle"

// A NATS server that Herald does not start itself gives a service its events again, in whatever way the files of the
// service's consumer were damaged, or readiness is red.
func TestDamagedConsumerOfAnExternalServer(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"meta.inf", "meta.sum", "o.dat"} {
		for _, d := range damages {
			name := file + " " + d.name
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := openWorld(t)
				r := newSource(t, w.Ground)
				got := &seen{ids: map[string]bool{}}
				testkit.Go(t, consumer(t, w.Ground, onCreated(got.note)).Run)
				r.mustCreate("before 1", "before 2")
				r.until("they are handled", func() bool { return got.count() == 2 })
				w.stop()
				dir := w.server.Dir + "/jetstream/$G/streams/" + event.Stream + "/obs/text/"
				if err := d.do(dir + file); err != nil {
					t.Fatal(err)
				}
				w.startPlain(t)
				r.mustCreate("after 1", "after 2")
				if name == unreadable {
					r.until("readiness is red", func() bool {
						err := event.There(t.Context(), r.js)
						return err != nil && strings.Contains(err.Error(), "offline")
					})
					return
				}
				r.until("all are handled", func() bool { return got.count() == 4 })
			})
		}
	}
}

// underLoad makes changes, 50 in a second, until end is called.
func (r *replica) underLoad() (end func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-tick.C:
				r.mustCreate(fmt.Sprint("under load ", n))
			}
		}
	}()
	return func() { close(over); <-done }
}

// large writes events of about 7 KiB, so that few fill several blocks of the stream.
func (r *replica) large(name string, n int) {
	r.Helper()
	_, err := r.db.Exec(r.Context(), `with event as (
		insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
		select gen_random_uuid()::text, 'org', $1 || n, $1 || n, 'created', 'org-1', '',
			jsonb_build_object('unknown', repeat('x', 7000)), now()
		from generate_series(1, $2::int) n returning position
	) insert into outbox select position from event`, name, n)
	if err != nil {
		r.Fatal(err)
	}
	r.relay.Wake(event.Event{})
}

// seen are the objects whose events a consumer has handled.
type seen struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (s *seen) note(_ context.Context, d event.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[d.AggregateID] = true
	return nil
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}
