package event_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/fault"
	"herald/shared/testkit"
)

// letters waits until n events are put aside, and lists them.
func (r *replica) letters(operator jetstream.JetStream, n int) []event.Letter {
	r.Helper()
	var found []event.Letter
	r.until(fmt.Sprintf("%d are put aside", n), func() bool {
		var err error
		if found, err = event.Letters(r.Context(), operator, 1000); err != nil {
			r.Fatal(err)
		}
		return len(found) == n
	})
	return found
}

func TestTenthFaultPutsAside(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	all := newTally()
	var tries atomic.Int64
	var mended atomic.Bool
	c := consumer(t, r.ground, onCreated(func(ctx context.Context, d event.Delivery) error {
		if d.AggregateID == "bad" && !mended.Load() {
			tries.Add(1)
			return errors.New("line\nbreak \x1b[31m \u009b \u202e \u2028 ü")
		}
		return all.note(ctx, d)
	}))
	testkit.Go(t, c.Run)
	began := time.Now()
	r.mustCreate("bad", "good")
	if seen := all.wait(t, 1); seen[0].AggregateID != "good" {
		t.Fatalf("handled %v", seen)
	}
	_, operator := connect(t, r.ground, bus.Operator)
	l := r.letters(operator, 1)[0]
	if l.Service != "text" || l.Subject != "events.users.org.created.org-1" || l.Reason != "line break  [31m       ü" ||
		l.EventID == "" || l.Time.Before(began) || tries.Load() != 10 {
		t.Errorf("after %d tries: %+v", tries.Load(), l)
	}
	mended.Store(true)
	if done, err := event.Redrive(t.Context(), operator, l.Sequence); done != l || err != nil {
		t.Fatalf("redrove %+v, %v", done, err)
	}
	again := all.wait(t, 1)[1]
	if again.AggregateID != "bad" || again.ID != l.EventID || !again.Redriven || all.seen[0].Redriven {
		t.Errorf("redriven %+v", again)
	}
	for name := range r.stream(3)[2].Headers() {
		if strings.HasPrefix(name, "Dead-") || strings.HasPrefix(name, "Nats-") && name != "Nats-Msg-Id" {
			t.Errorf("the redriven event has the header %s", name)
		}
	}
	r.letters(operator, 0)
	if _, err := event.Redrive(t.Context(), operator, l.Sequence); !errors.Is(err, event.ErrNoLetter) {
		t.Errorf("redriven twice: %v", err)
	}
}

// An event for which a replica has no handler is put aside with what is known of it: whether its headers and its
// subject disagree, or another version of the service asked for it.
func TestReasonsOfUnhandled(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	all := newTally()
	old := consumer(t, r.ground, onCreated(all.note))
	testkit.Go(t, old.Run)
	r.mustCreate("a")
	all.wait(t, 1)
	_, operator := connect(t, r.ground, bus.Operator)
	_, users := connect(t, r.ground, "users")
	strange := nats.NewMsg("events.users.org.created.org-1")
	strange.Header = r.stream(1)[0].Headers()
	strange.Header.Set(nats.MsgIdHdr, "another")
	strange.Header.Set("ce-orgid", "org-2")
	if _, err := users.PublishMsg(t.Context(), strange); err != nil {
		t.Fatal(err)
	}
	want := `the header ce-orgid is "org-2", and the subject names another organization: ` +
		"Herald publishes no such event, and it need not be redriven"
	if l := r.letters(operator, 1)[0]; l.Reason != want {
		t.Errorf("put aside because %q, want %q", l.Reason, want)
	}

	stop := testkit.Go(t, consumer(t, r.ground, onCreated(all.note), onRenamed(all.note)).Run)
	r.untilAsked(old, 2)
	stop()
	if _, err := r.rename("a", "renamed"); err != nil {
		t.Fatal(err)
	}
	want = "this replica of text has no handler for it, but another one, of another version, asked for it: " +
		"redrive it when all replicas have one version"
	if l := r.letters(operator, 2)[1]; l.Reason != want {
		t.Errorf("put aside because %q, want %q", l.Reason, want)
	}
}

func TestSizeOfDeadLettersIsLimited(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	c := consumer(t, r.ground, onCreated(func(context.Context, event.Delivery) error { return errors.New("no") }))
	_, operator := connect(t, r.ground, bus.Operator)
	r.letters(operator, 0)
	testkit.Go(t, c.Run)
	r.mustCreate("a", "b", "c", "d")
	all := r.letters(operator, 4)
	if _, err := event.Redrive(t.Context(), operator, all[1].Sequence); err != nil {
		t.Fatal(err)
	}
	left := r.letters(operator, 4) // the one redriven comes back as the youngest
	want := []uint64{all[0].Sequence, all[2].Sequence, all[3].Sequence, left[3].Sequence}
	for limit := range 5 {
		found, err := event.Letters(t.Context(), operator, limit)
		var got []uint64
		for _, l := range found {
			got = append(got, l.Sequence)
		}
		if err != nil || !slices.Equal(got, want[:limit]) {
			t.Errorf("at most %d: %v, %v, want %v", limit, got, err, want[:limit])
		}
	}
}

