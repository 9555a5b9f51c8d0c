package event

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/id"
)

const (
	headerReason  = "Dead-Reason"
	headerService = "Dead-Service"
)

// bury puts an event that cannot be handled aside, with the reason, and takes it
// from the consumer.
func (c Consumer) bury(ctx context.Context, m jetstream.Msg, reason error) error {
	dead := &nats.Msg{Subject: "dead." + c.Service + "." + m.Subject(), Data: m.Data(), Header: nats.Header{}}
	for name, values := range m.Headers() {
		dead.Header[name] = values
	}
	dead.Header.Set(nats.MsgIdHdr, c.Service+"-"+m.Headers().Get(headerID))
	dead.Header.Set(headerService, c.Service)
	dead.Header.Set(headerReason, strings.Map(printable, reason.Error()))
	if _, err := c.JS.PublishMsg(ctx, dead); err != nil {
		return fmt.Errorf("put aside: %w", err)
	}
	c.Log.ErrorContext(ctx, "event put aside after too many faults", "subject", m.Subject(), "id", m.Headers().Get(headerID), "err", reason)
	return m.Ack()
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// Letter is an event that was put aside.
type Letter struct {
	Sequence uint64 // its place in the stream DEAD
	ID       string
	Service  string // whose handler failed
	Subject  string
	Reason   string
}

// Letters lists the events put aside, oldest first, at most limit.
func Letters(ctx context.Context, js jetstream.JetStream, limit int) ([]Letter, error) {
	var found []Letter
	err := eachDead(ctx, js, limit, func(m *jetstream.RawStreamMsg) error {
		found = append(found, Letter{m.Sequence, m.Header.Get(headerID), m.Header.Get(headerService), original(m.Subject), m.Header.Get(headerReason)})
		return nil
	})
	return found, err
}

// Redrive publishes the events put aside once more, at most limit, and forgets them.
// All consumers of a subject get them; those that had them drop the repeat.
func Redrive(ctx context.Context, js jetstream.JetStream, limit int) (int, error) {
	stream, err := js.Stream(ctx, Dead)
	if err != nil {
		return 0, fmt.Errorf("redrive: %w", err)
	}
	n := 0
	err = eachDead(ctx, js, limit, func(m *jetstream.RawStreamMsg) error {
		// The event's own Nats-Msg-Id would be dropped as a repeat.
		again := &nats.Msg{Subject: original(m.Subject), Data: m.Data, Header: nats.Header{nats.MsgIdHdr: {id.New()}}}
		for name, values := range m.Header {
			if strings.HasPrefix(name, "ce-") || name == headerType {
				again.Header[name] = values
			}
		}
		if _, err := js.PublishMsg(ctx, again); err != nil {
			return fmt.Errorf("redrive: %w", err)
		}
		n++
		return stream.DeleteMsg(ctx, m.Sequence)
	})
	return n, err
}

// original is the subject of an event that was put aside: dead.<service>.<subject>.
func original(subject string) string { return strings.SplitN(subject, ".", 3)[2] }

func eachDead(ctx context.Context, js jetstream.JetStream, limit int, visit func(*jetstream.RawStreamMsg) error) error {
	stream, err := js.Stream(ctx, Dead)
	if err != nil {
		return fmt.Errorf("stream %s: %w", Dead, err)
	}
	state := stream.CachedInfo().State
	for seq, seen := max(state.FirstSeq, 1), 0; seq <= state.LastSeq && seen < limit; seq++ {
		m, err := stream.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("stream %s: %w", Dead, err)
		}
		if err := visit(m); err != nil {
			return err
		}
		seen++
	}
	return nil
}
