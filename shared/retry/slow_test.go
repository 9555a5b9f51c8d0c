package retry_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/shared/retry"
)

// A short wait leaves nothing in the log, and a long one says within Slowness what it waits for, and how it ended.
func TestLongWaitIsLoggedWithItsEnd(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		takes  time.Duration
		err    error
		during int
		lines  []string
	}{
		"short": {retry.Slowness - 1, nil, 0, nil},
		"long": {time.Minute, nil, 1, []string{
			`WARN msg="still waiting" until="it is there"`, `INFO msg="the wait is over" until="it is there" took=1m0s`,
		}},
		"short, failed": {retry.Slowness - 1, errors.New("it is not"), 0, nil},
		"long, failed": {time.Minute, errors.New("it is not"), 1, []string{
			`WARN msg="still waiting" until="it is there"`,
			`WARN msg="the wait has failed" until="it is there" took=1m0s err="it is not"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				done := retry.Slow(slog.New(slog.NewTextHandler(&said, nil)), "it is there")
				<-time.After(row.takes) // of the test's own clock
				synctest.Wait()
				if n := strings.Count(said.String(), "\n"); n != row.during {
					t.Errorf("during the wait the log has %d lines, want %d", n, row.during)
				}
				done(&row.err)
				var lines []string
				for line := range strings.Lines(said.String()) {
					_, text, _ := strings.Cut(strings.TrimSpace(line), "level=")
					lines = append(lines, text)
				}
				if got, want := strings.Join(lines, ", "), strings.Join(row.lines, ", "); got != want {
					t.Errorf("the log says %s, want %s", got, want)
				}
			})
		})
	}
}
