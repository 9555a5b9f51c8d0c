package boot_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

var things = fstest.MapFS{"migrations/001_things.sql": {Data: []byte(`create table things (id text)`)}}

var kit = testkit.New("users", things)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// people is a service whose method returns when the test lets it.
type people struct {
	usersv1.UnimplementedUsersServer
	testkit.Unguarded
	db      *boot.Service
	entered chan struct{}
	release chan struct{}
}

func (p people) GetMyUser(ctx context.Context, _ *usersv1.GetMyUserRequest) (*usersv1.GetMyUserResponse, error) {
	p.entered <- struct{}{}
	<-p.release
	_, err := p.db.DB.Exec(ctx, `insert into things values ('late')`)
	return &usersv1.GetMyUserResponse{User: &usersv1.User{Id: "u"}}, err
}

// At the stop a service is not ready and takes no more requests. A running request can still use
// the database and the bus; tasks and connections end after it.
func TestServiceStopsInTwoPhases(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	s := kit.Open(t, g)
	p := people{db: s, entered: make(chan struct{}), release: make(chan struct{})}
	if err := s.Serve(func(r boot.Registrar) { usersv1.RegisterUsersServer(r, p) }); err != nil {
		t.Fatal(err)
	}
	tasks := make(chan context.Context, 1)
	s.Background(func(ctx context.Context) { tasks <- ctx; <-ctx.Done() })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	task := <-tasks
	if causes := g.Health.Causes(t.Context()); len(causes) != 0 {
		t.Fatalf("not ready: %v", causes)
	}

	users := usersv1.NewUsersClient(testkit.Calls(t, g, bus.Gateway))
	as := testkit.As(t.Context(), g, caller.Caller{UserID: "u", OrganizationID: "o"})
	var call sync.WaitGroup
	call.Go(func() {
		if r, err := users.GetMyUser(as, &usersv1.GetMyUserRequest{}); err != nil || r.User.Id != "u" {
			t.Errorf("the request under way: %v %v", r, err)
		}
	})
	<-p.entered
	stop()
	for { // until the service has left its queue group
		if _, err := users.GetUser(as, &usersv1.GetUserRequest{UserId: "u"}); errors.Is(err, fault.ErrUnavailable) {
			break
		}
	}
	if causes := g.Health.Causes(t.Context()); causes["users"] == "" {
		t.Error("ready while it stops")
	}
	if task.Err() != nil {
		t.Error("the task ended before the request")
	}
	close(p.release)
	call.Wait()
	running.Wait()
	if task.Err() == nil {
		t.Error("the task goes on")
	}
	if !s.Conn.IsClosed() || s.DB.Ping(t.Context()) == nil {
		t.Error("connections are open after the stop")
	}
}

// The error of a service that cannot start names the service and the reason, and no password.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	database := kit.Database(t)
	for _, c := range []struct {
		name       string
		database   secret.Text
		migrations fstest.MapFS
		says       string
	}{
		{"no URL", secret.NewText("postgres://users:planted@%zz/x"), things, "database URL"},
		{"no server", secret.NewText("postgres://users:planted@127.0.0.1:1/x"), things, "connect"},
		{"wrong password", secret.NewText(strings.Replace(database.Reveal(), "herald_users:", "herald_users:planted",
			1)), things, "password authentication failed"},
		{"faulty migration", database, fstest.MapFS{"migrations/001_a.sql": things["migrations/001_things.sql"],
			"migrations/002_b.sql": {Data: []byte("create nonsense")}}, "nonsense"},
		{"no migrations", database, fstest.MapFS{}, "migrate schema_version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			s, err := g.Open(ctx, "users", c.database, c.migrations)
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if text := err.Error(); !strings.HasPrefix(text, "service users: ") || !strings.Contains(text, c.says) ||
				strings.Contains(text, "planted") {
				t.Errorf("%v", err)
			}
		})
	}
}

// when returns the figures when one of them is as wanted, or those after 20 s. NATS counts what a consumer has before
// it some time after its answer.
func when(figures func() map[string]float64, name string, want float64) (m map[string]float64) {
	for end := time.Now().Add(20 * time.Second); ; {
		if m = figures(); m[name] == want || time.Now().After(end) {
			return m
		}
	}
}

