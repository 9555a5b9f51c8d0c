package bus_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/shared/bus"
)

// A server whose disk is full writes several lines at each of its restarts. The log has the first one.
func TestServerLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		l := bus.NewServerLog(slog.New(slog.NewTextHandler(&said, nil)))
		for range 5 {
			l.Warnf("Plaintext passwords detected")
			l.Errorf("no %s", "space")
			l.Warnf("state too short")
			<-time.After(11 * time.Second)
		}
		if lines := said.String(); strings.Count(lines, "\n") != 1 ||
			!strings.Contains(lines, `level=ERROR msg="NATS server" says="no space"`) {
			t.Errorf("the log says %s", lines)
		}
		<-time.After(time.Minute)
		l.Warnf("slow consumer")
		if lines := said.String(); strings.Count(lines, "\n") != 2 || !strings.Contains(lines, "slow consumer") {
			t.Errorf("the log says %s", lines)
		}
	})
}
