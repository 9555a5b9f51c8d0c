package event

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Streams of JetStream.
const (
	Stream = "EVENTS"
	Dead   = "DEAD"
)

// StreamConfig is what operators decide about the streams.
type StreamConfig struct {
	// MaxBytes is the size of EVENTS, at least 1 MiB. DEAD has a tenth of it. A full EVENTS
	// drops its oldest events; a full DEAD refuses, and the event stays with its consumer.
	MaxBytes int64
	// Replicas is 1 on a single node, 3 in a cluster.
	Replicas int
}

const (
	keep     = 7 * 24 * time.Hour
	minBytes = 1 << 20 // so that 1/64 of it, a window, has room for the largest event
)

// EnsureStreams creates the streams; every service does so at its start.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, c StreamConfig) error {
	if c.MaxBytes < minBytes {
		return fmt.Errorf("HERALD_EVENTS_MAX_BYTES is %d, want at least %d", c.MaxBytes, minBytes)
	}
	streams := []jetstream.StreamConfig{
		{
			Name: Stream, Subjects: []string{"events.>"}, MaxAge: keep, MaxBytes: c.MaxBytes,
			Discard: jetstream.DiscardOld, Duplicates: 2 * time.Minute, AllowAtomicPublish: true,
		},
		{Name: Dead, Subjects: []string{"dead.>"}, MaxBytes: c.MaxBytes / 10, Discard: jetstream.DiscardNew},
	}
	for _, s := range streams {
		s.Storage, s.Replicas, s.AllowDirect = jetstream.FileStorage, c.Replicas, true
		made, err := js.CreateOrUpdateStream(ctx, s)
		if err != nil {
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
		if s.AllowAtomicPublish && !made.CachedInfo().Config.AllowAtomicPublish {
			return fmt.Errorf("stream %s: NATS %s knows no atomic batches; Herald needs 2.15", s.Name,
				js.Conn().ConnectedServerVersion())
		}
	}
	return nil
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
