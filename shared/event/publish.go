package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/contract"
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

// publishEach publishes events of different aggregates one by one. JetStream takes an event for a repeat if it has got
// it in the last two minutes, even if it has lost the event meanwhile. A lost event is published again with another
// message id. That id follows from the event and the lost message, so that another try stores no event twice.
func (r *Relay) publishEach(ctx context.Context, events []Event) error {
	messages := make([]*nats.Msg, len(events))
	for i, e := range events {
		messages[i] = e.message(r.Service)
	}
	for len(messages) > 0 {
		repeats, err := r.send(ctx, messages)
		if err != nil {
			return err
		}
		if messages, err = r.lost(ctx, repeats); err != nil {
			return fmt.Errorf("events in the stream: %w", err)
		}
	}
	return nil
}

// repeat is a message that JetStream has not stored, because it takes it for a repeat of the message with a number.
type repeat struct {
	*nats.Msg
	of uint64
}

// send sends all messages before it waits for the acknowledgements. It returns those that were taken for repeats.
func (r *Relay) send(ctx context.Context, messages []*nats.Msg) (repeats []repeat, err error) {
	acks := make([]jetstream.PubAckFuture, len(messages))
	for i, m := range messages {
		if acks[i], err = r.JS.PublishMsgAsync(m); err != nil {
			return nil, fmt.Errorf("publish event %s: %w", m.Header.Get(contract.HeaderID), err)
		}
	}
	late := time.NewTimer(ackWait)
	defer late.Stop()
	for i, ack := range acks {
		id := messages[i].Header.Get(contract.HeaderID)
		select {
		case stored := <-ack.Ok():
			if stored.Duplicate {
				repeats = append(repeats, repeat{messages[i], stored.Sequence})
			}
		case err := <-ack.Err():
			return nil, fmt.Errorf("publish event %s: %w", id, err)
		case <-late.C:
			return nil, fmt.Errorf("publish event %s: no acknowledgement within %s", id, ackWait)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return repeats, nil
}

// lost returns those messages that the stream does not have, with other message ids. In a cluster a server that lags
// behind may answer. Then an event is stored twice, and consumers drop the second.
func (r *Relay) lost(ctx context.Context, repeats []repeat) (lost []*nats.Msg, err error) {
	inbox := r.Conn.NewInbox()
	answers, err := r.Conn.SubscribeSync(inbox + ".*")
	if err != nil {
		return nil, err
	}
	defer answers.Unsubscribe()
	for i, m := range repeats {
		request, err := json.Marshal(direct{Sequence: m.of})
		if err != nil {
			return nil, err
		}
		if err := r.Conn.PublishRequest(directGet, inbox+"."+strconv.Itoa(i), request); err != nil {
			return nil, err
		}
	}
	for range repeats {
		m, status, err := answer(ctx, answers)
		if err != nil {
			return nil, err
		}
		i, err := strconv.Atoi(m.Subject[len(inbox)+1:])
		if err != nil {
			return nil, err
		}
		if missed := repeats[i]; status != 0 || m.Header.Get(nats.MsgIdHdr) != missed.Header.Get(nats.MsgIdHdr) {
			again := &nats.Msg{Subject: missed.Subject, Data: missed.Data, Header: maps.Clone(missed.Header)}
			again.Header.Set(nats.MsgIdHdr, fmt.Sprintf("%s %d", again.Header.Get(contract.HeaderID), missed.of))
			lost = append(lost, again)
		}
	}
	return lost, nil
}
