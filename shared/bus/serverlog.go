package bus

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// burst: the lines that a server writes within this time after another one have the same cause. It is longer than the
// pauses between the restarts of a server whose disk is full.
const burst = 15 * time.Second

// ServerLog writes the warnings and errors of a NATS server to the process's log, of those that follow one another the
// first one. The rest is of use only to those who develop NATS. A server that is started again has the same ServerLog.
type ServerLog struct {
	log *slog.Logger
	mu  sync.Mutex
	// last is when the server wrote a line last.
	last time.Time
}

// NewServerLog returns a log that writes to another one.
func NewServerLog(log *slog.Logger) *ServerLog { return &ServerLog{log: log} }

// write writes a line unless it follows another one.
func (l *ServerLog) write(level slog.Level, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.last) > burst {
		l.log.Log(context.Background(), level, "NATS server", "says", line)
	}
	l.last = now
}

// Warnf implements server.Logger, like the others. The passwords of NATS are random, so that no hash of them is needed.
func (l *ServerLog) Warnf(format string, v ...any) {
	if said := fmt.Sprintf(format, v...); !strings.HasPrefix(said, "Plaintext passwords") {
		l.write(slog.LevelWarn, said)
	}
}

// Errorf writes what went wrong.
func (l *ServerLog) Errorf(format string, v ...any) {
	l.write(slog.LevelError, fmt.Sprintf(format, v...))
}

// Fatalf writes why the server cannot go on.
func (l *ServerLog) Fatalf(format string, v ...any) { l.Errorf(format, v...) }

// Noticef drops it.
func (*ServerLog) Noticef(string, ...any) {}

// Debugf drops it.
func (*ServerLog) Debugf(string, ...any) {}

// Tracef drops it.
func (*ServerLog) Tracef(string, ...any) {}
