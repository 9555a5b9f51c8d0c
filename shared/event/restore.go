package event

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/postgres"
)

const (
	// survey is how often the working relay checks whether the stream has lost events.
	survey = 10 * time.Second
	// margin is how long before its expiry an event is no longer restored.
	margin = time.Hour
	// lookWait is the time limit for a question about the stream or one message. Without it the relay could wait for
	// ever for an answer that was lost when NATS stopped.
	lookWait = 5 * time.Second
	// skew is the largest difference between the clocks of a service and NATS. Events of a full stream's oldest seconds
	// may have been dropped or lost, which nobody can tell apart. So what was lost of them is not restored.
	skew = 10 * time.Second
	// checkLimit is the time limit of a check. It reads all events of the service in the stream, some million at most.
	checkLimit = 5 * time.Minute
	// reportCheckAfter is how long a check may take before the service reports that it is not ready. Each start has a
	// check, and most checks find nothing.
	reportCheckAfter = 2 * time.Second
)

// seen is what a relay has last seen of the stream. It is saved, so that the next relay need not read the whole stream.
type seen struct {
	Created time.Time
	// Server is the id of the NATS server, which changes when the server starts again. Its files can be damaged while
	// it is down.
	Server string
	// Nobody deletes single messages. So a message that is missing between the first and the last was lost.
	First, Last, Missing int64
	// Since is the time from which on the stream has all events. A full stream drops its oldest.
	Since time.Time
}

// lossSince reports whether the stream may have lost messages since before.
func (now seen) lossSince(before seen, info *jetstream.StreamInfo) bool {
	return now.Server != before.Server || !now.Created.Equal(before.Created) ||
		now.Last < before.Last || now.Missing > before.Missing ||
		now.First > max(before.First, 1) && !full(info) && !expires(info) // that of an empty stream is 0
}

// check says when the working relay looks at the stream again.
type check struct {
	seen       seen
	known      bool
	reconnects uint64
	next       time.Time
}

// checkStream makes sure that the stream exists and has this service's published events of the last seven days, as
// far as there is space. Missing events are put back into the outbox. The relay calls it before it publishes.
func (r *Relay) checkStream(ctx context.Context, conn *pgx.Conn, c *check) (err error) {
	reconnects := r.Conn.Stats().Reconnects
	if reconnects == c.reconnects && time.Now().Before(c.next) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	if !c.known {
		if c.seen, err = lastSeen(ctx, conn); err != nil {
			return err
		}
	}
	server := r.Conn.ConnectedServerId()
	if _, err := r.info(ctx, Dead); err != nil {
		return err
	}
	info, err := r.info(ctx, Stream)
	if err != nil {
		return err
	}
	now := seen{
		Created: info.Created.Truncate(time.Microsecond), Server: server, First: int64(info.State.FirstSeq),
		Last: int64(info.State.LastSeq), Missing: int64(info.State.NumDeleted), Since: c.seen.Since,
	}
	if info.Cluster != nil {
		now.Server += " " + info.Cluster.Leader
		if since := info.Cluster.LeaderSince; since != nil { // it may have started again meanwhile
			now.Server += " " + since.UTC().Format(time.RFC3339Nano)
		}
	}
	if full(info) {
		now.Since = info.State.FirstTime.Add(skew).Truncate(time.Microsecond)
	}
	if now.lossSince(c.seen, info) {
		if err := r.restore(ctx, conn, now); err != nil {
			return err
		}
	} else {
		r.rebuild.compared()
	}
	// The first note also shows that the database takes changes. Otherwise the same events would be published again and
	// again.
	if now != c.seen || !c.known {
		if err := note(ctx, conn, now); err != nil {
			return err
		}
	}
	*c = check{seen: now, known: true, reconnects: reconnects, next: time.Now().Add(survey)}
	return nil
}

