// Package testkit is the real world for tests: a Postgres server per test binary, a
// database per test cloned from a migrated template, and a NATS server per test with
// the users and permissions of production. What is missing on the machine fails the
// test; nothing is skipped.
package testkit

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/rpc"
	"herald/shared/secret"
)

// Kit is the servers that the tests of one package share.
type Kit struct {
	service    string
	migrations fs.FS
	server     func() (*local.Server, error)
	template   func() error
	count      atomic.Int64
	dir        string
}

// New prepares a package's tests. Servers start with the first test that needs them.
func New(service string, migrations fs.FS) *Kit {
	k := &Kit{service: service, migrations: migrations}
	k.server = sync.OnceValues(k.start)
	k.template = sync.OnceValue(k.migrate)
	return k
}

// Main runs a package's tests and removes what they left:
//
//	func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }
func (k *Kit) Main(m *testing.M) int {
	code := m.Run()
	if k.dir != "" {
		if s, err := k.server(); err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_ = s.Stop(ctx)
		}
		_ = os.RemoveAll(k.dir)
	}
	return code
}

func (k *Kit) start() (*local.Server, error) {
	dir, err := os.MkdirTemp("", "herald-test-")
	if err != nil {
		return nil, err
	}
	k.dir = dir
	if err := os.Chmod(dir, 0o755); err != nil { // Postgres runs as another user
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return local.Start(ctx, local.Options{Dir: dir + "/postgres", Bin: os.Getenv("PG_BIN"), Volatile: true})
}

// keys are for tests only; no running system accepts a key from this file.
func keys() secret.Keys {
	k, err := secret.ParseKeys("7465737420206b657920666f722074657374732c206e6f7468696e6720656c73\n")
	if err != nil {
		panic(err)
	}
	return k
}

func (k *Kit) migrate() error {
	server, err := k.server()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	url, err := postgres.Provision(ctx, secret.NewText(server.URL()), keys(), k.service)
	if err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, url, noop.NewTracerProvider())
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := postgres.Migrate(ctx, pool, "event_version", event.Migrations); err != nil {
		return err
	}
	return postgres.Migrate(ctx, pool, "schema_version", k.migrations)
}

// Database clones a fresh database, owned by the service's own role, and answers
// with its URL.
func (k *Kit) Database(t testing.TB) secret.Text {
	t.Helper()
	if err := k.template(); err != nil {
		t.Fatal(err)
	}
	server, _ := k.server()
	admin, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(t.Context()))
	template := postgres.Name(k.service)
	name := fmt.Sprintf("%s_%d", template, k.count.Add(1))
	if _, err := admin.Exec(t.Context(), fmt.Sprintf(`create database %s template %s owner %s`, name,
		template, template)); err != nil {
		t.Fatal(err)
	}
	url, err := postgres.WithDatabase(secret.NewText(server.URL()), name, template,
		postgres.Password(keys(), k.service))
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// Ground starts a NATS server for one test and answers with what services stand on.
func Ground(t testing.TB) boot.Ground {
	t.Helper()
	server, err := bus.Embedded{Dir: t.TempDir(), Keys: keys()}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bus.Stop(server) })
	telemetry, err := boot.NewTelemetry(t.Context(), boot.Observe{LogLevel: slog.LevelInfo}, "test", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return boot.Ground{
		Telemetry: telemetry, Health: boot.NewHealth(), Keys: keys(),
		PublicURL: &url.URL{Scheme: "http", Host: "localhost:8080"}, Bus: bus.Address{Server: server},
		Streams: event.StreamConfig{MaxBytes: 64 << 20, Replicas: 1}, Now: time.Now,
	}
}

// Open opens the package's service on a fresh database.
func (k *Kit) Open(t testing.TB, g boot.Ground) *boot.Service {
	t.Helper()
	s, err := g.Open(t.Context(), k.service, k.Database(t), k.migrations)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Run runs a service until the test ends.
func Run(t testing.TB, s *boot.Service) {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
}

// As answers with a context for calls that a caller makes through the gateway; pass
// it with the connection of Calls.
func As(ctx context.Context, g boot.Ground, c caller.Caller) context.Context {
	return rpc.WithSigned(ctx, caller.NewSigner(g.Keys, g.Now).Sign(c))
}

// Calls connects as a NATS user, a service or the gateway, and answers with its
// calling end.
func Calls(t testing.TB, g boot.Ground, user string) *rpc.Conn {
	t.Helper()
	address := g.Bus
	address.User, address.Password = user, bus.Password(g.Keys, user)
	nc, err := bus.Connect(t.Context(), address, g.Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return rpc.NewConn(nc, caller.NewSigner(g.Keys, g.Now), user)
}

// Serve answers on the real bus in the place of another service, until the test ends or
// stop is called.
func Serve(t testing.TB, g boot.Ground, service string, contract *grpc.ServiceDesc, implementation any) (stop func()) {
	t.Helper()
	address := g.Bus
	address.User, address.Password = service, bus.Password(g.Keys, service)
	nc, err := bus.Connect(t.Context(), address, g.Log)
	if err != nil {
		t.Fatal(err)
	}
	s := rpc.NewServer(rpc.Config{Conn: nc, Signer: caller.NewSigner(g.Keys, g.Now), Log: g.Log, Metrics: g.Metrics,
		Tracer: g.Traces.Tracer(service)})
	if err := s.Register(contract, implementation); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { s.Drain(); nc.Close() })
	t.Cleanup(stop)
	return stop
}
