package event

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/contract"
)

const (
	headerReason  = "Dead-Reason"
	headerService = "Dead-Service"
	// headerRedriven names the only service that handles a redriven event.
	headerRedriven = "Redriven-For"
)

// ErrNoLetter is returned for a number that no dead letter has.
var ErrNoLetter = errors.New("no such dead letter")

// deadLetter turns an event that cannot be handled into a dead letter with the reason, and acknowledges the event.
func (c Consumer) deadLetter(ctx context.Context, m jetstream.Msg, reason error) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("put aside: %w", err)
	}
	dead := &nats.Msg{Subject: "dead." + c.Service + "." + m.Subject(), Data: m.Data(), Header: attributes(m.Headers())}
	// The event's own id does not fit: if a redriven event fails again, that is another letter.
	dead.Header.Set(nats.MsgIdHdr, fmt.Sprintf("%s-%d", c.Service, meta.Sequence.Stream))
	dead.Header.Set(headerService, c.Service)
	dead.Header.Set(headerReason, printable(reason.Error()))
	if _, err := c.JS.PublishMsg(ctx, dead); err != nil {
		return fmt.Errorf("put aside: %w", err)
	}
	c.Log.ErrorContext(ctx, "event put aside after too many faults", "subject", m.Subject(),
		"id", m.Headers().Get(contract.HeaderID), "err", reason)
	return m.Ack()
}

// attributes returns the headers of the event itself. It leaves out the headers of a batch and of a dead letter.
func attributes(h nats.Header) nats.Header {
	found := nats.Header{}
	for name, values := range h {
		if strings.HasPrefix(name, "ce-") || name == "content-type" {
			found[name] = values
		}
	}
	return found
}

// printable replaces control characters, line ends and marks of writing direction by spaces, because a terminal would
// act on them.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

// Letter is a dead letter: an event that a service could not handle. Its texts are safe to print on a terminal.
type Letter struct {
	// Sequence is the letter's number in the stream DEAD; no number is used twice.
	Sequence uint64 `json:"sequence"`
	// Time is when the event became a dead letter.
	Time time.Time `json:"time"`
	// Service is the service whose handler failed.
	Service string `json:"service"`
	Subject string `json:"subject"`
	EventID string `json:"eventId"`
	Reason  string `json:"reason"`
}

func letter(m *jetstream.RawStreamMsg) Letter {
	return Letter{
		Sequence: m.Sequence, Time: m.Time.UTC(), Service: printable(m.Header.Get(headerService)),
		Subject: printable(original(m.Subject)), EventID: printable(m.Header.Get(contract.HeaderID)),
		Reason: printable(m.Header.Get(headerReason)),
	}
}

// Letters lists at most limit dead letters, oldest first.
func Letters(ctx context.Context, js jetstream.JetStream, limit int) ([]Letter, error) {
	stream, err := dead(ctx, js)
	if err != nil {
		return nil, err
	}
	var found []Letter
	// Letters that arrive during the loop are left out, so that the loop ends.
	last := stream.CachedInfo().State.LastSeq
	for next := uint64(1); next <= last && len(found) < limit; {
		m, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject("dead.>")) // the first letter at or after next
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", Dead, err)
		}
		found, next = append(found, letter(m)), m.Sequence+1
	}
	return found, nil
}

// CountLetters returns how many dead letters are of a service.
func CountLetters(ctx context.Context, js jetstream.JetStream, service string) (n uint64, err error) {
	stream, err := dead(ctx, js)
	if err != nil {
		return 0, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter("dead."+service+".>"))
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", Dead, err)
	}
	for _, letters := range info.State.Subjects {
		n += letters
	}
	return n, nil
}

// Redrive publishes the event of a dead letter again and deletes the letter. Only the service that could not handle
// the event gets it. After a crash between the two steps the event may be redriven twice.
func Redrive(ctx context.Context, js jetstream.JetStream, sequence uint64) (Letter, error) {
	stream, err := dead(ctx, js)
	if err != nil {
		return Letter{}, err
	}
	m, err := stream.GetMsg(ctx, sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Letter{}, ErrNoLetter
	}
	if err != nil {
		return Letter{}, fmt.Errorf("redrive %d: %w", sequence, err)
	}
	// With the event's own Nats-Msg-Id JetStream would drop the message as a repeat.
	again := &nats.Msg{Subject: original(m.Subject), Data: m.Data, Header: attributes(m.Header)}
	again.Header[nats.MsgIdHdr] = []string{fmt.Sprintf("dead-%d-%d", m.Sequence, m.Time.UnixNano())}
	again.Header[headerRedriven] = m.Header[headerService]
	if _, err := js.PublishMsg(ctx, again); err != nil {
		return Letter{}, fmt.Errorf("redrive %d: %w", sequence, err)
	}
	if err := stream.DeleteMsg(ctx, sequence); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return Letter{}, fmt.Errorf("redrive %d: forget: %w", sequence, err)
	}
	return letter(m), nil
}

// elsewhere reports whether an event was redriven for a different service.
func (c Consumer) elsewhere(m jetstream.Msg) bool {
	services := m.Headers()[headerRedriven]
	return len(services) > 0 && !slices.Contains(services, c.Service)
}

func dead(ctx context.Context, js jetstream.JetStream) (jetstream.Stream, error) {
	stream, err := js.Stream(ctx, Dead)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", Dead, err)
	}
	return stream, nil
}

// original returns the event's subject from a letter's: dead.<service>.<subject>.
func original(subject string) string { return strings.SplitN(subject, ".", 3)[2] }