// An event that was redriven too early, seconds after it was put aside, fails again
// and is put aside again.
func TestRedrivenTooEarly(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	c := consumer(t, r.ground, onCreated(func(context.Context, event.Delivery) error { return errors.New("no") }))
	testkit.Go(t, c.Run)
	r.mustCreate("a")
	_, operator := connect(t, r.ground, bus.Operator)
	first := r.letters(operator, 1)[0]
	for range 2 {
		before := r.letters(operator, 1)[0]
		if _, err := event.Redrive(t.Context(), operator, before.Sequence); err != nil {
			t.Fatal(err)
		}
		r.until("it is put aside again", func() bool {
			found, err := event.Letters(t.Context(), operator, 1)
			return err == nil && len(found) == 1 && found[0].Sequence > before.Sequence
		})
	}
	if last := r.letters(operator, 1)[0]; last.EventID != first.EventID || last.Subject != first.Subject ||
		last.Service != "text" {
		t.Errorf("first %+v, then %+v", first, last)
	}
}

// positions is how a service drops what is older than what it has.
type positions struct {
	mu   sync.Mutex
	last map[string]int64
	*tally
}

func (p *positions) handle(ctx context.Context, d event.Delivery) error {
	p.mu.Lock()
	old := d.Sequence <= p.last[d.AggregateID] && !d.Redriven
	p.last[d.AggregateID] = max(d.Sequence, p.last[d.AggregateID])
	p.mu.Unlock()
	if old {
		return nil
	}
	return p.note(ctx, d)
}

// A redriven event reaches the service that failed it, also when that one has handled
// later ones of the aggregate, and nobody else.
func TestRedriveIsForWhoFailed(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	var mended atomic.Bool
	failed := &positions{last: map[string]int64{}, tally: newTally()}
	other := newTally()
	testkit.Go(t, consumer(t, r.ground, onRenamed(failed.handle),
		onCreated(func(ctx context.Context, d event.Delivery) error {
			if !mended.Load() {
				return errors.New("no")
			}
			return failed.handle(ctx, d)
		})).Run)
	testkit.Go(t, consumerOf(t, "notification", r.ground, onCreated(other.note), onRenamed(other.note)).Run)
	r.mustCreate("a")
	if _, err := r.rename("a", "later"); err != nil {
		t.Fatal(err)
	}
	failed.wait(t, 1)
	other.wait(t, 2)
	_, operator := connect(t, r.ground, bus.Operator)
	l := r.letters(operator, 1)[0]
	mended.Store(true)
	if _, err := event.Redrive(t.Context(), operator, l.Sequence); err != nil {
		t.Fatal(err)
	}
	if seen := failed.wait(t, 1); seen[1].ID != l.EventID || seen[1].Sequence >= seen[0].Sequence {
		t.Errorf("handled %+v", seen)
	}
	if _, err := r.rename("a", "last"); err != nil { // comes after the redriven one
		t.Fatal(err)
	}
	failed.wait(t, 1)
	if seen := other.wait(t, 1); len(seen) != 3 || seen[2].ID == l.EventID {
		t.Errorf("the other service handled %+v", seen)
	}
	if l := r.letters(operator, 0); len(l) != 0 {
		t.Errorf("still aside: %v", l)
	}
}

// An event whose handling never ends in time is put aside like any other, and those
// behind it are handled.
func TestTimeLimitsCount(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	all := newTally()
	var tries atomic.Int64
	testkit.Go(t, consumer(t, r.ground, onRenamed(all.note), onCreated(func(context.Context, event.Delivery) error {
		tries.Add(1)
		return fmt.Errorf("asking the owner: %w", fault.ErrDeadlineExceeded)
	})).Run)
	r.mustCreate("a")
	if _, err := r.rename("a", "later"); err != nil {
		t.Fatal(err)
	}
	all.wait(t, 1)
	_, operator := connect(t, r.ground, bus.Operator)
	if l := r.letters(operator, 1)[0]; tries.Load() != 10 || !strings.Contains(l.Reason, "asking the owner") {
		t.Errorf("after %d tries: %+v", tries.Load(), l)
	}
}
