package testkit

import (
	"io"
	"sync"
	"testing"
)

// output is a test's output until the test ends.
type output struct {
	mu sync.Mutex
	to io.Writer
}

// Output returns the output of a test. What comes after the test is discarded: lines about an outage are logged by
// timers, and writing to the output of a test that has ended is a panic.
func Output(t testing.TB) io.Writer {
	o := &output{to: t.Output()}
	t.Cleanup(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.to = io.Discard
	})
	return o
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(b)
}
