package event

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/bus"
	"herald/shared/contract"
	"herald/shared/postgres"
	"herald/shared/retry"
)

const (
	window  = 1000            // events read, published and deleted together: the largest batch in NATS
	standby = time.Second     // how often a replica asks whether the lock is free
	look    = 5 * time.Second // how often the holder reads the outbox without a wake-up
	pause   = time.Second     // after a fault
	// pace is the least time between two reads of the outbox. After a read that found crowd events or more, crowded
	// is used instead. Changes in quick succession are published together, with one sync of the stream. A change
	// after a quiet time is published at once.
	pace    = 20 * time.Millisecond
	crowded = 50 * time.Millisecond
	crowd   = 8
	ackWait = 10 * time.Second
	round   = 30 * time.Second // time limit of one window, and of one try for the lock
	lockKey = 0x6865726c64     // "herald"
)

// Relay publishes the events that Journal wrote. If a database has several relays, one works and the others stand by.
type Relay struct {
	Service string
	DB      *pgxpool.Pool
	Conn    *nats.Conn
	JS      jetstream.JetStream
	Log     *slog.Logger
	// Streams is the configuration with which missing streams are created again.
	Streams StreamConfig
	// Services are the names of Herald's services. An event stays in the stream until all of them have handled it.
	Services []string
	// Outages logs outages of the database; nil for none.
	Outages *postgres.Watch
	delay   delay
	rebuild rebuild
	outage  retry.Outage
	// news wakes this relay while it works. It is nil while another relay works.
	news atomic.Pointer[signal]
}

// signal holds at most one element.
type signal chan struct{}

func (s signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Delayed returns an error if events wait in the outbox because a service lags behind, or because the stream has lost
// others that are published first. The error names the service and says for how long.
func (r *Relay) Delayed() error { return errors.Join(r.delay.err(), r.rebuild.err()) }

// Wake tells the working relay that there is an event. That relay may be in another process. The message contains the
// event, so that caches drop outdated answers and the service in early_for handles the event before it is in the
// stream. A quiet event needs no message if the relay of this process works.
func (r *Relay) Wake(e Event) {
	if news := r.news.Load(); news != nil && e.quiet {
		news.send()
		return
	}
	m := e.message(r.Service)
	m.Subject = contract.WakeSubject(r.Service)
	_ = r.Conn.PublishMsg(m) // if it is lost, the next read finds the event
}

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	r.outage.Log = r.Log
	r.outage.Begins, r.outage.Ends = "events wait in the outbox; trying again", "events are published again"
	r.outage.Explained = func(err error) bool { return r.Outages.Explains(err) || bus.IsOutage(err) }
	for ctx.Err() == nil {
		if err := r.hold(ctx); err != nil && ctx.Err() == nil {
			r.outage.Failed(err)
			retry.Wait(ctx, pause)
		}
	}
}

// hold takes the lock and publishes events while it has the lock. The lock ends with its connection. takeLock asks
// again and again instead of waiting in one statement, because a statement that waits for hours would keep vacuum
// from cleaning the outbox.
//
// If the connection to NATS is lost, hold ends at once: acknowledgements that were sent before do not come any more.
func (r *Relay) hold(ctx context.Context) (err error) {
	ctx, drop := context.WithCancelCause(ctx)
	defer drop(nil)
	changes := r.Conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer r.Conn.RemoveStatusListener(changes)
	go func() {
		if _, open := <-changes; open {
			drop(nats.ErrDisconnected)
		}
	}()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), nats.ErrDisconnected) {
			err = nats.ErrDisconnected
		}
	}()
	config := r.DB.Config().ConnConfig // a copy
	// The deletes of the relay need not be on disk at once. If a crash undoes them, events are only published twice.
	// In return, the commits of changes do not wait for those of the relay.
	config.RuntimeParams["synchronous_commit"] = "off"
	// If a relay is frozen, Postgres ends its session and so releases the lock. A relay that works sends queries more
	// often than this, unless NATS answers very slowly. Then its last events are published twice.
	config.RuntimeParams["idle_session_timeout"] = "15s"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := r.takeLock(ctx, conn); err != nil {
		return fmt.Errorf("relay lock: %w", postgres.Fault(err))
	}
	news := make(signal, 1)
	sub, err := r.Conn.Subscribe(contract.WakeSubject(r.Service), func(*nats.Msg) { news.send() })
	if err != nil {
		return fmt.Errorf("relay wake-up: %w", err)
	}
	defer sub.Unsubscribe()
	r.news.Store(&news)
	defer r.resign()
	// The first read finds the events that were written before the subscription.
	if err := r.Conn.FlushTimeout(ackWait); err != nil {
		return fmt.Errorf("relay wake-up: %w", err)
	}
	var last check
	if err := r.checkStream(ctx, conn, &last); err != nil { // it makes the stream if it is not there
		return err
	}
	pressure, err := newBackpressure(ctx, r.JS, r.Services)
	if err != nil {
		return err
	}
	defer r.delay.set("")
	for ctx.Err() == nil {
		begin := time.Now()
		if err := r.checkStream(ctx, conn, &last); err != nil {
			return err
		}
		n, lagging, err := r.relay(ctx, conn, pressure)
		if err != nil {
			return err
		}
		r.waitsFor(ctx, lagging)
		r.outage.Worked()
		switch {
		case lagging != "":
			retry.Wait(ctx, catchUp)
		case n < window:
			retry.WaitSignal(ctx, news, look)
			retry.Wait(ctx, time.Until(begin.Add(paceAfter(n))))
		}
	}
	return nil
}

