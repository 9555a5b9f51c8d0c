package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// settle is how long nothing must fail until an outage is over. One success is not enough, because reads still
// succeed while a disk is full.
const settle = 2 * time.Second

// late is how long after an outage statements may take too long because of it.
const late = 5 * time.Second

// Watch logs an outage of a database server in two lines. The first line has the first error. The second line is
// written after the outage and has its duration and the last error. All pools of a process share one Watch, because
// they fail for the same reason.
type Watch struct {
	log *slog.Logger
	now func() time.Time
	// out is the number of servers that do not work. While it is zero, successful statements need no lock.
	out atomic.Int32
	// worked is when a statement has last succeeded, in nanoseconds; 0 if none has.
	worked atomic.Int64
	// over is when the last outage of a server has ended, in nanoseconds; 0 if there was none.
	over    atomic.Int64
	mu      sync.Mutex
	servers map[string]*outage
	// ours is set if this process itself makes the server refuse changes. refusing is the number of servers that do.
	ours     atomic.Bool
	refusing atomic.Int32
	refusals map[string]*refusal
}

// refusal is the state of a server that works, but refuses changes.
type refusal struct {
	since, last time.Time
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
	return &Watch{log: log, now: now, servers: map[string]*outage{}, refusals: map[string]*refusal{}}
}

// RefusesForUs tells the watch that only this process makes the server refuse changes, and that it says so itself.
func (w *Watch) RefusesForUs() { w.ours.Store(true) }

// Err returns the last error of a server that does not work, and the time since when it does not. Of several servers it
// is the first by name, so that it stays the same one. It returns nil if all servers work.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, server := range slices.Sorted(maps.Keys(w.servers)) {
		if o := w.servers[server]; !o.since.IsZero() {
			return fmt.Errorf("the database server %s does not work since %s: %s", server,
				o.since.UTC().Format(time.RFC3339), entire(o.last))
		}
	}
	return nil
}

// TakesChanges returns an error if a server cannot be asked or refuses changes. It returns nil if this process itself
// makes the server refuse them.
func (w *Watch) TakesChanges(ctx context.Context, c *pgx.Conn) error {
	var readOnly string
	err := c.QueryRow(ctx, `show transaction_read_only`).Scan(&readOnly)
	if err == nil && readOnly == "on" && !w.ours.Load() {
		err = errors.New("the database server refuses changes: it is read-only")
	}
	return err
}

// Ask runs a check on a connection of a pool. If all connections are in use, and others get one meanwhile, the database
// works and Ask returns nil without running the check. ctx must have a deadline.
func Ask(ctx context.Context, pool *pgxpool.Pool, check func(context.Context, *pgx.Conn) error) error {
	until, _ := ctx.Deadline()
	wait, stop := context.WithTimeout(ctx, time.Until(until)/2) // the rest is for the answer
	defer stop()
	before := pool.Stat().AcquireCount()
	c, err := pool.Acquire(wait)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) && pool.Stat().AcquireCount() > before {
			return nil
		}
		return err
	}
	defer c.Release()
	return check(ctx, c.Conn())
}

// Explains reports whether an error follows from an outage of a database that is logged, or will be soon. Such an error
// needs no line of its own. A frozen server is found only when no connection can be made, which takes longer than most
// statements may: a statement that took too long is explained if none has succeeded for a while, and during an outage
// and shortly after it. Other deadlines are not, because a service without work runs no statements. A nil Watch
// explains what IsOutage does.
func (w *Watch) Explains(err error) bool {
	if IsOutage(err) {
		return true
	}
	if w == nil || !errors.Is(err, errSlow) {
		return false
	}
	now, worked, over := w.now().UnixNano(), w.worked.Load(), w.over.Load()
	return w.out.Load() > 0 || over > 0 && now-over < int64(late) || worked > 0 && now-worked > int64(settle)
}

// saw records the result of a statement or of connecting.
func (w *Watch) saw(ctx context.Context, server string, err error) {
	if err == nil {
		w.worked.Store(w.now().UnixNano())
	}
	if refuses(err) {
		w.refused(ctx, server, err)
		return
	}
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
	switch {
	case failed:
		w.fails(ctx, server, o, err)
	case o.since.IsZero():
	case o.worked.IsZero():
		o.worked = w.now()
	}
	if !o.worked.IsZero() && w.now().Sub(o.failed) >= settle {
		w.log.InfoContext(ctx, "Postgres works again", "server", server,
			"away", o.worked.Sub(o.since).Round(time.Millisecond).String(), "last", entire(o.last))
		*o = outage{over: w.now()}
		w.over.Store(o.over.UnixNano())
		w.out.Add(-1)
	}
}

// fails records a failure, with which an outage may begin.
func (w *Watch) fails(ctx context.Context, server string, o *outage, err error) {
	now := w.now()
	// A try that began before the end of the last outage is a part of it, however late it fails.
	if since := begun(ctx, now); o.since.IsZero() && begins(err) && since.After(o.over) {
		o.since, o.ended = since, 0
		w.out.Add(1)
		w.log.ErrorContext(ctx, "Postgres does not work", "server", server, "cause", entire(err),
			"before", o.before(now))
	}
	o.failed, o.worked, o.last = now, time.Time{}, err
	if o.since.IsZero() {
		w.broke(server, o)
	}
}

// refused records that a server refused a change. Reads succeed meanwhile, so only changes end it: see changed.
func (w *Watch) refused(ctx context.Context, server string, err error) {
	if w.ours.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.refusals[server]
	if r == nil {
		r = &refusal{since: w.now()}
		w.refusals[server] = r
		w.refusing.Add(1)
		w.log.ErrorContext(ctx, "Postgres refuses changes", "server", server, "cause", entire(err))
	}
	r.last = w.now()
}

// changed records that a server took a change.
func (w *Watch) changed(ctx context.Context, server string, tag pgconn.CommandTag) {
	if w.refusing.Load() == 0 || !tag.Insert() && !tag.Update() && !tag.Delete() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.refusals[server]
	if r == nil || w.now().Sub(r.last) < settle {
		return
	}
	delete(w.refusals, server)
	w.refusing.Add(-1)
	w.log.InfoContext(ctx, "Postgres takes changes again", "server", server,
		"away", w.now().Sub(r.since).Round(time.Millisecond).String())
}

// refuses reports whether an error means that a server that works takes no changes.
func refuses(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && stateOf(refused.Code).refuses
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

// IsOutage reports whether an error comes from a broken connection, or from a server that does not work or refuses
// changes. Such an error needs no line of its own in the log. A Watch logs an outage of the server. If only a
// connection broke, the pool makes a new one.
func IsOutage(err error) bool {
	_, refused := errors.AsType[*pgconn.PgError](err)
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	return (refused || unconnected || errors.Is(err, errAway)) && (broken(err) || refuses(err))
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
	if data.Err == nil {
		w.watch.changed(ctx, w.server, data.CommandTag)
	}
}

func (w watched) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (w watched) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if data.Err == nil {
		w.watch.changed(ctx, w.server, data.CommandTag)
	}
}

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
