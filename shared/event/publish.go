package event

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// smallBatch is the smallest number of events that are published as an atomic batch. JetStream syncs a batch to disk
// once, so from this number on a batch is faster than single messages.
const smallBatch = 32

// Headers of an atomic batch; the last message commits it.
const (
	headerBatch  = "Nats-Batch-Id"
	headerPlace  = "Nats-Batch-Sequence"
	headerCommit = "Nats-Batch-Commit"
)

// size returns the most bytes that an event can use in the stream EVENTS.
func (e Event) size() int64 {
	const names = 700 // header names, fixed values and the service's name
	return int64(names + len(e.Data) + 2*len(e.ID) + len(e.AggregateID) + 2*len(e.OrganizationID) + len(e.Actor) +
		2*len(e.Aggregate) + 2*len(e.Name))
}

// errRefused is returned if JetStream has stored nothing of a batch.
var errRefused = errors.New("batch refused")

// publishBatch publishes events as one atomic batch, in their order. JetStream refuses the whole batch if it already
// has one of the events, which happens after a relay crashed. It discards a batch that is not committed.
func (r *Relay) publishBatch(ctx context.Context, events []Event) error {
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	batch, last := strconv.FormatUint(rand.Uint64(), 36), len(events)-1
	for i, e := range events {
		m := e.message(r.Service)
		m.Header[headerBatch], m.Header[headerPlace] = []string{batch}, []string{strconv.Itoa(i + 1)}
		if i < last {
			if err := r.Conn.PublishMsg(m); err != nil {
				return fmt.Errorf("publish event %s: %w", e.ID, err)
			}
			continue
		}
		m.Header[headerCommit] = []string{"1"}
		ack, err := r.JS.PublishMsgAsync(m)
		if err != nil {
			return fmt.Errorf("publish a batch of %d events: %w", len(events), err)
		}
		return committed(ctx, ack, len(events))
	}
	return nil
}

// committed waits for JetStream's answer to a batch of n events.
func committed(ctx context.Context, ack jetstream.PubAckFuture, n int) error {
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		if refusal, ok := errors.AsType[*jetstream.APIError](err); ok {
			return fmt.Errorf("publish a batch of %d events: %w: %w", n, errRefused, refusal)
		}
		return fmt.Errorf("publish a batch of %d events: %w", n, err)
	case <-ctx.Done():
		return fmt.Errorf("publish a batch of %d events: no acknowledgement: %w", n, ctx.Err())
	}
}

// distinct returns the length of the longest prefix in which no aggregate occurs twice. These events may be published
// together, because the order within an aggregate is kept.
func distinct(events []Event) int {
	seen := make(map[string]bool, len(events))
	for i, e := range events {
		if seen[e.AggregateID] {
			return i
		}
		seen[e.AggregateID] = true
	}
	return len(events)
}

// publishEach publishes events of different aggregates one by one. It sends all of them
// before it waits for the acknowledgements.
func (r *Relay) publishEach(ctx context.Context, events []Event) error {
	acks := make([]jetstream.PubAckFuture, len(events))
	for i, e := range events {
		ack, err := r.JS.PublishMsgAsync(e.message(r.Service))
		if err != nil {
			return fmt.Errorf("publish event %s: %w", e.ID, err)
		}
		acks[i] = ack
	}
	late := time.NewTimer(ackWait)
	defer late.Stop()
	for i, ack := range acks {
		select {
		case stored := <-ack.Ok():
			if stored.Duplicate && stored.Sequence < r.first {
				if err := r.publishAgain(ctx, events[i]); err != nil {
					return err
				}
			}
		case err := <-ack.Err():
			return fmt.Errorf("publish event %s: %w", events[i].ID, err)
		case <-late.C:
			return fmt.Errorf("publish event %s: no acknowledgement within %s", events[i].ID, ackWait)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// publishAgain publishes an event that JetStream stored a short time ago and lost. With the same message id JetStream
// would drop the event as a repeat, so the event gets a new message id.
func (r *Relay) publishAgain(ctx context.Context, e Event) error {
	m := e.message(r.Service)
	m.Header.Set(jetstream.MsgIDHeader, e.ID+" "+crand.Text())
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	if _, err := r.JS.PublishMsg(ctx, m); err != nil {
		return fmt.Errorf("publish event %s again: %w", e.ID, err)
	}
	return nil
}
