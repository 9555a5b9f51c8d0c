// Package testkit starts the real servers that tests need. For tests of stores, Kit starts one Postgres server per
// test binary and clones one database per test from a migrated template. For tests of services, Ground starts a NATS
// server per test with the users and permissions of production. Package outside has a mail server, an identity
// provider and a browser. Package deploy/herald/test/whole starts the whole system. If a program that a test needs is
// not installed, the test fails. It is never skipped.
package testkit

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/shared/boot"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/secret"
)

// Kit is the Postgres server that the tests of one package share.
type Kit struct {
	service    string
	migrations fs.FS
	server     func() (*local.Server, error)
	template   func() error
	count      atomic.Int64
	dir        string
}

// New returns the kit for a package's tests. The server starts when the first test needs it.
func New(service string, migrations fs.FS) *Kit {
	k := &Kit{service: service, migrations: migrations}
	k.server = sync.OnceValues(k.start)
	k.template = sync.OnceValue(k.migrate)
	return k
}

// Main runs a package's tests. Then it stops their server and removes their files:
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
	if err := PostgresFiles(dir + "/postgres"); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return local.Start(ctx, local.Options{Dir: dir + "/postgres", Bin: os.Getenv("PG_BIN"), Volatile: true})
}

// keys returns master keys for tests only.
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
	if err := postgres.AddQuotas(ctx, pool); err != nil {
		return err
	}
	return postgres.Migrate(ctx, pool, "schema_version", k.migrations)
}

// Database creates an empty, migrated database that is owned by the service's own role. It returns the URL.
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
	// Copying files takes less than half the work of the default strategy of Postgres, which logs each page.
	if _, err := admin.Exec(t.Context(), fmt.Sprintf(`create database %s template %s owner %s strategy file_copy`,
		name, template, template)); err != nil {
		t.Fatal(err)
	}
	url, err := postgres.WithDatabase(secret.NewText(server.URL()), name, template,
		postgres.Password(keys(), k.service))
	if err != nil {
		t.Fatal(err)
	}
	// Many tests connect at the same time, so on a busy machine this may take longer than a service usually waits.
	return secret.NewText(url.Reveal() + "&connect_timeout=60")
}

// Pool opens a new database in the same way as the service.
func (k *Kit) Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	db, err := postgres.Open(t.Context(), k.Database(t), noop.NewTracerProvider())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// Journal returns a journal on a new database, with which stores write. Nothing publishes its events.
func (k *Kit) Journal(t testing.TB) event.Journal {
	t.Helper()
	return event.Journal{DB: k.Pool(t), Now: time.Now, Committed: func(event.Event) {}}
}

// Open opens the package's service on a new database. It also checks the events in that database and the faults in
// the service's answers against the contracts.
func (k *Kit) Open(t testing.TB, g boot.Ground) *boot.Service {
	t.Helper()
	database := k.Database(t)
	g.Log = declared(t, g.Log)
	s, err := g.Open(t.Context(), k.service, database, k.migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { checkEvents(t, k.service, database) })
	return s
}
