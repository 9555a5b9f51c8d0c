package event

import (
	"fmt"
	"sync"
	"time"
)

// tooLong is how long events may wait until the service says that it is not ready.
const tooLong = 30 * time.Second

// Stopped knows for how long a consumer has failed to get events. The zero value has not failed.
type Stopped struct {
	mu    sync.Mutex
	since time.Time
	cause error
}

// note notes why the consumer gets no events, or with nil that it gets them.
func (s *Stopped) note(cause error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cause == nil {
		s.since = time.Time{}
	} else if s.since.IsZero() {
		s.since = time.Now()
	}
	s.cause = cause
}

// Err returns why the consumer gets no events, if that has lasted for half a minute.
func (s *Stopped) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || time.Since(s.since) < tooLong {
		return nil
	}
	return fmt.Errorf("no events are consumed since %s: %w", s.since.UTC().Format(time.RFC3339), s.cause)
}
