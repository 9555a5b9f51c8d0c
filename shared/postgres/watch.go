package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// settle is how long nothing must fail until an outage is over. One success is not enough, because reads still
// succeed while a disk is full.
const settle = 2 * time.Second

// Watch logs an outage of a database server in two lines. The first line has the first error. The second line is
// written after the outage and has its duration and the last error. All pools of a process share one Watch, because
// they fail for the same reason.
type Watch struct {
	log *slog.Logger
	now func() time.Time
	// out is the number of servers that do not work. While it is zero, successful statements need no lock.
	out     atomic.Int32
	mu      sync.Mutex
	servers map[string]*outage
}

// outage is the state of one server. since is zero while the server works.
type outage struct {
	since, failed, worked time.Time
	last                  error
	// over is the end of the last outage.
	over time.Time
	// ended is how many statements failed because their connections broke while the server works. It is logged when
	// settle has passed after the first failure.
	ended int
}

// before returns the error from shortly before an outage, when the server ended connections.
func (o *outage) before(now time.Time) string {
	if o.last == nil || now.Sub(o.failed) >= settle {
		return ""
	}
	return entire(o.last)
}

// NewWatch returns a watch without any servers.
func NewWatch(log *slog.Logger, now func() time.Time) *Watch {
	return &Watch{log: log, now: now, servers: map[string]*outage{}}
}

// Err returns the last error of a server that does not work, and the time since when it does not. It returns nil if
// all servers work.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for server, o := range w.servers {
		if !o.since.IsZero() {
			return fmt.Errorf("the database server %s does not work since %s: %s", server,
				o.since.UTC().Format(time.RFC3339), entire(o.last))
		}
	}
	return nil
}

// saw records the result of a statement or of connecting.
func (w *Watch) saw(ctx context.Context, server string, err error) {
	failed := broken(err)
	if !failed && (err != nil || w.out.Load() == 0) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.servers[server]
	if o == nil {
		o = &outage{}
		w.servers[server] = o
	}
	switch now := w.now(); {
	case failed:
		if o.since.IsZero() && begins(err) {
			o.since, o.ended = begun(ctx, now), 0
			w.out.Add(1)
			w.log.ErrorContext(ctx, "Postgres does not work", "server", server, "cause", entire(err),
				"before", o.before(now))
		}
		o.failed, o.worked, o.last = now, time.Time{}, err
		if o.since.IsZero() {
			w.broke(server, o)
		}
	case o.since.IsZero():
	case o.worked.IsZero():
		o.worked = now
	}
	if !o.worked.IsZero() && w.now().Sub(o.failed) >= settle {
		w.log.InfoContext(ctx, "Postgres works again", "server", server,
			"away", o.worked.Sub(o.since).Round(time.Millisecond).String(), "last", entire(o.last))
		*o = outage{over: w.now()}
		w.out.Add(-1)
	}
}

// broke records that a connection broke while the server works. It ignores connections that break shortly after an
// outage, because pools may still hold connections from before it, and the log already has the outage.
func (w *Watch) broke(server string, o *outage) {
	if w.now().Sub(o.over) < idleTime+idleTime/3 {
		return
	}
	if o.ended++; o.ended > 1 {
		return
	}
	time.AfterFunc(settle, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if o.ended > 0 && o.since.IsZero() {
			w.log.Warn("connections to Postgres broke; others are made", "server", server, "cause", entire(o.last),
				"statements", o.ended)
		}
		o.ended = 0
	})
}

// begins reports whether an error shows that the whole server does not work. A broken connection alone does not show
// this: other connections may work, and a pool may hold old connections that were ended long ago.
func begins(err error) bool {
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return unconnected || ok && stateOf(refused.Code).outage
}

// broken reports whether an error of pgx means that the connection or the server does not work.
func broken(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return stateOf(refused.Code).broken
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	_, network := errors.AsType[net.Error](err)
	return !errors.Is(err, context.DeadlineExceeded) && (network || errors.Is(err, io.ErrUnexpectedEOF))
}

// IsOutage reports whether an error comes from a broken connection or from a server that does not work. Such an error
// needs no line of its own in the log. A Watch logs an outage of the server. If only a connection broke, the pool
// makes a new one.
func IsOutage(err error) bool {
	_, refused := errors.AsType[*pgconn.PgError](err)
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	return (refused || unconnected || errors.Is(err, errAway)) && broken(err)
}

// entire returns an error with all details that Postgres gives. It is only for errors of a broken connection or
// server, because the details of other errors may contain values of a row.
func entire(err error) string {
	text := err.Error()
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		for _, more := range []string{refused.Detail, refused.Hint, refused.Where} {
			if more != "" {
				text += "; " + more
			}
		}
	}
	return text
}

// watched is a pgx tracer that passes the results of a server's connections to a Watch.
type watched struct {
	watch  *Watch
	server string
}

func (w watched) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (w watched) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	w.watch.saw(ctx, w.server, data.Err)
}

func (w watched) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (w watched) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (w watched) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	w.watch.saw(ctx, w.server, data.Err)
}

// connecting is the context key for the time when connecting started. A frozen server is detected long after that
// time.
type connecting struct{}

func (w watched) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return context.WithValue(ctx, connecting{}, w.watch.now())
}

// begun returns when an outage began that is detected now.
func begun(ctx context.Context, now time.Time) time.Time {
	if asked, ok := ctx.Value(connecting{}).(time.Time); ok {
		return asked
	}
	return now
}

func (w watched) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	w.watch.saw(ctx, w.server, data.Err)
}
