package testkit

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"

	"herald/shared/rpc"
)

// watched is a test that keeps its errors, and whose end is the call of its cleanups.
type watched struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (w *watched) Cleanup(f func()) { w.cleanups = append(w.cleanups, f) }

func (w *watched) Errorf(format string, args ...any) {
	w.errors = append(w.errors, fmt.Sprintf(format, args...))
}

// A test fails at its end if the service has logged a fault that the contract lacks, also with attributes of its own.
func TestUndeclaredFaultFailsTheTest(t *testing.T) {
	t.Parallel()
	w := &watched{TB: t}
	log := declared(w, slog.New(slog.NewTextHandler(io.Discard, nil)))
	log.Warn("something else", "method", "/a", "id", "A")
	log.Warn(rpc.Undeclared, "method", "/b", "id", "B")
	log.With("service", "users").Warn(rpc.Undeclared, "method", "/c", "id", "C")
	if len(w.errors) > 0 {
		t.Errorf("before its end: %q", w.errors)
	}
	for _, end := range w.cleanups {
		end()
	}
	if want := []string{rpc.Undeclared + ": /b B", rpc.Undeclared + ": /c C"}; !slices.Equal(w.errors, want) {
		t.Errorf("%q, want %q", w.errors, want)
	}
}
