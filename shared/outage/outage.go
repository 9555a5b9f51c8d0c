// Package outage logs an outage of a part in two lines, however often the part is used meanwhile: its first error, and
// when it is over how long it was.
package outage

import (
	"log/slog"
	"sync"
	"time"
)

// Settle: an outage is over when nothing has failed for this time.
const Settle = 2 * time.Second

// Watch is told how the uses of a part end. Log, Begins and Ends must be set.
type Watch struct {
	Log *slog.Logger
	// Begins and Ends are the messages of the two lines.
	Begins, Ends string

	mu sync.Mutex
	// since is zero while the part works. over logs the end unless the part fails before.
	since time.Time
	over  *time.Timer
}

// Failed notes an error.
func (w *Watch) Failed(err error) { w.FailedSince(time.Now(), err) }

// FailedSince notes an error of a part that has given no sign of life since a time.
func (w *Watch) FailedSince(since time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over != nil {
		w.over.Stop()
		w.over = nil
	}
	if w.since.IsZero() {
		w.since = since
		w.Log.Warn(w.Begins, "err", err)
	}
}

// Worked notes a success.
func (w *Watch) Worked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() || w.over != nil {
		return
	}
	away := time.Since(w.since)
	var over *time.Timer
	over = time.AfterFunc(Settle, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.over != over { // it has failed again
			return
		}
		w.since, w.over = time.Time{}, nil
		w.Log.Info(w.Ends, "away", away.Round(time.Millisecond).String())
	})
	w.over = over
}
