// Package postgres connects services to their databases: pools, the roles and databases of a new
// server, migrations, and the faults for database errors.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/tern/v2/migrate"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/shared/fault"
	"herald/shared/retry"
	"herald/shared/secret"
)

// MaxConnections is how many connections to its database a replica of a service holds at most: those of its pool, and
// the one on which its relay has the lock or waits for it.
const MaxConnections = poolSize + 1

const (
	poolSize = 8
	// statementLimit ends statements for which no client waits any more.
	statementLimit = "30s"
	// idleLimit ends transactions whose process is frozen, because others wait for their locks. No transaction waits
	// for anything but its statements.
	idleLimit = "5s"
	// idleTime is when a pool gives a connection back that it does not need. Each service has a pool in each replica,
	// and after an outage all of them are full for a while; a server with 100 connections refused some then.
	idleTime = 30 * time.Second
)

// session is the settings of every connection. With the TCP keep-alives the server releases the
// locks of a machine that vanished within half a minute instead of hours.
var session = map[string]string{
	"statement_timeout":                   statementLimit,
	"idle_in_transaction_session_timeout": idleLimit,
	"timezone":                            "UTC",
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "5",
	"tcp_keepalives_count":                "3",
}

// Observers learn what a pool does.
type Observers struct {
	Traces trace.TracerProvider
	// Watch logs outages; nil if nobody does.
	Watch *Watch
}

// Open returns a pool of 8 connections. It does not connect yet.
func Open(ctx context.Context, url secret.Text, traces trace.TracerProvider) (*pgxpool.Pool, error) {
	return open(ctx, url, Observers{Traces: traces}, func(*pgxpool.Config) {})
}

func open(ctx context.Context, url secret.Text, o Observers, more func(*pgxpool.Config)) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url.Reveal())
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	config.MaxConns = poolSize
	config.MaxConnIdleTime, config.HealthCheckPeriod = idleTime, idleTime/3
	if config.ConnConfig.ConnectTimeout == 0 { // not in the URL
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	maps.Copy(config.ConnConfig.RuntimeParams, session)
	var tracers []pgx.QueryTracer
	if _, off := o.Traces.(noop.TracerProvider); !off { // making spans takes time even if nobody collects them
		tracers = append(tracers, otelpgx.NewTracer(otelpgx.WithTracerProvider(o.Traces)))
	}
	if o.Watch != nil {
		server := net.JoinHostPort(config.ConnConfig.Host, strconv.Itoa(int(config.ConnConfig.Port)))
		tracers = append(tracers, watched{o.Watch, server})
	}
	if len(tracers) > 0 {
		config.ConnConfig.Tracer = multitracer.New(tracers...)
	}
	more(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return pool, nil
}

// startLimit is how long a service waits for its database at its start.
const startLimit = time.Minute

// Await returns when the server takes connections. While it starts, recovers or cannot be reached, Await asks again,
// for at most a minute; a Watch logs it. Any other error, such as a wrong password, is returned at once.
func Await(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := pool.Ping(ctx)
		if err == nil || fault.From(Fault(err)).Code != fault.Unavailable {
			return err
		}
		if !retry.Wait(ctx, startPause) {
			return fmt.Errorf("database: %w", err)
		}
	}
}

// startPause is the time between two questions at the start.
const startPause = 200 * time.Millisecond

// Migrate runs the migrations that a database does not have yet, from the folder migrations.
// Replicas that start at once wait for each other. history is the name of the table with the
// version; a service's tables and those of its events have a version each.
func Migrate(ctx context.Context, pool *pgxpool.Pool, history string, migrations fs.FS) error {
	return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		// A migration, or the wait for another replica's, may take longer than statementLimit.
		if _, err := c.Exec(ctx, "set statement_timeout = 0"); err != nil {
			return fmt.Errorf("migrate %s: %w", history, Fault(err))
		}
		defer func() {
			if _, err := c.Exec(ctx, "reset statement_timeout"); err != nil {
				c.Conn().Close(ctx) // the pool opens another
			}
		}()
		m, err := migrate.NewMigrator(ctx, c.Conn(), history)
		if err != nil {
			return fmt.Errorf("migrate %s: %w", history, Fault(err))
		}
		files, err := fs.Sub(migrations, "migrations")
		if err != nil {
			return fmt.Errorf("migrate %s: %w", history, err)
		}
		if err := m.LoadMigrations(files); err != nil {
			return fmt.Errorf("migrate %s: %w", history, err)
		}
		version, err := m.GetCurrentVersion(ctx)
		if err != nil {
			return fmt.Errorf("migrate %s: %w", history, Fault(err))
		}
		if known := len(m.Migrations); int(version) > known {
			return fmt.Errorf("the database is of a newer Herald: its %s is %d, and this program knows %d; start the "+
				"newer one, or restore the backup of before the upgrade", history, version, known)
		}
		if err := m.Migrate(ctx); err != nil {
			return fmt.Errorf("migrate %s: %w%s", history, err, hint(err))
		}
		return nil
	})
}

// hint adds to an error what to do when the server lacks an extension.
func hint(err error) string {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if ok && (pg.Code == "0A000" || pg.Code == "58P01") { // is not available; its file is not there
		return " (install Postgres's contrib modules on the server, such as the package postgresql-contrib)"
	}
	return ""
}

// One reads one row into a struct by column names. It returns pgx.ErrNoRows when there is none.
func One[T any](ctx context.Context, db *pgxpool.Pool, sql string, args Args) (T, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
}

// All reads rows into structs by column names.
func All[T any](ctx context.Context, db *pgxpool.Pool, sql string, args Args) ([]T, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, Fault(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	return found, Fault(err)
}
