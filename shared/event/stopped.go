package event

import (
	"fmt"
	"sync"
	"time"
)

// tooLong is how long events may wait before the service reports that it is not ready.
const tooLong = 30 * time.Second

// Stopped records since when a consumer cannot get events. The zero value means that it can.
type Stopped struct {
	mu    sync.Mutex
	since time.Time
	cause error
}

// note records why the consumer gets no events. A nil cause means that it gets events.
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

// Err returns why the consumer gets no events. It returns nil during the first half minute.
func (s *Stopped) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || time.Since(s.since) < tooLong {
		return nil
	}
	return fmt.Errorf("no events are consumed since %s: %w", s.since.UTC().Format(time.RFC3339), s.cause)
}
