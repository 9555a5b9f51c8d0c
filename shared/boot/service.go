package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/grpc"

	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/retry"
	"herald/shared/rpc"
	"herald/shared/secret"
)

// Ground holds what a process provides to every service that it runs.
type Ground struct {
	Telemetry
	Health *Health
	Keys   secret.Keys
	// PublicURL is the address of the system for browsers (see ParsePublicURL).
	PublicURL *url.URL
	Streams   event.StreamConfig
	// Bus is the address of NATS. Each service logs in under its own name.
	Bus bus.Address
	Now func() time.Time
	// Pairs makes key pairs for all services of the process, so that they leave half of the processors free together.
	Pairs *secret.Pairs
}

// Service holds what a running service uses: its database, its connection to NATS, its journal and its background
// tasks. Open creates it, Serve registers its methods and Run starts it.
type Service struct {
	Ground
	Name    string
	DB      *pgxpool.Pool
	Conn    *nats.Conn
	JS      jetstream.JetStream
	Journal event.Journal
	// Calls is the connection for generated clients of other services.
	Calls   *rpc.Conn
	Log     *slog.Logger
	server  *rpc.Server
	backlog *backlog
	tasks   []func(context.Context)
}

// Open connects a service to its database and to NATS, and migrates the database.
func (g Ground) Open(ctx context.Context, name string, database secret.Text, migrations fs.FS) (*Service, error) {
	s := &Service{Ground: g, Name: name, Log: g.Telemetry.Log.With("service", name)}
	if err := s.open(ctx, database, migrations); err != nil {
		s.Close()
		return nil, fmt.Errorf("service %s: %w", name, err)
	}
	return s, nil
}

func (s *Service) open(ctx context.Context, database secret.Text, migrations fs.FS) (err error) {
	if s.DB, err = postgres.OpenAs(ctx, database, s.Keys, s.Name,
		postgres.Observers{Traces: s.Traces, Watch: s.Outages}); err != nil {
		return err
	}
	if err = postgres.Await(ctx, s.DB); err != nil {
		return err
	}
	if err = s.migrate(ctx, migrations); err != nil {
		return err
	}
	if s.Conn, err = bus.Connect(ctx, s.Bus.As(s.Name, s.Keys), s.Log); err != nil {
		return err
	}
	if s.JS, err = jetstream.New(s.Conn, jetstream.WithPublishAsyncMaxPending(1024)); err != nil {
		return err
	}
	services, err := bus.Services()
	if err != nil {
		return err
	}
	if err = s.ensureStreams(ctx, services); err != nil {
		return err
	}
	signer := caller.NewSigner(s.Keys, s.Now)
	relay := &event.Relay{Service: s.Name, DB: s.DB, Conn: s.Conn, JS: s.JS, Log: s.Log, Services: services,
		Streams: s.Streams, Outages: s.Outages}
	s.Journal = event.Journal{DB: s.DB, Now: s.Now, Committed: relay.Wake}
	s.Calls = rpc.NewConn(s.Conn, signer, s.Name, s.Log)
	s.server = rpc.NewServer(rpc.Config{
		Conn: s.Conn, Signer: signer, Log: s.Log, Metrics: s.Metrics, Tracer: s.Traces.Tracer(s.Name), Now: s.Now,
	})
	s.Background(relay.Run)
	s.Health.Check(s.Name+" database", func(ctx context.Context) error {
		err := postgres.Ask(ctx, s.DB, s.Outages.TakesChanges)
		// All services report the same error for a server that does not work. While a disk is full, a read still
		// succeeds, because only writes fail.
		if outage := s.Outages.Err(); outage != nil {
			return outage
		}
		return err
	})
	s.backlog = newBacklog(s)
	// Tests run two replicas in one process. Their metrics have the same names, so only those of the first replica
	// are registered.
	_ = s.Metrics.Register(s.backlog)
	s.Health.Check(s.Name+" NATS", func(ctx context.Context) error { return bus.Ready(ctx, s.Conn) })
	s.Health.Check(s.Name+" events", func(ctx context.Context) error {
		waits := errors.Join(relay.Delayed(), postgres.Ask(ctx, s.DB, event.Waiting))
		if s.Outages.Err() != nil || postgres.IsOutage(waits) { // the check of the database reports it
			waits = nil
		}
		if bus.Ready(ctx, s.Conn) != nil { // the check of NATS reports it
			return waits
		}
		return errors.Join(waits, event.There(ctx, s.JS))
	})
	return nil
}

