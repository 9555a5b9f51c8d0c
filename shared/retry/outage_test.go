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

// An outage has two lines in the log, even if the part fails and works many times in between.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		w := retry.Outage{Log: slog.New(slog.NewTextHandler(&said, nil)), Begins: "BEGINS", Ends: "ENDS"}
		for range 3 {
			w.Worked()
			w.FailedSince(time.Now().Add(-4*time.Second), errors.New("first"))
			<-time.After(retry.Settle / 2)
		}
		<-time.After(time.Minute)
		w.Worked()
		w.Worked()
		if n := strings.Count(said.String(), "\n"); n != 1 {
			t.Errorf("before it is over the log says %s", said.String())
		}
		<-time.After(retry.Settle)
		synctest.Wait()
		w.Worked()
		w.Failed(errors.New("second"))
		var lines []string
		for line := range strings.Lines(said.String()) {
			_, text, _ := strings.Cut(strings.TrimSpace(line), "level=")
			lines = append(lines, text)
		}
		want := "WARN msg=BEGINS err=first, INFO msg=ENDS away=1m7s, WARN msg=BEGINS err=second"
		if got := strings.Join(lines, ", "); got != want {
			t.Errorf("the log says %s, want %s", got, want)
		}
	})
}