func TestServiceMetrics(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	clock := testkit.ClockAt(time.Now())
	g.Now = clock.Now
	s := kit.Open(t, g)
	t.Cleanup(s.Close)
	figures := func() map[string]float64 {
		families, err := g.Metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]float64{}
		for _, f := range families {
			if m := f.GetMetric()[0]; m.Gauge != nil {
				found[f.GetName()] = m.Gauge.GetValue()
			}
		}
		return found
	}
	m := figures()
	for _, name := range []string{"herald_outbox_events", "herald_outbox_oldest_seconds", "herald_events_unhandled",
		"herald_dead_letters", "herald_postgres_connections_used"} {
		if n, there := m[name]; !there || n != 0 {
			t.Errorf("nothing waits and nothing is in use, figures is %v", m)
		}
	}
	busy, err := s.DB.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m = figures(); m["herald_postgres_connections_used"] != 1 || m["herald_postgres_connections_max"] < 2 {
		t.Errorf("one connection is in use, figures is %v", m)
	}
	busy.Release()
	if _, err := s.JS.CreateOrUpdateConsumer(t.Context(), event.Stream, jetstream.ConsumerConfig{
		Durable: "users", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1,
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.JS.Publish(t.Context(), "dead.users.events.users.org.created.o", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.DB.Exec(t.Context(), `with event as (
		insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
		select n::text, 'org', 'a', 'a', 'created', 'o', '', '{}', now() - n * interval '1 minute'
		from generate_series(3, 1, -1) n returning position, time
	) insert into outbox (position, since) select position, time from event`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.JS.Publish(t.Context(), "events.users.org.created.o", make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	m = when(figures, "herald_events_unhandled", 1)
	if m["herald_events_unhandled"] != 1 || m["herald_dead_letters"] != 2 {
		t.Errorf("an event is not handled, and two are given up, figures is %v", m)
	}
	if stale, ok := m["herald_outbox_stale_seconds"]; !ok || stale != 0 {
		t.Errorf("the outbox was read just now, figures is %v", m)
	}
	if oldest := m["herald_outbox_oldest_seconds"]; m["herald_outbox_events"] != 3 || oldest < 180 || oldest > 240 {
		t.Errorf("three events wait for 1 to 3 minutes, figures is %v", m)
	}
	if fill := m["herald_events_stream_fill"]; fill < 1.0/64 || fill > 1.1/64 {
		t.Errorf("a 64th of the stream is full, figures is %v", fill)
	}
	clock.Advance(time.Hour)
	if _, err := s.DB.Exec(t.Context(), `drop table outbox`); err != nil {
		t.Fatal(err)
	}
	later := figures()
	oldest := later["herald_outbox_oldest_seconds"] - m["herald_outbox_oldest_seconds"]
	if oldest < 3599 || oldest > 3601 ||
		later["herald_outbox_events"] != 3 || later["herald_outbox_stale_seconds"] != 3600 {
		t.Errorf("an hour after the outbox was read last, figures is %v", later)
	}
}

// While events wait for a service that lags, readiness names that service.
func TestServiceSaysWhoLags(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	g.Streams.MaxBytes = 1 << 20
	s := kit.Open(t, g)
	c, err := s.JS.CreateOrUpdateConsumer(t.Context(), event.Stream, jetstream.ConsumerConfig{
		Durable: "users", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB.Exec(t.Context(), `with event as (
		insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
		select n::text, 'org', n::text, n::text, 'created', 'o', '', '{}', now()
		from generate_series(1, 5000) n returning position, time
	) insert into outbox (position, since) select position, time from event`); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	defer running.Wait()
	defer stop()
	untilCause(t, g.Health, "users events", "users has not handled")
	handled, err := c.Consume(func(m jetstream.Msg) { _ = m.Ack() })
	if err != nil {
		t.Fatal(err)
	}
	defer handled.Stop()
	untilCause(t, g.Health, "users events", "")
}

// Readiness names the database or NATS when the service has lost it.
func TestServiceReadiness(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	s := kit.Open(t, g)
	t.Cleanup(s.Close)
	if causes := g.Health.Causes(t.Context()); len(causes) != 0 {
		t.Errorf("%v", causes)
	}
	if _, err := event.EnsureStreams(t.Context(), s.JS, g.Streams, nil); err != nil {
		t.Errorf("streams: %v", err)
	}
	away := s.Conn.StatusChanged(nats.RECONNECTING)
	bus.Stop(g.Bus.Server.(*server.Server))
	<-away
	if causes := g.Health.Causes(t.Context()); causes["users NATS"] != "not connected to NATS" || len(causes) != 1 {
		t.Errorf("without NATS: %v", causes)
	}
	s.DB.Close()
	if causes := g.Health.Causes(t.Context()); causes["users database"] == "" {
		t.Errorf("without database: %v", causes)
	}
}
