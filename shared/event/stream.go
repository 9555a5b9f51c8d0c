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
	// MaxBytes bounds EVENTS and, to a tenth, DEAD. A full stream refuses: events wait in
	// their outbox, and nothing is lost.
	MaxBytes int64
	// Replicas is 1 on a single node, 3 in a cluster.
	Replicas int
}

const keep = 7 * 24 * time.Hour

// EnsureStreams creates the streams; every service does so at its start.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, c StreamConfig) error {
	streams := []jetstream.StreamConfig{
		{Name: Stream, Subjects: []string{"events.>"}, MaxAge: keep, MaxBytes: c.MaxBytes, Duplicates: 2 * time.Minute, AllowAtomicPublish: true},
		{Name: Dead, Subjects: []string{"dead.>"}, MaxBytes: c.MaxBytes / 10},
	}
	for _, s := range streams {
		s.Storage, s.Discard, s.Replicas, s.AllowDirect = jetstream.FileStorage, jetstream.DiscardNew, c.Replicas, true
		made, err := js.CreateOrUpdateStream(ctx, s)
		if err != nil {
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
		if s.AllowAtomicPublish && !made.CachedInfo().Config.AllowAtomicPublish {
			return fmt.Errorf("stream %s: NATS %s knows no atomic batches; Herald needs 2.15", s.Name, js.Conn().ConnectedServerVersion())
		}
	}
	return nil
}

// Fullness is how full EVENTS is, from 0 to 1.
func Fullness(ctx context.Context, js jetstream.JetStream) (float64, error) {
	s, err := js.Stream(ctx, Stream)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", Stream, err)
	}
	i := s.CachedInfo()
	return float64(i.State.Bytes) / float64(i.Config.MaxBytes), nil
}