// paceAfter returns the least time between a read that found n events and the next read.
func paceAfter(n int) time.Duration {
	if n >= crowd {
		return crowded
	}
	return pace
}

// resign wakes the relay that works after this one. It may have started already, while this relay still received the
// wake-ups.
func (r *Relay) resign() {
	r.news.Store(nil)
	_ = r.Conn.Publish(contract.WakeSubject(r.Service), nil)
}

// waitsFor records the service that the relay waits for, or "" for none. It logs long waits.
func (r *Relay) waitsFor(ctx context.Context, service string) {
	if !r.delay.set(service) {
		return
	}
	if service == "" {
		r.Log.InfoContext(ctx, "events are published again")
		return
	}
	r.Log.WarnContext(ctx,
		"events wait in the outbox: a service has not handled what they would push out of the stream",
		"lagging", service)
}

// takeLock returns when this connection has the lock. It returns an error when ctx ends. Meanwhile the relay that has
// the lock reports what is lost.
func (r *Relay) takeLock(ctx context.Context, conn *pgx.Conn) error {
	for {
		held, err := tryLock(ctx, conn)
		if held || err != nil {
			return err
		}
		r.rebuild.end()
		if !retry.Wait(ctx, standby) {
			return ctx.Err()
		}
	}
}

func tryLock(ctx context.Context, conn *pgx.Conn) (held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, round)
	defer cancel()
	err = conn.QueryRow(ctx, `select pg_try_advisory_lock($1)`, lockKey).Scan(&held)
	return held, err
}

// relay publishes the oldest events and deletes them from the outbox. It returns their number, and the service that
// the remaining events wait for. After a crash between the two steps they are published again. JetStream drops
// repeats within two minutes, and consumers drop later repeats.
func (r *Relay) relay(ctx context.Context, conn *pgx.Conn, pressure *backpressure) (n int, lagging string, err error) {
	ctx, cancel := context.WithTimeout(ctx, round)
	defer cancel()
	events, err := waiting(ctx, conn)
	if err != nil {
		return 0, "", err
	}
	for rest := events; len(rest) > 0; {
		together, size := pressure.cut(rest)
		if lagging, err := pressure.take(ctx, size); lagging != "" || err != nil {
			return n, lagging, err
		}
		if err := r.publish(ctx, conn, rest[:together]); err != nil {
			return n, "", err
		}
		rest, n = rest[together:], n+together
	}
	r.rebuilt(ctx, events)
	return n, "", nil
}

// rebuilt ends the rebuilding of the stream when the oldest events of the outbox are published and none of the lost
// ones is left.
func (r *Relay) rebuilt(ctx context.Context, oldest []Event) {
	upTo := int64(math.MaxInt64) // the outbox had no more than these
	if len(oldest) == window {
		upTo = oldest[window-1].Position
	}
	if r.rebuild.over(upTo) {
		took, n := r.rebuild.end()
		r.Log.InfoContext(ctx, "the stream of events has all of this service again", "events", n, "took",
			took.Round(time.Millisecond).String())
	}
}

// publish publishes events and deletes them from the outbox.
func (r *Relay) publish(ctx context.Context, conn *pgx.Conn, events []Event) error {
	if len(events) >= smallBatch {
		err := r.publishBatch(ctx, events)
		if err == nil {
			return published(ctx, conn, events)
		}
		if !errors.Is(err, errRefused) {
			return err
		}
	}
	for len(events) > 0 {
		n := distinct(events)
		if err := r.publishEach(ctx, events[:n]); err != nil {
			return err
		}
		if err := published(ctx, conn, events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}
