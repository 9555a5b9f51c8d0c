package bus

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// burst is the time within which a further line of the server is taken for a consequence of the line before. It is
// longer than the pauses between restarts of a server whose disk is full.
const burst = 15 * time.Second

// ServerLog writes warnings and errors of a NATS server to the process's log. Of several lines that follow each other
// closely it writes only the first. The other lines are useful only to developers of NATS. A restarted server uses
// the same ServerLog.
type ServerLog struct {
	log *slog.Logger
	mu  sync.Mutex
	// last is the time of the server's last line.
	last time.Time
}

// NewServerLog returns a ServerLog that writes to the given log.
func NewServerLog(log *slog.Logger) *ServerLog { return &ServerLog{log: log} }

// write writes a line unless it follows another line within burst.
func (l *ServerLog) write(level slog.Level, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.last) > burst {
		l.log.Log(context.Background(), level, "NATS server", "says", line)
	}
	l.last = now
}

// Warnf implements server.Logger, as the other methods do. It drops the warning about plaintext passwords. These
// passwords are random, so they need no hash.
func (l *ServerLog) Warnf(format string, v ...any) {
	if said := fmt.Sprintf(format, v...); !strings.HasPrefix(said, "Plaintext passwords") {
		l.write(slog.LevelWarn, said)
	}
}

// Errorf writes an error.
func (l *ServerLog) Errorf(format string, v ...any) {
	l.write(slog.LevelError, fmt.Sprintf(format, v...))
}

// Fatalf writes the error that stops the server.
func (l *ServerLog) Fatalf(format string, v ...any) { l.Errorf(format, v...) }

// Noticef drops the line.
func (*ServerLog) Noticef(string, ...any) {}

// Debugf drops the line.
func (*ServerLog) Debugf(string, ...any) {}

// Tracef drops the line.
func (*ServerLog) Tracef(string, ...any) {}
