package event_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// newSource is a service that publishes, on a ground where others consume.
func newSource(t testing.TB, g boot.Ground) *replica {
	t.Helper()
	r := newReplica(t, g, kit.Database(t))
	testkit.Go(t, r.relay.Run)
	return r
}

// consumer is a replica of the service text with short waits.
func consumer(t testing.TB, g boot.Ground, handlers ...event.Handler) event.Consumer {
	t.Helper()
	return consumerOf(t, "text", g, handlers...)
}

func consumerOf(t testing.TB, service string, g boot.Ground, handlers ...event.Handler) event.Consumer {
	t.Helper()
	_, js := connect(t, g, service)
	c := event.Consumer{Service: service, JS: js, Log: g.Log, Handlers: handlers}
	c.Hurry(time.Millisecond, 20*time.Second)
	return c
}

func onCreated(fn func(context.Context, event.Delivery) error) event.Handler {
	return event.On(func(ctx context.Context, d event.Delivery, _ *usersv1.OrgCreated) error { return fn(ctx, d) })
}

func onRenamed(fn func(context.Context, event.Delivery) error) event.Handler {
	return event.On(func(ctx context.Context, d event.Delivery, _ *usersv1.OrgChanged) error { return fn(ctx, d) })
}

// tally records handled events in order.
type tally struct {
	mu   sync.Mutex
	seen []event.Delivery
	came chan struct{}
}

func newTally() *tally { return &tally{came: make(chan struct{}, 10000)} }

func (y *tally) note(_ context.Context, d event.Delivery) error {
	y.mu.Lock()
	y.seen = append(y.seen, d)
	y.mu.Unlock()
	y.came <- struct{}{}
	return nil
}

