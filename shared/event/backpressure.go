package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	freshness   = 100 * time.Millisecond // how long JetStream's answer about free space is used
	catchUp     = 100 * time.Millisecond // how often a waiting relay checks whether it may continue
	reportAfter = 5 * time.Second        // shorter waits are usual; longer ones are logged and reported

	smallest = 256      // the fewest bytes of an event in EVENTS
	largest  = 10 << 10 // the most bytes: 8 KiB of data and the headers

	// A window uses at most 1/64 of the stream, and 1/8 of the stream stays free. This is enough for the windows of
	// eight other relays that JetStream's answer does not include yet.
	windowPart = 64
	marginPart = 8
)

// backpressure makes a relay wait while EVENTS has no free space. A full stream drops its oldest events, and an event
// must not be dropped before all services of Herald have handled it.
type backpressure struct {
	js       jetstream.JetStream
	services []string
	// free is how many bytes may be published.
	free int64
	// lagging is the service whose unhandled events limit free.
	lagging string
	// window is how many bytes may be published together.
	window int64
	asked  time.Time
}

func newBackpressure(ctx context.Context, js jetstream.JetStream, services []string) (*backpressure, error) {
	b := &backpressure{js: js, services: services}
	if err := b.ask(ctx, 0); err != nil {
		return nil, fmt.Errorf("stream %s: %w", Stream, err)
	}
	return b, nil
}

// cut returns how many events may be published together, at least one, and the most bytes that they can use in
// EVENTS.
func (b *backpressure) cut(events []Event) (n int, size int64) {
	for i, e := range events {
		more := e.size()
		if i > 0 && size+more > b.window {
			return i, size
		}
		size += more
	}
	return len(events), size
}

// take reserves n bytes of the free space. If there is not enough, it reserves nothing and returns the service whose
// unhandled events would be dropped.
func (b *backpressure) take(ctx context.Context, n int64) (lagging string, err error) {
	if n > b.free || time.Since(b.asked) > freshness {
		if err := b.ask(ctx, n); err != nil {
			return "", fmt.Errorf("stream %s: %w", Stream, err)
		}
	}
	if n > b.free {
		return b.lagging, nil
	}
	b.free -= n
	return "", nil
}

// ask asks JetStream how much space is free. If the estimate is less than n, it asks for more exact numbers. It waits
// at most as long as for an acknowledgement, because the answer may be lost when NATS stops.
func (b *backpressure) ask(ctx context.Context, n int64) error {
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	now := time.Now()
	stream, err := b.js.Stream(ctx, Stream)
	if err != nil {
		return err
	}
	size := stream.CachedInfo().Config.MaxBytes
	b.window, b.asked = size/windowPart, now
	return b.measure(ctx, stream, size, n)
}

// measure sets how much space is free in a stream of the given size. If the estimate is less than n, it measures more
// exactly. A value below zero means that the unhandled events do not fit.
func (b *backpressure) measure(ctx context.Context, stream jetstream.Stream, size, n int64) error {
	state := stream.CachedInfo().State
	most := size - size/marginPart
	b.free, b.lagging = most-int64(state.Bytes), ""
	if n <= b.free {
		return nil // nothing is dropped
	}
	b.free = most
	consumers := stream.ListConsumers(ctx)
	for c := range consumers.Info() {
		if !slices.Contains(b.services, c.Name) || c.NumPending == 0 && c.NumAckPending == 0 {
			continue
		}
		free := most - unhandledBytes(state, c.AckFloor.Stream+1)
		if n > free {
			first, err := firstUnhandled(ctx, stream, c)
			if err != nil {
				return err
			}
			free = most - unhandledBytes(state, first)
		}
		if free < b.free {
			b.free, b.lagging = free, c.Name
		}
	}
	return consumers.Err()
}

// unhandledBytes returns the most bytes that the messages from first on can use in a stream.
func unhandledBytes(s jetstream.StreamState, first uint64) int64 {
	switch {
	case first > s.LastSeq:
		return 0
	case first <= s.FirstSeq:
		return int64(s.Bytes)
	}
	before := max(0, int64(first-s.FirstSeq)-int64(s.NumDeleted))
	return min(int64(s.Bytes)-before*smallest, int64(s.LastSeq-first+1)*largest)
}

// firstUnhandled returns the sequence of the first message that a consumer subscribes to and has not acknowledged.
// Unlike the consumer's AckFloor, it skips messages of other subjects.
func firstUnhandled(ctx context.Context, s jetstream.Stream, c *jetstream.ConsumerInfo) (uint64, error) {
	first := s.CachedInfo().State.LastSeq + 1
	wanted := c.Config.FilterSubjects
	if len(wanted) == 0 {
		wanted = []string{cmp.Or(c.Config.FilterSubject, "events.>")}
	}
	for _, subject := range wanted {
		m, err := s.GetMsg(ctx, c.AckFloor.Stream+1, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		first = min(first, m.Sequence)
	}
	return first, nil
}

// delay records that a relay waits for a service that lags behind.
type delay struct {
	mu       sync.Mutex
	service  string
	since    time.Time
	reported bool
	// reportAfter is how long a wait may last before it is reported; tests shorten it.
	reportAfter time.Duration
}

// set records the service that the relay waits for, or "" for none. It reports whether to log this: when a wait has
// lasted longer than reportAfter, and when such a wait ends.
func (d *delay) set(service string) (report bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if service == "" || d.service == "" {
		d.since = time.Now()
	}
	changed := service != d.service
	d.service = service
	switch {
	case service == "":
		report, d.reported = d.reported, false
	case time.Since(d.since) >= cmp.Or(d.reportAfter, reportAfter):
		report, d.reported = changed || !d.reported, true
	}
	return report
}

// err returns an error that names the service if the wait has lasted longer than reportAfter.
func (d *delay) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.reported {
		return nil
	}
	return fmt.Errorf("events wait: for %s %s has not handled what they would push out of the stream %s",
		time.Since(d.since).Round(time.Second), d.service, Stream)
}
