package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/contract"
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
	// fullPart is the share of the stream's size above which the stream may have dropped its oldest messages because
	// it was full.
	fullPart = 0.9
)

// streamState is what a relay knows about the stream. Nobody deletes single messages. So a message that is missing
// between the first and the last was lost, for example in a damaged file.
type streamState struct {
	Created time.Time
	First   int64
	Missing int64
}

// check is the state that the working relay compares with the next one to detect a loss. The zero value always leads
// to a full check.
type check struct {
	streamState
	newest     uint64
	reconnects uint64
	next       time.Time
}

// checkStream makes sure that the stream exists and has this service's published events of the last seven days, as
// far as there is space. Missing events are put back into the outbox. The full check runs only if the stream has
// become smaller or if the connection to NATS was lost.
func (r *Relay) checkStream(ctx context.Context, conn *pgx.Conn, last *check) error {
	if time.Now().Before(last.next) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, round)
	defer cancel()
	reconnects := r.Conn.Stats().Reconnects
	stream, err := r.state(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		r.Log.WarnContext(ctx, "the stream of events is not there; making it again", "stream", Stream)
		if _, err = EnsureStreams(ctx, r.JS, r.Streams, r.Services); err == nil {
			stream, err = r.state(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", Stream, err)
	}
	info := stream.CachedInfo()
	now := check{
		streamState: streamState{
			Created: info.Created.Truncate(time.Microsecond), First: int64(info.State.FirstSeq),
			Missing: int64(info.State.NumDeleted),
		},
		newest: info.State.LastSeq, reconnects: reconnects, next: time.Now().Add(survey),
	}
	less := now.newest < last.newest || now.Missing > last.Missing || !now.Created.Equal(last.Created) ||
		now.First > last.First && early(info)
	if less || reconnects != last.reconnects {
		if err := r.restore(ctx, conn, info, now.streamState); err != nil {
			return err
		}
	}
	*last, r.first = now, info.State.FirstSeq
	return nil
}

// state asks for the state of the stream.
func (r *Relay) state(ctx context.Context) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	return r.JS.Stream(ctx, Stream)
}

// restore puts the events that the stream has lost back into the outbox.
func (r *Relay) restore(ctx context.Context, conn *pgx.Conn, info *jetstream.StreamInfo, now streamState) error {
	before, err := lastState(ctx, conn)
	if err != nil {
		return err
	}
	newest, err := r.own(ctx, map[string]any{"last_by_subj": r.subjects()}, math.MaxInt64)
	if err != nil {
		return err
	}
	lost := postgres.Args{"after": newest, "before": 0, "since": time.Now().Add(margin - keep)}
	same := now.Created.Equal(before.Created)
	switch {
	case newest == 0:
	case same && now.Missing > before.Missing:
		// The positions of the lost events are unknown, so all are published. Consumers drop those that they know.
		lost["after"] = 0
	case same && full(info):
		lost["since"] = info.State.FirstTime
	case same && now.First > before.First && early(info), !same && !before.Created.IsZero():
		oldest, err := r.own(ctx, map[string]any{"seq": now.First, "next_by_subj": r.subjects()}, 0)
		if err != nil {
			return err
		}
		lost["before"] = oldest
	}
	tag, err := conn.Exec(ctx, `insert into outbox select position from events
		where (position > @after or position < @before) and time > @since on conflict do nothing`, lost)
	if err != nil {
		return fmt.Errorf("restore events: %w", postgres.Fault(err))
	}
	if n := tag.RowsAffected(); n > 0 {
		r.Log.WarnContext(ctx, "the stream of events has lost some of this service; they are published again",
			"events", n, "stream", Stream)
	}
	return note(ctx, conn, now)
}

// note saves the state of the stream, so that the next check can compare with it.
func note(ctx context.Context, conn *pgx.Conn, now streamState) error {
	_, err := conn.Exec(ctx, `insert into stream_seen (created, first, missing) values (@created, @first, @missing)
		on conflict (single) do update set created = @created, first = @first, missing = @missing`,
		postgres.Args{"created": now.Created, "first": now.First, "missing": now.Missing})
	if err != nil {
		return fmt.Errorf("note the stream: %w", postgres.Fault(err))
	}
	return nil
}

// early reports whether the stream has dropped messages before they expired, although it was not full.
func early(info *jetstream.StreamInfo) bool {
	expected := time.Now().Add(margin - keep)
	return !full(info) && (info.State.Msgs == 0 || info.State.FirstTime.After(expected))
}

// full reports whether the stream may have dropped its oldest messages because it was full.
func full(info *jetstream.StreamInfo) bool {
	return float64(info.State.Bytes) > fullPart*float64(info.Config.MaxBytes)
}

// lastState returns the state that a relay of this service saved last, or the zero value if there was no check yet.
func lastState(ctx context.Context, conn *pgx.Conn) (streamState, error) {
	rows, err := conn.Query(ctx, `select created, first, missing from stream_seen`)
	if err != nil {
		return streamState{}, fmt.Errorf("last state of the stream: %w", postgres.Fault(err))
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[streamState])
	if errors.Is(err, pgx.ErrNoRows) {
		return streamState{}, nil
	}
	return s, postgres.Fault(err)
}

func (r *Relay) subjects() string { return "events." + r.Service + ".>" }

// own returns the position of one of this service's events in the stream. It returns 0 if there is no such event, and
// strange if the message is not an event. It sends the request itself, because the NATS client cannot ask for the
// last message of a subject with wildcards.
func (r *Relay) own(ctx context.Context, which map[string]any, strange int64) (int64, error) {
	request, err := json.Marshal(which)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	m, err := r.Conn.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+Stream, request)
	if err != nil {
		return 0, fmt.Errorf("event in the stream: %w", err)
	}
	switch status := m.Header.Get("Status"); status {
	case "":
	case strconv.Itoa(http.StatusNotFound):
		return 0, nil
	default:
		return 0, fmt.Errorf("event in the stream: NATS answered %s %s", status, m.Header.Get("Description"))
	}
	position, err := strconv.ParseInt(m.Header.Get(contract.HeaderSequence), 10, 64)
	if err != nil {
		return strange, nil // every event of Herald has a position
	}
	return position, nil
}
