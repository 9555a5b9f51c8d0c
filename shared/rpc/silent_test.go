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

	"github.com/nats-io/nats.go"

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
			s.noted(service, sent, 7*time.Second, err)
		}
		ask("users", silence-1, context.DeadlineExceeded)
		ask("users", time.Minute, errors.New("refused"))
		ask("users", time.Minute, context.Canceled)
		ask("users", time.Minute, nil)
		ask("users", time.Minute, context.DeadlineExceeded) // this process was frozen
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

// A service of which no replica runs is named like one that does not answer. One that starts again, as all do with
// NATS, is not.
func TestMissingServicesAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		s := &silent{log: slog.New(slog.NewTextHandler(&said, nil))}
		ask := func(err error) {
			<-time.After(time.Second)
			s.noted("users", time.Now(), 7*time.Second, err)
		}
		for range 3 {
			ask(nats.ErrNoResponders)
			ask(nats.ErrNoResponders)
			ask(nil)
		}
		if said.Len() > 0 {
			t.Errorf("of a service that starts again the log says %s", said.String())
		}
		for range 5 {
			ask(nats.ErrNoResponders)
		}
		ask(nil)
		<-time.After(retry.Settle)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		for i, want := range []string{
			`level=WARN msg="a service does not answer" asked=users err="nats: no responders available for request"`,
			`level=INFO msg="a service answers again" asked=users away=5s`,
		} {
			if len(lines) != 2 || !strings.HasSuffix(lines[i], want) {
				t.Errorf("the log says %s, want %s", said.String(), want)
			}
		}
	})
}
