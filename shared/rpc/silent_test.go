package rpc

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/shared/retry"
)

// The log has one line when a service does not answer, and one with the length of the outage when it answers again.
// Calls that fail for another reason, or that have a very short time limit, are not logged.
func TestSilentServicesAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		s := &silent{log: slog.New(slog.NewTextHandler(&said, nil))}
		ask := func(service string, wait time.Duration, err error) {
			sent := time.Now()
			<-time.After(wait)
			s.noted(service, sent, err)
		}
		ask("users", silence-1, context.DeadlineExceeded)
		ask("users", time.Minute, errors.New("refused"))
		ask("users", time.Minute, context.Canceled)
		ask("users", time.Minute, nil)
		if said.Len() > 0 {
			t.Errorf("of a service that answers the log says %s", said.String())
		}
		for range 3 {
			ask("users", 3*time.Second, context.DeadlineExceeded)
			ask("text", 0, nil)
		}
		ask("users", time.Second, nil)
		ask("users", retry.Settle, nil)
		synctest.Wait()
		for i, want := range []string{
			`level=WARN msg="a service does not answer" asked=users err="context deadline exceeded"`,
			`level=INFO msg="a service answers again" asked=users away=10s`,
		} {
			if lines := strings.Split(strings.TrimSpace(said.String()), "\n"); len(lines) != 2 ||
				!strings.HasSuffix(lines[i], want) {
				t.Errorf("the log says %s, want %s", said.String(), want)
			}
		}
	})
}
