package boot_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/testkit"
)

// openNATS starts a NATS server in which everybody may do everything.
func openNATS(t *testing.T, options server.Options) *server.Server {
	t.Helper()
	options.JetStream, options.StoreDir, options.NoSigs, options.NoLog = true, t.TempDir(), true, true
	options.Host, options.Port = "127.0.0.1", server.RANDOM_PORT
	s, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { bus.Stop(s) })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("NATS is not ready")
	}
	return s
}

// A service that starts while NATS is a cluster without a leader says soon in its log what it waits for.
func TestServiceSaysThatItWaitsForALeader(t *testing.T) {
	t.Parallel()
	alone := openNATS(t, server.Options{
		ServerName: "one-of-three", Cluster: server.ClusterOpts{
			Name: "herald", Host: "127.0.0.1", Port: server.RANDOM_PORT,
		},
		Routes: server.RoutesFromStr("nats://127.0.0.1:1,nats://127.0.0.1:2"),
	})
	logs := &testkit.Lines{}
	g := testkit.Logged(t, testkit.Ground(t), slog.LevelInfo, logs)
	g.Bus = bus.Address{URL: alone.ClientURL()}
	database := kit.Database(t)
	ctx, stop := context.WithCancel(t.Context())
	opened := make(chan error, 1)
	began := time.Now()
	go func() {
		s, err := g.Open(ctx, "users", database, things)
		if err == nil {
			s.Close()
		}
		opened <- err
	}()
	line := logs.Wait(t, "JetStream answers: a cluster of NATS needs more than half of its servers")
	// The log must say it 5 s after the service has asked. On a busy machine the database takes some time before that.
	if took := time.Since(began); took > 10*time.Second || !strings.Contains(line, "still waiting") {
		t.Errorf("after %s the log says %s", took, line)
	}
	stop()
	if err := <-opened; err == nil {
		t.Error("the service started without a leader")
	}
}

// untilCause waits until the reason for which a check fails contains a text, or until it does not fail if the text is
// empty.
func untilCause(t *testing.T, h *boot.Health, check, text string) {
	t.Helper()
	limit, tick := time.After(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		cause := h.Causes(t.Context())[check]
		if text != "" && strings.Contains(cause, text) || text == "" && cause == "" {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("after 30 s the cause is %q, want %q", cause, text)
		}
	}
}

// A service whose connections are all in use is ready as long as requests get one after another. It is not ready if
// nobody gets one.
func TestBusyServiceIsReady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		moves bool
		check string // the one that fails
	}{
		"others get connections": {moves: true},
		"nobody gets one":        {check: "users database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := testkit.Ground(t)
			s := kit.Open(t, g)
			t.Cleanup(s.Close)
			busy := int(s.DB.Config().MaxConns)
			over, taken := make(chan struct{}), make(chan struct{}, 1<<16)
			ctx, stop := context.WithCancel(t.Context())
			var users sync.WaitGroup
			for range 12 * busy { // so that who waits for a turn waits longer than a check may take
				users.Go(func() {
					for ctx.Err() == nil {
						_ = s.DB.AcquireFunc(ctx, func(*pgxpool.Conn) error {
							taken <- struct{}{}
							if !c.moves {
								<-over
								return nil
							}
							<-time.After(boot.CheckLimit / 5) // the work of a request
							return nil
						})
					}
				})
			}
			for range busy {
				<-taken
			}
			if causes := g.Health.Causes(t.Context()); c.check == "" && len(causes) > 0 ||
				c.check != "" && causes[c.check] == "" {
				t.Errorf("the causes are %v, want one of %q", causes, c.check)
			}
			stop()
			close(over)
			users.Wait()
		})
	}
}

// While lost events are published again, a service is not ready, and says how many were lost.
func TestServiceIsNotReadyWhileItsStreamIsRebuilt(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	g.Bus = bus.Address{URL: openNATS(t, server.Options{}).ClientURL()}
	s := kit.Open(t, g)
	testkit.Run(t, s)
	if _, err := s.DB.Exec(t.Context(), `with event as (
		insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
		select n::text, 'org', n::text, n::text, 'created', 'o', '', '{}', now()
		from generate_series(1, 10) n returning position
	) insert into outbox select position from event`); err != nil {
		t.Fatal(err)
	}
	s.Journal.Committed(event.Event{}) // wakes the relay
	testkit.Until(t, s.DB, "outbox", "not exists (select from outbox)")
	untilCause(t, g.Health, "users events", "")
	// The relay publishes the events again and cannot delete them from the outbox until this transaction has ended.
	tx, err := s.DB.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := s.DB.Exec(t.Context(), `create function wait() returns trigger language plpgsql as
			'begin perform pg_advisory_xact_lock(1); return old; end';
		create trigger wait before delete on outbox for each row execute function wait()`); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select pg_advisory_xact_lock(1)`); err != nil {
		t.Fatal(err)
	}
	stream, err := s.JS.Stream(t.Context(), event.Stream)
	if err == nil {
		err = stream.Purge(t.Context())
	}
	again := s.Conn.StatusChanged(nats.CONNECTED)
	if err == nil {
		err = s.Conn.ForceReconnect() // after which the relay looks
	}
	if err != nil {
		t.Fatal(err)
	}
	<-again
	untilCause(t, g.Health, "users events", "has lost 10 events, which are published again")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	untilCause(t, g.Health, "users events", "")
}