// wait returns all deliveries when there are at least n more.
func (y *tally) wait(t testing.TB, n int) []event.Delivery {
	t.Helper()
	limit := time.After(30 * time.Second)
	for i := range n {
		select {
		case <-y.came:
		case <-limit:
			t.Fatalf("%d deliveries within 30 s, want %d", i, n)
		}
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.Clone(y.seen)
}

// redelivered is how many deliveries of unanswered events JetStream repeated.
func redelivered(t testing.TB, js jetstream.JetStream) int {
	t.Helper()
	c, err := js.Consumer(t.Context(), event.Stream, "text")
	if err != nil {
		t.Fatal(err)
	}
	return c.CachedInfo().NumRedelivered
}

func TestConsumerKeepsOrderOfAggregates(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	all := newTally()
	testkit.Go(t, consumer(t, r.ground, onCreated(all.note), onRenamed(all.note)).Run)
	for i := range 10 {
		r.mustCreate(fmt.Sprint(i))
	}
	for n := range 10 {
		for i := range 10 {
			if _, err := r.rename(fmt.Sprint(i), fmt.Sprint("renamed ", n, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	last := map[string]int64{}
	for _, d := range all.wait(t, 110) {
		if d.Sequence <= last[d.AggregateID] {
			t.Errorf("%s: %d came after %d", d.AggregateID, d.Sequence, last[d.AggregateID])
		}
		last[d.AggregateID] = d.Sequence
	}
	one := all.seen[0]
	if one.ID == "" || one.OrganizationID != "org-1" || one.Actor != "someone" || time.Since(one.Time) > time.Minute {
		t.Errorf("delivery %+v", one)
	}
}

// An aggregate's events wait for its oldest one; events of other aggregates do not.
func TestConsumerWaitsForElders(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	slow, others := newTally(), newTally()
	done := make(chan struct{})
	testkit.Go(t, consumer(t, r.ground, onCreated(func(ctx context.Context, d event.Delivery) error {
		if d.AggregateID != "slow" {
			return others.note(ctx, d)
		}
		<-done
		return slow.note(ctx, d)
	}), onRenamed(slow.note)).Run)
	r.mustCreate("slow")
	for i := range 20 {
		if _, err := r.rename("slow", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		r.mustCreate(fmt.Sprint(i))
	}
	others.wait(t, 50) // some share its lane
	close(done)
	if seen := slow.wait(t, 21); !slices.IsSortedFunc(seen, func(a, b event.Delivery) int {
		return int(a.Sequence - b.Sequence)
	}) {
		t.Error("the order was lost")
	}
}

func TestConsumerRepeatsAfterAFault(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	for name, failing := range map[string]func() error{
		"fault":    func() error { return fault.ErrInvalidArgument },
		"error":    func() error { return errors.New("broken") },
		"deadline": func() error { return context.DeadlineExceeded },
		"panic":    func() error { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			all := newTally()
			var tries atomic.Int64
			stop := testkit.Go(t, consumer(t, r.ground, onCreated(func(ctx context.Context, d event.Delivery) error {
				if tries.Add(1) <= 3 {
					return failing()
				}
				return all.note(ctx, d)
			})).Run)
			r.mustCreate(name)
			if seen := all.wait(t, 1); seen[0].AggregateID != name || tries.Load() != 4 {
				t.Errorf("handled %v after %d tries", seen, tries.Load())
			}
			stop()
		})
	}
}

// While a needed service is away no failures are counted, neither for the event that is being handled
// nor for those after it, which wait longer than JetStream's redelivery time.
func TestConsumerWaitsForThoseAway(t *testing.T) {
	t.Parallel()
	for _, away := range []*fault.Fault{fault.ErrUnavailable, fault.ErrOverloaded} {
		t.Run(away.ID, func(t *testing.T) {
			t.Parallel()
			r := newSource(t, testkit.Ground(t))
			all := newTally()
			var tries atomic.Int64
			c := consumer(t, r.ground, onRenamed(func(ctx context.Context, d event.Delivery) error {
				if tries.Add(1) <= 11 { // about 2 s
					return fmt.Errorf("asking the owner: %w", away)
				}
				return all.note(ctx, d)
			}))
			c.Hurry(time.Millisecond, 300*time.Millisecond)
			testkit.Go(t, c.Run)
			r.mustCreate("a")
			for i := range 30 {
				if _, err := r.rename("a", fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
			}
			seen := all.wait(t, 30)
			if !slices.IsSortedFunc(seen, func(a, b event.Delivery) int { return int(a.Sequence - b.Sequence) }) {
				t.Error("the order was lost")
			}
			if n := redelivered(t, c.JS); n != 0 || tries.Load() != 11+30 {
				t.Errorf("%d were delivered again, %d tries", n, tries.Load())
			}
		})
	}
}

// Replicas share the events. Here each keeps its first event until the other one has an event too.
func TestReplicasShare(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	all := newTally()
	var both sync.WaitGroup
	both.Add(2)
	for range 2 {
		var first sync.Once
		testkit.Go(t, consumer(t, r.ground, onCreated(func(ctx context.Context, d event.Delivery) error {
			first.Do(func() { both.Done(); both.Wait() })
			return all.note(ctx, d)
		})).Run)
	}
	for i := range 100 {
		r.mustCreate(fmt.Sprint(i))
	}
	ids := map[string]bool{}
	for _, d := range all.wait(t, 100) {
		ids[d.ID] = true
	}
	if len(ids) != 100 {
		t.Errorf("%d different events, want 100", len(ids))
	}
}

// The events of a replica that stops are delivered to another one at once.
func TestStoppingReplicaHandsOver(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	taken := make(chan struct{}, 100)
	stop := testkit.Go(t, consumer(t, r.ground, onCreated(func(ctx context.Context, _ event.Delivery) error {
		taken <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})).Run)
	for i := range 20 {
		r.mustCreate(fmt.Sprint(i))
	}
	<-taken
	stop()
	stopped := time.Now()
	all := newTally()
	testkit.Go(t, consumer(t, r.ground, onCreated(all.note)).Run)
	all.wait(t, 20)
	if took := time.Since(stopped); took > 25*time.Second { // which is 30 s
		t.Errorf("handed over after %v: only by JetStream's redelivery", took)
	}
}

// During an upgrade the old version gets events that only the new one handles.
func TestOldReplicaLeavesNewEvents(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	all := newTally()
	r.mustCreate("a")
	old := consumer(t, r.ground, onCreated(all.note))
	testkit.Go(t, old.Run)
	all.wait(t, 1)
	testkit.Go(t, consumer(t, r.ground, onCreated(all.note), onRenamed(all.note)).Run)
	r.untilAsked(old, 2)
	for i := range 20 {
		if _, err := r.rename("a", fmt.Sprint("renamed ", i)); err != nil {
			t.Fatal(err)
		}
	}
	all.wait(t, 20)
}

// untilAsked waits until a service is given n kinds of events.
func (r *replica) untilAsked(c event.Consumer, n int) {
	r.Helper()
	r.until("another replica asks for more", func() bool {
		there, err := c.JS.Consumer(r.Context(), event.Stream, c.Service)
		return err == nil && len(there.CachedInfo().Config.FilterSubjects) == n
	})
}

func TestConsumerOutlivesNATS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newSource(t, w.Ground)
	all := newTally()
	c := consumer(t, w.Ground, onCreated(all.note))
	stop := testkit.Go(t, c.Run)
	r.mustCreate("before")
	all.wait(t, 1)
	w.stop()
	r.mustCreate("during")
	w.start(t)
	all.wait(t, 1)
	lost := c.JS.Conn().StatusChanged(nats.RECONNECTING)
	w.stop()
	<-lost
	stopping := time.Now()
	stop()
	if took := time.Since(stopping); took > 5*time.Second {
		t.Errorf("without NATS the consumer stopped after %v", took)
	}
}

// A consumer that gets neither events nor heartbeats does not work again because it asks again.
func TestSilentConsumerIsNotTakenForAWorkingOne(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{
		JetStream: true, StoreDir: t.TempDir(), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		NoAuthUser: "mute", Users: []*server.User{{Username: "mute", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$JS.API.CONSUMER.MSG.NEXT.>"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { bus.Stop(s) })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS is not ready")
	}
	asked := make(chan struct{}, 100)
	conn, err := nats.Connect(s.ClientURL(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {
		asked <- struct{}{}
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = event.EnsureStreams(t.Context(), js, event.StreamConfig{MaxBytes: 1 << 20, Replicas: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var said testkit.Lines
	c := event.Consumer{Service: "text", JS: js, Log: slog.New(slog.NewTextHandler(&said, nil)),
		Handlers: []event.Handler{onCreated(newTally().note)}}
	c.Beat(1500 * time.Millisecond)
	testkit.Go(t, c.Run)
	for range 3 {
		select {
		case <-asked:
		case <-time.After(20 * time.Second):
			t.Fatal("it does not ask again")
		}
	}
	got := said.String()
	if !strings.Contains(got, "events are not consumed") || strings.Contains(got, "again\" away") {
		t.Errorf("the log says %s", got)
	}
}
