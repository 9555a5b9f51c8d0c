package event

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"

	"herald/shared/contract"
)

// listen handles the events that a contract marks as early for this service, until stop is called. It reads them from
// the wake-ups of the relays. If a wake-up is lost or its handler fails, the event still comes through the stream.
func (c Consumer) listen(ctx context.Context) (stop func(), err error) {
	handlers := map[string]Handler{} // by the type of their events
	subjects := map[string]bool{}
	for _, h := range c.Handlers {
		if h.kind.earlyFor == c.Service {
			handlers[h.kind.cloudEvent()] = h
			subjects[contract.WakeSubject(h.kind.service)] = true
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	// The channel is bounded. If it is full because handlers are slow, the event is dropped here and comes through
	// the stream.
	news := make(chan *nats.Msg, inHand)
	var busy sync.WaitGroup
	stop = func() {
		cancel()
		busy.Wait()
	}
	for subject := range subjects {
		sub, err := c.JS.Conn().QueueSubscribe(subject, c.Service, func(m *nats.Msg) {
			select {
			case news <- m:
			default:
			}
		})
		if err != nil {
			stop()
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	}
	busy.Go(func() {
		for {
			select {
			case m := <-news:
				handleEarly(ctx, handlers, m)
			case <-ctx.Done():
				return
			}
		}
	})
	return stop, nil
}

// handleEarly handles the event of a wake-up if the event is marked as early.
func handleEarly(ctx context.Context, handlers map[string]Handler, m *nats.Msg) {
	handler, early := handlers[m.Header.Get(contract.HeaderType)]
	if !early {
		return
	}
	if d, err := delivery(m.Header); err == nil {
		_ = handler.try(ctx, d, m.Data)
	}
}
