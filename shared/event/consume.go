package event

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
)

const (
	lanes      = 8  // aggregates handled at a time
	laneLength = 16 // deliveries that wait in a lane
	maxTries   = 10 // faults after which an event is put aside
	redeliver  = 30 * time.Second
	longest    = 15 * time.Second // between tries while somebody is away
)

// Delivery is an event as a consumer meets it. The same one may come again, and an
// older one of the same aggregate after a newer: Sequence tells.
type Delivery struct {
	ID             string
	AggregateID    string
	OrganizationID string
	Actor          string
	Sequence       int64
	Time           time.Time
}

// Handler reacts to one kind of event.
type Handler struct {
	kind   kind
	handle func(context.Context, Delivery, []byte) error
}

// On makes a handler for the events that the message type describes. Handlers read
// an event as "this changed" and bear repeats.
func On[E any, P interface {
	*E
	proto.Message
}](fn func(context.Context, Delivery, P) error) Handler {
	return Handler{kindOf(P(new(E)).ProtoReflect().Descriptor()), func(ctx context.Context, d Delivery, data []byte) error {
		m := P(new(E))
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
			return fmt.Errorf("decode event: %w", err)
		}
		return fn(ctx, d, m)
	}}
}

// Consumer hands events to a service's handlers, each aggregate's in order.
// Replicas share the work.
type Consumer struct {
	Service  string
	JS       jetstream.JetStream
	Log      *slog.Logger
	Handlers []Handler
	seed     maphash.Seed
}

// Run consumes until ctx ends.
func (c Consumer) Run(ctx context.Context) {
	c.seed = maphash.MakeSeed()
	for ctx.Err() == nil {
		if err := c.consume(ctx); err != nil && ctx.Err() == nil {
			c.Log.WarnContext(ctx, "events are not consumed; trying again", "err", err)
			wait(ctx, nil, pause)
		}
	}
}

func (c Consumer) consume(ctx context.Context) error {
	config := jetstream.ConsumerConfig{Durable: c.Service, AckPolicy: jetstream.AckExplicitPolicy, AckWait: redeliver, MaxDeliver: -1, MaxAckPending: 1024}
	for _, h := range c.Handlers {
		config.FilterSubjects = append(config.FilterSubjects, h.kind.subject("*"))
	}
	consumer, err := c.JS.CreateOrUpdateConsumer(ctx, Stream, config)
	if err != nil {
		return fmt.Errorf("consumer %s: %w", c.Service, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(lanes * laneLength))
	if err != nil {
		return fmt.Errorf("consumer %s: %w", c.Service, err)
	}
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	defer messages.Stop()
	var busy sync.WaitGroup
	defer busy.Wait()
	queues := make([]chan jetstream.Msg, lanes)
	for i := range queues {
		queues[i] = make(chan jetstream.Msg, laneLength)
		defer close(queues[i])
		busy.Go(func() {
			for m := range queues[i] {
				c.take(ctx, m)
			}
		})
	}
	for {
		m, err := messages.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("consumer %s: %w", c.Service, err)
		}
		lane := maphash.String(c.seed, m.Headers().Get(headerSubject)) % lanes
		select {
		case queues[lane] <- m:
		case <-ctx.Done():
			return nil
		}
	}
}

// take handles one delivery to its end: acknowledged, to be delivered again, or put
// aside among the dead.
func (c Consumer) take(ctx context.Context, m jetstream.Msg) {
	err := c.patiently(ctx, m)
	if ctx.Err() != nil {
		return // not acknowledged: it comes again
	}
	meta, _ := m.Metadata()
	switch {
	case err == nil:
		_ = m.Ack() // a lost acknowledgement is a repeat
	case meta != nil && meta.NumDelivered >= maxTries:
		if err := c.bury(ctx, m, err); err != nil {
			c.Log.ErrorContext(ctx, "event cannot be put aside", "subject", m.Subject(), "err", err)
			_ = m.NakWithDelay(longest)
		}
	default:
		c.Log.WarnContext(ctx, "event not handled; it comes again", "subject", m.Subject(), "id", m.Headers().Get(headerID), "err", err)
		_ = m.NakWithDelay(time.Duration(meta.NumDelivered) * pause)
	}
}

// patiently tries again while somebody whom the handler needs is away. That is not
// the event's fault: it counts for nothing, and holds back those behind it.
func (c Consumer) patiently(ctx context.Context, m jetstream.Msg) error {
	for delay := pause; ; delay = min(2*delay, longest) {
		err := c.handle(ctx, m)
		if code := fault.From(err).Code; err == nil || code != fault.Unavailable && code != fault.Deadline {
			return err
		}
		_ = m.InProgress()
		if !wait(ctx, nil, delay) {
			return err
		}
	}
}

func (c Consumer) handle(ctx context.Context, m jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, redeliver/2)
	defer cancel()
	h := m.Headers()
	d := Delivery{ID: h.Get(headerID), AggregateID: h.Get(headerSubject), OrganizationID: h.Get(headerOrganization), Actor: h.Get(headerActor)}
	var err error
	if d.Sequence, err = strconv.ParseInt(h.Get(headerSequence), 10, 64); err != nil {
		return fmt.Errorf("%s: %w", headerSequence, err)
	}
	if d.Time, err = time.Parse(time.RFC3339Nano, h.Get(headerTime)); err != nil {
		return fmt.Errorf("%s: %w", headerTime, err)
	}
	for _, handler := range c.Handlers {
		if m.Subject() == handler.kind.subject(token(d.OrganizationID)) {
			return handler.handle(ctx, d, m.Data())
		}
	}
	return nil // an older version of the consumer asked for it
}
