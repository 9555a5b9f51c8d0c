package event

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/bus"
	"herald/shared/postgres"
	"herald/shared/retry"
)

const (
	window  = 1000            // events read, published and deleted together: the largest batch that NATS takes
	standby = time.Second     // how often a replica asks whether the lock is free
	look    = 5 * time.Second // how often the holder looks without being woken
	pause   = time.Second     // after a fault
	// pace is the least time between two looks at the outbox; after a look that found crowd events or more
	// it is crowded. Changes that come faster are published together, with one sync of the stream.
	// A change after a rest goes at once.
	pace    = 20 * time.Millisecond
	crowded = 50 * time.Millisecond
	crowd   = 8
	ackWait = 10 * time.Second
	round   = 30 * time.Second // time limit of one window, and of one try for the lock
	lockKey = 0x6865726c64     // "herald"
)

// Relay publishes the events that Journal wrote. Of the relays of one database one works and
// the others stand by.
type Relay struct {
	Service string
	DB      *pgxpool.Pool
	Conn    *nats.Conn
	JS      jetstream.JetStream
	Log     *slog.Logger
	// Streams are made again with this if they are not there.
	Streams StreamConfig
	// Services are the names of Herald's services. An event that one of them has not handled
	// is not pushed out of the stream.
	Services []string
	delay    delay
	// first is the number of the stream's first message, when it was looked at last.
	first  uint64
	outage retry.Outage
	// news wakes this relay while it works; nil while another one does.
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

// Delayed returns an error that names the service for which events wait in the outbox, and
// since when; nil if none does.
func (r *Relay) Delayed() error { return r.delay.err() }

// Wake tells the working relay, which may be in another process, that there is an event. The
// message holds the event, so that caches drop what it ends, and the service that the contract
// names in early_for handles it, without waiting for the stream. Any other event needs no message
// if the relay of this process works.
func (r *Relay) Wake(e Event) {
	if news := r.news.Load(); news != nil && e.quiet {
		news.send()
		return
	}
	m := e.message(r.Service)
	m.Subject = wakeSubject(r.Service)
	_ = r.Conn.PublishMsg(m) // if it is lost, the next look finds the event
}

func wakeSubject(service string) string { return "outbox." + service }

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	r.outage.Log = r.Log
	r.outage.Begins, r.outage.Ends = "events wait in the outbox; trying again", "events are published again"
	for ctx.Err() == nil {
		if err := r.hold(ctx); err != nil && ctx.Err() == nil {
			if !told(err) {
				r.outage.Failed(err)
			}
			retry.Wait(ctx, pause)
		}
	}
}

// told reports whether the log has a line of its own for what an error follows from.
func told(err error) bool { return postgres.Told(err) || bus.Told(err) }

// hold takes the lock and publishes while it has it. The lock belongs to a connection and
// ends with it. takeLock polls instead of waiting in one statement: a statement that waits
// for hours would keep vacuum from cleaning the outbox.
func (r *Relay) hold(ctx context.Context) error {
	config := r.DB.Config().ConnConfig // a copy
	// The relay's deletes need not be on the disk at once: a crash that undoes them only makes
	// repeats, and the commits of changes do not wait for the relay's.
	config.RuntimeParams["synchronous_commit"] = "off"
	// Postgres takes the lock from a relay that is frozen. Any other asks it something more often, unless NATS answers
	// as slowly; its last events are then published twice.
	config.RuntimeParams["idle_session_timeout"] = "15s"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := takeLock(ctx, conn); err != nil {
		return fmt.Errorf("relay lock: %w", postgres.Fault(err))
	}
	news := make(signal, 1)
	sub, err := r.Conn.Subscribe(wakeSubject(r.Service), func(*nats.Msg) { news.send() })
	if err != nil {
		return fmt.Errorf("relay wake-up: %w", err)
	}
	defer sub.Unsubscribe()
	r.news.Store(&news)
	defer r.resign()
	// The first look finds the events from before the subscription.
	if err := r.Conn.FlushTimeout(ackWait); err != nil {
		return fmt.Errorf("relay wake-up: %w", err)
	}
	var last check
	if err := r.checkStream(ctx, conn, &last); err != nil {
		return err
	}
	pressure, err := newBackpressure(ctx, r.JS, r.Services)
	if err != nil {
		return err
	}
	defer r.delay.set("")
	for ctx.Err() == nil {
		begin := time.Now()
		n, lagging, err := r.relay(ctx, conn, pressure)
		if err != nil {
			return err
		}
		r.waitsFor(ctx, lagging)
		if err := r.checkStream(ctx, conn, &last); err != nil {
			return err
		}
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

// paceAfter returns the least time between a look that found n events and the next one.
func paceAfter(n int) time.Duration {
	if n >= crowd {
		return crowded
	}
	return pace
}

// resign wakes the relay that works after this one: it may have taken over while this one was
// still told of events.
func (r *Relay) resign() {
	r.news.Store(nil)
	_ = r.Conn.Publish(wakeSubject(r.Service), nil)
}

// waitsFor notes the service that the relay waits for, "" for none. It logs waits that last.
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

// takeLock returns when this connection has the lock, or with an error when ctx ends.
func takeLock(ctx context.Context, conn *pgx.Conn) error {
	for {
		held, err := tryLock(ctx, conn)
		if held || err != nil {
			return err
		}
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

// relay publishes the oldest events and deletes them from the outbox. It returns their number,
// and the service for which others must wait. After a crash between the two they are published
// again: JetStream drops repeats within two minutes, after that consumers do.
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
	return n, "", nil
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