// info asks for the state of a stream. If the stream is not there, info makes it. The events of a lost EVENTS come back
// from the databases. Dead letters are kept nowhere else.
func (r *Relay) info(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	stream, err := r.stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		r.Log.WarnContext(ctx, "a stream is not there; making it again", "stream", name)
		if _, err = EnsureStreams(ctx, r.JS, r.Streams, r.Services); err == nil {
			stream, err = r.stream(ctx, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	return stream.CachedInfo(), nil
}

func (r *Relay) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	return r.JS.Stream(ctx, name)
}

// restore puts the events that the stream must have and does not have back into the outbox.
func (r *Relay) restore(ctx context.Context, conn *pgx.Conn, now seen) error {
	r.rebuild.begin()
	held, err := r.held(ctx, conn, now.Last)
	if err != nil {
		return fmt.Errorf("events in the stream: %w", err)
	}
	lost, err := missing(ctx, conn, now.Since, held)
	if err != nil {
		return fmt.Errorf("restore events: %w", postgres.Fault(err))
	}
	if len(lost) == 0 { // those that an earlier check has found may still wait in the outbox
		r.rebuild.compared()
		return nil
	}
	r.Log.WarnContext(ctx, "the stream of events has lost some of this service; they are published again",
		"events", len(lost), "stream", Stream)
	_, err = conn.Exec(ctx, `insert into outbox select unnest($1::bigint[]) on conflict do nothing`, lost)
	if err != nil {
		return fmt.Errorf("restore events: %w", postgres.Fault(err))
	}
	r.rebuild.lost(len(lost), lost[len(lost)-1])
	return nil
}

// missing returns the positions of the published events since a time that are not among held. Both are in order.
func missing(ctx context.Context, conn *pgx.Conn, since time.Time, held []int64) (lost []int64, err error) {
	if kept := time.Now().Add(margin - keep); since.Before(kept) {
		since = kept
	}
	//nolint:rowserrcheck // ForEachRow returns it
	rows, _ := conn.Query(ctx, `select position from events e
		where time > $1 and not exists (select from outbox o where o.position = e.position) order by position`, since)
	var position int64
	_, err = pgx.ForEachRow(rows, []any{&position}, func() error {
		for len(held) > 0 && held[0] < position {
			held = held[1:]
		}
		if len(held) == 0 || held[0] != position {
			lost = append(lost, position)
		}
		return nil
	})
	return lost, err
}

// note saves what was seen of the stream, so that the next check can compare with it.
func note(ctx context.Context, conn *pgx.Conn, now seen) error {
	_, err := conn.Exec(ctx, `insert into stream_seen (created, server, first, last, missing, since)
		values (@created, @server, @first, @last, @missing, @since)
		on conflict (single) do update set created = @created, server = @server, first = @first, last = @last,
			missing = @missing, since = @since`,
		postgres.Args{"created": now.Created, "server": now.Server, "first": now.First, "last": now.Last,
			"missing": now.Missing, "since": now.Since})
	if err != nil {
		return fmt.Errorf("note the stream: %w", postgres.Fault(err))
	}
	return nil
}

// lastSeen returns what a relay of this service saved last, or the zero value if there was no check yet.
func lastSeen(ctx context.Context, conn *pgx.Conn) (seen, error) {
	rows, err := conn.Query(ctx, `select created, server, first, last, missing, since from stream_seen`)
	if err != nil {
		return seen{}, fmt.Errorf("last state of the stream: %w", postgres.Fault(err))
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[seen])
	if errors.Is(err, pgx.ErrNoRows) {
		return seen{}, nil
	}
	return s, postgres.Fault(err)
}

// expires reports whether the stream's oldest message is about to expire, so that those before it have expired.
func expires(info *jetstream.StreamInfo) bool {
	return info.State.Msgs > 0 && info.State.FirstTime.Before(time.Now().Add(margin-keep))
}

// full reports whether the stream has dropped its oldest messages because it was full. It drops only as many as it
// must, so at most the largest event still fits.
func full(info *jetstream.StreamInfo) bool {
	return int64(info.State.Bytes) > info.Config.MaxBytes-2*largest
}

// rebuild is what readiness says while the stream is compared with the database and lost events are published again.
type rebuild struct {
	mu    sync.Mutex
	since time.Time // zero if there is nothing to say
	// events is how many events were lost, and last the highest of their positions. Before they are known both are 0.
	events int
	last   int64
}

func (b *rebuild) begin() { b.lost(0, 0) }

// lost adds events that were lost, and the highest of their positions.
func (b *rebuild) lost(events int, last int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		b.since = time.Now()
	}
	b.events, b.last = b.events+events, max(b.last, last)
}

// end ends what begin began. It returns for how long the stream was rebuilt, and how many events were lost.
func (b *rebuild) end() (took time.Duration, events int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	took, events = time.Since(b.since), b.events
	b.since, b.events, b.last = time.Time{}, 0, 0
	return took, events
}

// compared ends a comparison that found nothing, or that broke off here and that another relay has finished.
func (b *rebuild) compared() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.events == 0 {
		b.since = time.Time{}
	}
}

// over reports whether all lost events are published, if those up to a position are.
func (b *rebuild) over(upTo int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last > 0 && upTo >= b.last
}

// err returns what is under way, or nil.
func (b *rebuild) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.since.IsZero(), b.events == 0 && time.Since(b.since) < reportCheckAfter:
		return nil
	case b.events == 0:
		return fmt.Errorf("the stream %s is compared with the database since %s", Stream,
			b.since.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("the stream %s has lost %d events, which are published again since %s", Stream, b.events,
		b.since.UTC().Format(time.RFC3339))
}
