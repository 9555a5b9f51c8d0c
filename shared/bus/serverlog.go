package bus

import (
	"fmt"
	"log/slog"
	"strings"
)

// serverLog writes the warnings and errors of a NATS server to the process's log. The rest is of use only to those
// who develop NATS.
type serverLog struct{ log *slog.Logger }

// Warnf implements server.Logger, like the others. The passwords of NATS are random, so that no hash of them is needed.
func (l serverLog) Warnf(format string, v ...any) {
	if said := fmt.Sprintf(format, v...); !strings.HasPrefix(said, "Plaintext passwords") {
		l.log.Warn("NATS server", "says", said)
	}
}

// Errorf writes what went wrong.
func (l serverLog) Errorf(format string, v ...any) {
	l.log.Error("NATS server", "says", fmt.Sprintf(format, v...))
}

// Fatalf writes why the server cannot go on.
func (l serverLog) Fatalf(format string, v ...any) { l.Errorf(format, v...) }

// Noticef drops it.
func (serverLog) Noticef(string, ...any) {}

// Debugf drops it.
func (serverLog) Debugf(string, ...any) {}

// Tracef drops it.
func (serverLog) Tracef(string, ...any) {}