// migrate migrates the database. It may wait for another replica that does the same.
func (s *Service) migrate(ctx context.Context, migrations fs.FS) (err error) {
	defer retry.Slow(s.Log, "the database is migrated, perhaps by another replica")(&err)
	return Migrate(ctx, s.DB, migrations)
}

// The tables with the versions of the tables of events, and of a service's own.
const (
	EventHistory  = "event_version"
	SchemaHistory = "schema_version"
)

// Migrate migrates the database of a service.
func Migrate(ctx context.Context, db *pgxpool.Pool, migrations fs.FS) error {
	return MigrateTo(ctx, db, migrations, postgres.Newest, postgres.Newest)
}

// MigrateTo does the same, but only up to a version of the tables of events, and one of the service's own.
func MigrateTo(ctx context.Context, db *pgxpool.Pool, migrations fs.FS, events, schema int32) error {
	if err := postgres.MigrateTo(ctx, db, EventHistory, event.Migrations, events); err != nil {
		return err
	}
	if err := postgres.AddQuotas(ctx, db); err != nil {
		return err
	}
	return postgres.MigrateTo(ctx, db, SchemaHistory, migrations, schema)
}

// Pending returns the names of the migrations that Migrate would run.
func Pending(ctx context.Context, db *pgxpool.Pool, migrations fs.FS) ([]string, error) {
	events, err := postgres.Pending(ctx, db, EventHistory, event.Migrations)
	if err != nil {
		return nil, err
	}
	own, err := postgres.Pending(ctx, db, SchemaHistory, migrations)
	return append(events, own...), err
}

// ensureStreams makes the streams. A cluster of NATS servers answers only when it has elected a leader.
func (s *Service) ensureStreams(ctx context.Context, services []string) (err error) {
	defer retry.Slow(s.Log, "JetStream answers: a cluster of NATS needs more than half of its servers")(&err)
	if event.LostDead(ctx, s.JS) {
		s.Log.WarnContext(ctx, "the stream DEAD was lost, with the events that their handlers gave up; it is made anew")
	}
	lagging, err := event.EnsureStreams(ctx, s.JS, s.Streams, services)
	if lagging != "" {
		s.Log.WarnContext(ctx, "the stream of events keeps its size: a service has not handled what a smaller one "+
			"would push out; HERALD_EVENTS_MAX_BYTES is taken at the next start", "lagging", lagging)
	}
	return err
}

// Serve registers the services of the contract and subscribes to their requests. register calls the generated
// functions. They do not compile if the implementation lacks a method:
//
//	s.Serve(func(r boot.Registrar) {
//		usersv1.RegisterOrgsServer(r, orgs.Server{Base: base})
//	})
func (s *Service) Serve(register func(Registrar)) error {
	r := registrar{server: s.server}
	register(&r)
	return r.err
}

// Registrar is the type with which the generated functions register a service.
type Registrar = grpc.ServiceRegistrar

// registrar implements Registrar and keeps the errors.
type registrar struct {
	server *rpc.Server
	err    error
}

func (r *registrar) RegisterService(desc *grpc.ServiceDesc, implementation any) {
	r.err = errors.Join(r.err, r.server.Register(desc, implementation))
}

// Background adds a task that Run starts. The task's context ends when the service stops.
func (s *Service) Background(task func(context.Context)) { s.tasks = append(s.tasks, task) }

// Consume adds handlers of events. Run starts them.
func (s *Service) Consume(handlers ...event.Handler) {
	stopped := &event.Stopped{}
	s.Background(event.Consumer{Service: s.Name, JS: s.JS, Log: s.Log, Handlers: handlers, Stopped: stopped}.Run)
	s.Health.Check(s.Name+" consumer", func(context.Context) error { return stopped.Err() })
}

// Run runs the service until ctx ends. Then the service is not ready any more and stops in two phases. Requests end
// first, because they can still create events. Background tasks end after them.
func (s *Service) Run(ctx context.Context) {
	s.Health.Check(s.Name, func(context.Context) error { return ctx.Err() })
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var tasks sync.WaitGroup
	for _, task := range s.tasks {
		tasks.Go(func() { task(behind) })
	}
	<-ctx.Done()
	s.server.Drain()
	stop()
	tasks.Wait()
	s.Close()
}

// Close closes the connections that Open made. Run calls it at the end.
func (s *Service) Close() {
	if s.backlog != nil {
		s.Metrics.Unregister(s.backlog)
	}
	if s.Conn != nil {
		_ = s.Conn.FlushTimeout(time.Second) // sends replies that are still buffered
		s.Conn.Close()
	}
	if s.DB != nil {
		s.DB.Close()
	}
}
