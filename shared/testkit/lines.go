package testkit

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// Lines is a buffer for logs that several goroutines may write and read.
type Lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed by the next write
}

// Write implements io.Writer.
func (l *Lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.text.Write(b)
}

// Wait returns the first line that contains a text. It fails the test if there is no such line within 20 s.
func (l *Lines) Wait(t testing.TB, text string) string {
	t.Helper()
	return l.WaitFor(t, text, 1)
}

// WaitFor returns the nth line that contains a text, counted from 1. It fails the test in the same way as Wait.
func (l *Lines) WaitFor(t testing.TB, text string, nth int) string {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		l.mu.Lock()
		found := 0
		for line := range strings.Lines(l.text.String()) {
			if !strings.Contains(line, text) {
				continue
			}
			if found++; found == nth {
				l.mu.Unlock()
				return line
			}
		}
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		select {
		case <-more:
		case <-limit:
			t.Fatalf("%d lines with %q, want %d, in %s", found, text, nth, l.String())
		}
	}
}

// String returns everything that was written so far.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
