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

// settle: an outage is over when nothing has failed for this time. While a disk is full, reads still succeed.
const settle = 2 * time.Second

// Watch logs an outage of a database server in two lines: its first error, and when it is over how long it was and
// its last error. All pools of a process share one, because a server is the same cause for all of them.
type Watch struct {
	log *slog.Logger
	now func() time.Time
	// out is how many servers do not work. Statements that succeed need no lock while there is none.
	out     atomic.Int32
	mu      sync.Mutex
	servers map[string]*outage
}

// outage is what is known of a server. Its since is zero while the server works.
type outage struct {
	since, failed, worked time.Time
	last                  error
	// over is when the last outage was over.
	over time.Time
	// ended is how many statements have failed because their connections broke, while the server works. It is logged
	// when settle is over after the first one.
	ended int
}

// before returns what broke shortly before an outage: what the server said to the connections that it ended.
func (o *outage) before(now time.Time) string {
	if o.last == nil || now.Sub(o.failed) >= settle {
		return ""
	}
	return entire(o.last)
}

// NewWatch returns a watch that knows no servers yet.
func NewWatch(log *slog.Logger, now func() time.Time) *Watch {
	return &Watch{log: log, now: now, servers: map[string]*outage{}}
}

// Err returns the last error of a server that does not work, and since when it does not; nil if all work.
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

// saw notes how a statement or connection has ended.
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

// broke notes that a connection broke while the server works. The lines of an outage say it of those that break when it
// begins, and of those from before it that pools still hold when it is over.
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

// begins reports whether the error of a broken server shows that it is one. A connection that breaks does not: others
// may work, and a pool finds old connections that were ended long ago.
func begins(err error) bool {
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return unconnected || ok && stateOf(refused.Code).outage
}

// broken reports whether an error of pgx says that the server does not work.
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

// Told reports whether an error follows from a connection that broke or a server that does not work. A Watch logs an
// outage of the server; a connection that broke while the server works is only made again.
func Told(err error) bool {
	_, refused := errors.AsType[*pgconn.PgError](err)
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	return (refused || unconnected || errors.Is(err, errAway)) && broken(err)
}

// entire returns all that Postgres says about an error. The details of other errors may name the values of a row.
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

// watched tells a Watch of what the connections to a server do.
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

// connecting is the key of when a connection was asked for: a frozen server is noticed long after that.
type connecting struct{}

func (w watched) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return context.WithValue(ctx, connecting{}, w.watch.now())
}

// begun returns since when a server is away that is noticed now.
func begun(ctx context.Context, now time.Time) time.Time {
	if asked, ok := ctx.Value(connecting{}).(time.Time); ok {
		return asked
	}
	return now
}

func (w watched) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	w.watch.saw(ctx, w.server, data.Err)
}
