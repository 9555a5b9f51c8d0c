package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/bus"
	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/retry"
)

const (
	parallel  = 8   // events handled at the same time
	inHand    = 256 // limit of unanswered deliveries of all replicas together
	maxTries  = 10  // failed tries after which an event becomes a dead letter
	redeliver = 15 * time.Second
	heartbeat = 5 * time.Second  // interval of JetStream's heartbeats
	handling  = 15 * time.Second // time limit of one try
	maxPause  = 15 * time.Second // between two tries
	// uncreatable is JetStream's error code of a consumer that it cannot make.
	uncreatable = jetstream.JSErrCodeConsumerCreate
)

// Consumer passes events to a service's handlers. The events of one aggregate are handled in order. Replicas share
// the work.
type Consumer struct {
	Service  string
	JS       jetstream.JetStream
	Log      *slog.Logger
	Handlers []Handler
	// Stopped records when no events can be consumed. It may be nil.
	Stopped *Stopped
	outage  *retry.Outage
	seed    maphash.Seed
	// held are the deliveries that this replica has not answered yet.
	held *sync.Map
	// pause is the wait before the first retry. redeliver is how long JetStream waits for a progress report before it
	// delivers an event again. heartbeat is the interval of JetStream's heartbeats. Tests shorten them.
	pause, redeliver, heartbeat time.Duration
}

// Run consumes until ctx ends.
func (c Consumer) Run(ctx context.Context) {
	c.seed, c.held, c.pause = maphash.MakeSeed(), new(sync.Map), cmp.Or(c.pause, pause)
	c.redeliver, c.heartbeat = cmp.Or(c.redeliver, redeliver), cmp.Or(c.heartbeat, heartbeat)
	c.outage = &retry.Outage{
		Log: c.Log, Begins: "events are not consumed; trying again", Ends: "events are consumed again",
		Explained: bus.IsOutage,
	}
	var keeping sync.WaitGroup
	defer keeping.Wait()
	keeping.Go(func() { c.keep(ctx) })
	for silent := false; ctx.Err() == nil; {
		err := c.consume(ctx, silent)
		silent = errors.Is(err, jetstream.ErrNoHeartbeat)
		if err != nil && ctx.Err() == nil {
			c.Stopped.note(err)
			c.outage.Failed(err)
			retry.Wait(ctx, pause)
		}
	}
}

// keep reports all held deliveries to JetStream as in progress. Without this, JetStream would deliver an event again
// while it waits for earlier events. Each such delivery would count as a failed try.
func (c Consumer) keep(ctx context.Context) {
	for retry.Wait(ctx, c.redeliver/3) {
		c.held.Range(func(m, _ any) bool {
			_ = m.(jetstream.Msg).InProgress() // if it is lost, the event is delivered twice
			return true
		})
	}
}

// consume handles events until JetStream sends none any more. After a silence, a new request alone does not show that
// events come: something must come, or nothing for so long that the client would have missed heartbeats.
func (c Consumer) consume(ctx context.Context, silent bool) error {
	end, err := c.listen(ctx)
	if err != nil {
		return fmt.Errorf("consumer %s: %w", c.Service, err)
	}
	defer end()
	reconnects := c.JS.Conn().StatusChanged(nats.CONNECTED)
	defer c.JS.Conn().RemoveStatusListener(reconnects)
	messages, err := c.messages(ctx)
	if err != nil {
		return fmt.Errorf("consumer %s: %w", c.Service, err)
	}
	go c.checkAfter(ctx, reconnects, messages)
	if !silent {
		c.worked()
	}
	stop := context.AfterFunc(ctx, func() { c.leave(messages) })
	defer stop()
	defer messages.Stop()
	var busy sync.WaitGroup
	defer busy.Wait()
	queues := make([]chan jetstream.Msg, parallel)
	for i := range queues {
		queues[i] = make(chan jetstream.Msg, inHand) // never full: JetStream sends at most inHand
		defer close(queues[i])
		busy.Go(func() {
			for m := range queues[i] {
				c.take(ctx, m)
				c.held.Delete(m)
			}
		})
	}
	for {
		m, err := messages.Next(jetstream.NextMaxWait(3 * c.heartbeat))
		switch {
		case err == nil:
			c.worked()
		case errors.Is(err, nats.ErrTimeout):
			c.worked()
			continue
		case errors.Is(err, jetstream.ErrMsgIteratorClosed):
			return nil
		default:
			return fmt.Errorf("consumer %s: %w", c.Service, err)
		}
		c.held.Store(m, nil)
		queues[maphash.String(c.seed, m.Headers().Get(contract.HeaderSubject))%parallel] <- m
	}
}

