package event

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Streams of JetStream.
const (
	Stream = "EVENTS"
	Dead   = "DEAD"
)

// StreamConfig holds the settings of the streams.
type StreamConfig struct {
	// MaxBytes is the size of EVENTS, at least 1 MiB. DEAD has a tenth of it. If EVENTS is full, it drops its oldest
	// events. If DEAD is full, it refuses new messages, and the event stays with its consumer.
	MaxBytes int64
	// Replicas is 1 on a single node, 3 in a cluster.
	Replicas int
}

const (
	keep     = 7 * 24 * time.Hour
	minBytes = 1 << 20 // a window is 1/64 of it and must have space for the largest event

	// After a crash a server reads its files before it answers. That takes longer than the default limit of clients,
	// which is 5 s.
	ensureTimeout = time.Minute
)

// EnsureStreams creates the streams. Every service calls it when it starts. EVENTS keeps its size if a smaller size
// would drop events that a service has not handled. lagging is the name of that service.
func EnsureStreams(
	ctx context.Context, js jetstream.JetStream, c StreamConfig, services []string,
) (lagging string, err error) {
	if c.MaxBytes < minBytes {
		return "", fmt.Errorf("HERALD_EVENTS_MAX_BYTES is %d, want at least %d", c.MaxBytes, minBytes)
	}
	ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
	defer cancel()
	size, lagging, err := fitting(ctx, js, c.MaxBytes, services)
	if err != nil {
		return "", fmt.Errorf("stream %s: %w", Stream, err)
	}
	streams := []jetstream.StreamConfig{
		// DEAD is first: while EVENTS exists, DEAD is missing only if it was lost.
		{Name: Dead, Subjects: []string{"dead.>"}, MaxBytes: c.MaxBytes / 10, Discard: jetstream.DiscardNew},
		{
			Name: Stream, Subjects: []string{"events.>"}, MaxAge: keep, MaxBytes: size,
			Discard: jetstream.DiscardOld, Duplicates: 2 * time.Minute, AllowAtomicPublish: true,
		},
	}
	for _, s := range streams {
		s.Storage, s.Replicas, s.AllowDirect = jetstream.FileStorage, c.Replicas, true
		made, err := js.CreateOrUpdateStream(ctx, s)
		if err != nil {
			return "", fmt.Errorf("stream %s with HERALD_EVENTS_MAX_BYTES=%d: %w", s.Name, c.MaxBytes, err)
		}
		if s.AllowAtomicPublish && !made.CachedInfo().Config.AllowAtomicPublish {
			return "", fmt.Errorf("stream %s: NATS %s knows no atomic batches; Herald needs 2.15", s.Name,
				js.Conn().ConnectedServerVersion())
		}
	}
	return lagging, nil
}

// fitting returns the size that EVENTS can have now. This is the wanted size. If the wanted size has no space for a
// service's unhandled events, it is the present size.
func fitting(
	ctx context.Context, js jetstream.JetStream, wanted int64, services []string,
) (size int64, lagging string, err error) {
	stream, err := js.Stream(ctx, Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return wanted, "", nil
	}
	if err != nil {
		return 0, "", err
	}
	present := stream.CachedInfo().Config.MaxBytes
	if wanted >= present {
		return wanted, "", nil
	}
	b := backpressure{services: services}
	if err := b.measure(ctx, stream, wanted, 0); err != nil {
		return 0, "", err
	}
	if b.free < 0 {
		return present, b.lagging, nil
	}
	return wanted, "", nil
}

// RemoveStream removes the stream of events and the places of its consumers, if it is there. After a restore the stream
// has events that the databases do not have, and the consumers have passed events that the databases have not handled.
// The services make the stream anew, and publish the events of the last 7 days.
func RemoveStream(ctx context.Context, js jetstream.JetStream) error {
	err := js.DeleteStream(ctx, Stream)
	if err == nil || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return fmt.Errorf("remove the stream %s: %w", Stream, err)
}

// There returns an error if the stream of events does not exist.
func There(ctx context.Context, js jetstream.JetStream) error {
	if _, err := js.Stream(ctx, Stream); err != nil {
		return fmt.Errorf("stream %s: %w", Stream, err)
	}
	return nil
}

// LostDead reports whether DEAD was lost, with the events that their handlers gave up. EnsureStreams makes it anew.
func LostDead(ctx context.Context, js jetstream.JetStream) bool {
	_, err := js.Stream(ctx, Dead)
	return errors.Is(err, jetstream.ErrStreamNotFound) && There(ctx, js) == nil
}

// Fill returns how full EVENTS is, from 0 to 1.
func Fill(ctx context.Context, js jetstream.JetStream) (float64, error) {
	s, err := js.Stream(ctx, Stream)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", Stream, err)
	}
	i := s.CachedInfo()
	return float64(i.State.Bytes) / float64(i.Config.MaxBytes), nil
}

// Unhandled returns how many events a service has not handled yet. A service that handles no events has none.
func Unhandled(ctx context.Context, js jetstream.JetStream, service string) (uint64, error) {
	c, err := js.Consumer(ctx, Stream, service)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("consumer %s: %w", service, err)
	}
	i := c.CachedInfo()
	return i.NumPending + uint64(i.NumAckPending), nil
}
