// Package postgres is how services reach their databases: pools, the roles and
// databases of a fresh server, migrations, and what database errors mean.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/tern/v2/migrate"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/shared/secret"
)

const (
	poolSize = 8
	// statementLimit ends whatever a client has stopped waiting for.
	statementLimit = "30s"
)

// session is what every connection asks the server for. The keep-alives, over TCP,
// take a vanished machine's locks from it within half a minute instead of hours.
var session = map[string]string{
	"statement_timeout":                   statementLimit,
	"idle_in_transaction_session_timeout": statementLimit,
	"timezone":                            "UTC",
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "5",
	"tcp_keepalives_count":                "3",
}

// Open makes a pool of 8 connections. It does not connect yet.
func Open(ctx context.Context, url secret.Text, traces trace.TracerProvider) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url.Reveal())
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	config.MaxConns = poolSize
	config.MaxConnIdleTime = 10 * time.Minute
	config.ConnConfig.ConnectTimeout = 5 * time.Second
	maps.Copy(config.ConnConfig.RuntimeParams, session)
	if _, off := traces.(noop.TracerProvider); !off { // even spans that go nowhere take time
		config.ConnConfig.Tracer = otelpgx.NewTracer(otelpgx.WithTracerProvider(traces))
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return pool, nil
}

// Migrate brings a schema up to date. Replicas that start at once take turns.
// History is the name of the table that keeps the version; a service's own tables
// and those of its events are versioned apart. The files lie in the folder migrations.
func Migrate(ctx context.Context, pool *pgxpool.Pool, history string, migrations fs.FS) error {
	return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		// Neither a long step nor the wait for another replica's is cut short.
		if _, err := c.Exec(ctx, "set statement_timeout = 0"); err != nil {
			return fmt.Errorf("migrate %s: %w", history, Fault(err))
		}
		defer func() {
			if _, err := c.Exec(ctx, "reset statement_timeout"); err != nil {
				c.Conn().Close(ctx) // the pool makes another
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
		if err := m.Migrate(ctx); err != nil {
			return fmt.Errorf("migrate %s: %w%s", history, err, hint(err))
		}
		return nil
	})
}

// hint says what to do about a server that lacks an extension.
func hint(err error) string {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if ok && (pg.Code == "0A000" || pg.Code == "58P01") { // is not available; its file is not there
		return " (install Postgres's contrib modules on the server, such as the package postgresql-contrib)"
	}
	return ""
}

// One reads exactly one row by column names. It returns pgx.ErrNoRows for none.
func One[T any](ctx context.Context, db *pgxpool.Pool, sql string, args Args) (T, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
}

// All reads rows by column names.
func All[T any](ctx context.Context, db *pgxpool.Pool, sql string, args Args) ([]T, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, Fault(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	return found, Fault(err)
}