// checkAfter ends messages if their consumer is gone after a reconnect. NATS does not tell the client, which would
// notice it only after two missed heartbeats. It returns when the listener to reconnects is removed.
func (c Consumer) checkAfter(ctx context.Context, reconnects <-chan nats.Status, messages jetstream.MessagesContext) {
	for range reconnects {
		ctx, cancel := context.WithTimeout(ctx, lookWait)
		_, err := c.JS.Consumer(ctx, Stream, c.Service)
		cancel()
		if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			messages.Stop()
		}
	}
}

// worked notes that events come.
func (c Consumer) worked() {
	c.Stopped.note(nil)
	c.outage.Worked()
}

// leave stops asking for events. Events that were already sent are still received, so that take can return them for
// another replica.
func (c Consumer) leave(messages jetstream.MessagesContext) {
	if c.JS.Conn().IsConnected() {
		messages.Drain()
	} else {
		messages.Stop()
	}
}

func (c Consumer) messages(ctx context.Context) (jetstream.MessagesContext, error) {
	config := jetstream.ConsumerConfig{
		Durable: c.Service, AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.redeliver,
		MaxDeliver: -1, MaxAckPending: inHand,
	}
	for _, h := range c.Handlers {
		config.FilterSubjects = append(config.FilterSubjects, h.kind.subject("*"))
	}
	consumer, err := c.JS.CreateOrUpdateConsumer(ctx, Stream, config)
	if refusal, ok := errors.AsType[*jetstream.APIError](err); ok && refusal.ErrorCode == uncreatable {
		// NATS cannot read the file with the consumer's place, and removes no consumer of which it cannot read a file.
		// So it gets one without files. After each start of NATS it gets all events, and handlers drop those that they
		// know.
		config.MemoryStorage = true
		consumer, err = c.JS.CreateOrUpdateConsumer(ctx, Stream, config)
	}
	if err != nil {
		return nil, err
	}
	// The client can miscount the messages that it has asked for, and then it asks for no more. It recovers after two
	// missed heartbeats. A large batch makes this rare.
	return consumer.Messages(jetstream.PullMaxMessages(inHand), jetstream.PullHeartbeat(c.heartbeat))
}

// take handles one delivery and answers it. The event is acknowledged, delivered again or turned into a dead letter.
func (c Consumer) take(ctx context.Context, m jetstream.Msg) {
	err := c.patiently(ctx, m)
	if err == nil {
		_ = m.Ack() // if it is lost, the event is delivered twice
		return
	}
	if ctx.Err() != nil {
		_ = m.Nak() // another replica handles it
		return
	}
	tries := deliveries(m)
	if tries < maxTries {
		c.Log.WarnContext(ctx, "event not handled; it comes again", "subject", m.Subject(),
			"id", m.Headers().Get(contract.HeaderID), "err", err)
		_ = m.NakWithDelay(time.Duration(tries) * c.pause)
		return
	}
	if err := c.deadLetter(ctx, m, err); err != nil {
		c.Log.ErrorContext(ctx, "event cannot be put aside", "subject", m.Subject(), "err", err)
		_ = m.NakWithDelay(min(time.Duration(tries)*c.pause, maxPause))
	}
}

func deliveries(m jetstream.Msg) uint64 {
	meta, err := m.Metadata()
	if err != nil {
		return 1 // not from a consumer
	}
	return meta.NumDelivered
}

// patiently tries again while something that the handler needs is unavailable or overloaded. Such a try does not
// count as a failed try, and later events of the queue wait. A try that exceeds the time limit counts, because an
// event that always takes too long would block the later events for ever.
func (c Consumer) patiently(ctx context.Context, m jetstream.Msg) error {
	for delay := c.pause; ; delay = min(2*delay, maxPause) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.handle(ctx, m)
		if err == nil || !passing(fault.From(err).Code) {
			return err
		}
		retry.Wait(ctx, delay)
	}
}

func passing(code fault.Code) bool {
	return code == fault.Unavailable || code == fault.Exhausted
}

// handle gives a delivery to its handler.
func (c Consumer) handle(ctx context.Context, m jetstream.Msg) error {
	if c.elsewhere(m) {
		return nil
	}
	d, err := delivery(m.Headers())
	if err != nil {
		return err
	}
	for _, handler := range c.Handlers {
		if m.Subject() == handler.kind.subject(token(d.OrganizationID)) {
			return handler.try(ctx, d, m.Data())
		}
	}
	return c.unhandled(m.Subject(), d)
}

// unhandled returns an error that says why no handler is for an event, and what to do about it.
func (c Consumer) unhandled(subject string, d Delivery) error {
	for _, handler := range c.Handlers {
		if strings.HasPrefix(subject, handler.kind.subject("")) {
			return fmt.Errorf("the header %s is %q, and the subject names another organization: "+
				"Herald publishes no such event, and it need not be redriven",
				contract.HeaderOrganization, d.OrganizationID)
		}
	}
	return fmt.Errorf("this replica of %s has no handler for it, but another one, of another version, asked for it: "+
		"redrive it when all replicas have one version", c.Service)
}
