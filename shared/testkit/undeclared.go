package testkit

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"herald/shared/rpc"
)

// undeclared is a log handler that collects the lines about faults that a contract does not name.
type undeclared struct {
	slog.Handler
	found *foundLines
}

type foundLines struct {
	mu    sync.Mutex
	lines []string
}

// declared returns the log of a service. The test fails if the service answers with a fault that the contract of the
// method does not name.
func declared(t testing.TB, log *slog.Logger) *slog.Logger {
	found := &foundLines{}
	t.Cleanup(func() {
		found.mu.Lock()
		defer found.mu.Unlock()
		for _, line := range found.lines {
			t.Errorf("%s:%s", rpc.Undeclared, line)
		}
	})
	return slog.New(undeclared{log.Handler(), found})
}

// Handle implements slog.Handler.
func (u undeclared) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == rpc.Undeclared {
		var line strings.Builder
		r.Attrs(func(a slog.Attr) bool {
			line.WriteString(" " + a.Value.String())
			return true
		})
		u.found.mu.Lock()
		u.found.lines = append(u.found.lines, line.String())
		u.found.mu.Unlock()
	}
	return u.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (u undeclared) WithAttrs(attrs []slog.Attr) slog.Handler {
	return undeclared{u.Handler.WithAttrs(attrs), u.found}
}
