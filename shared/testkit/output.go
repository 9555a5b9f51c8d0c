package testkit

import (
	"io"
	"sync"
	"testing"
)

// output writes to a test's output until the test ends.
type output struct {
	mu sync.Mutex
	to io.Writer
}

// Output returns the output of a test. Lines after the end of the test are discarded. Such lines exist because timers
// log the end of an outage, and writing to the output of an ended test is a panic.
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
