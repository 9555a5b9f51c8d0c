// Package postgres connects services to their databases. It has pools, the setup of roles and databases on a new
// server, migrations, and the faults for database errors.
package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/shared/fault"
	"herald/shared/retry"
	"herald/shared/secret"
)

// MaxConnections is the largest number of connections that a replica of a service has to its database. These are the
// connections of the pool, and one on which the relay has the lock or waits for it.
const MaxConnections = poolSize + 1

const (
	poolSize = 8
	// statementLimit is how long a statement may run. After that no client waits for it any more.
	statementLimit = "30s"
	// idleLimit is how long a transaction may wait for its next statement. It ends the transactions of a frozen
	// process, because others wait for their locks. A transaction never waits for anything except its own statements.
	idleLimit = "5s"
	// idleTime is how long an unused connection stays in the pool. Each replica of each service has a pool, and after
	// an outage all pools are full for some time. With a longer time a server with 100 connections may refuse
	// clients.
	idleTime = 30 * time.Second
)

// session holds the settings of every connection. If a machine disappears, the TCP keep-alives make the server
// release its locks within half a minute instead of hours.
var session = map[string]string{
	"statement_timeout":                   statementLimit,
	"idle_in_transaction_session_timeout": idleLimit,
	"timezone":                            "UTC",
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "5",
	"tcp_keepalives_count":                "3",
}

// Observers are informed about the work of a pool.
type Observers struct {
	Traces trace.TracerProvider
	// Watch logs outages. Nil for none.
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
	if config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		config.ConnConfig.DescriptionCacheCapacity = 0 // this mode never uses it, and each connection has one
	}
	config.MaxConnIdleTime, config.HealthCheckPeriod = idleTime, idleTime/3
	if config.ConnConfig.ConnectTimeout == 0 { // not in the URL
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	maps.Copy(config.ConnConfig.RuntimeParams, session)
	var tracers []pgx.QueryTracer
	if _, off := o.Traces.(noop.TracerProvider); !off { // creating spans takes time even if nobody collects them
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

// startLimit is how long a service waits for its database when it starts.
const startLimit = time.Minute

// Await returns when the server accepts connections. While the server starts, recovers or cannot be reached, Await
// tries again for at most a minute. A Watch logs this. Any other error, such as a wrong password, is returned at
// once.
func Await(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := pool.Ping(ctx)
		_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
		if err == nil || untrusted || fault.From(Fault(err)).Code != fault.Unavailable {
			return err
		}
		if !retry.Wait(ctx, startPause) {
			return fmt.Errorf("database: %w", err)
		}
	}
}

// startPause is the pause between two tries of Await.
const startPause = 200 * time.Millisecond

// One reads one row into a struct by column names. It returns pgx.ErrNoRows if there is no row.
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
