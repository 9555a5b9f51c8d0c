// Package retry has what a task needs that tries again after errors: pauses that end early, a deadline that moves, and
// two lines in the log for each outage.
package retry

import (
	"log/slog"
	"sync"
	"time"
)

// Settle is how long nothing must fail until an outage is over.
const Settle = 2 * time.Second

// Outage logs the outages of a part in two lines each, however often the part is used: its first error, and how long it
// was away. Who uses the part reports each error and success. Log, Begins and Ends must be set.
type Outage struct {
	Log *slog.Logger
	// Begins and Ends are the messages of the two lines.
	Begins, Ends string

	mu sync.Mutex
	// since is zero while the part works. over logs the end unless the part fails before.
	since time.Time
	over  *time.Timer
}

// Failed reports an error.
func (o *Outage) Failed(err error) { o.FailedSince(time.Now(), err) }

// FailedSince reports an error of a part that has given no sign of life since a time.
func (o *Outage) FailedSince(since time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over != nil {
		o.over.Stop()
		o.over = nil
	}
	if o.since.IsZero() {
		o.since = since
		o.Log.Warn(o.Begins, "err", err)
	}
}

// Worked reports a success.
func (o *Outage) Worked() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || o.over != nil {
		return
	}
	away := time.Since(o.since)
	var over *time.Timer
	over = time.AfterFunc(Settle, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.over != over { // it has failed again
			return
		}
		o.since, o.over = time.Time{}, nil
		o.Log.Info(o.Ends, "away", away.Round(time.Millisecond).String())
	})
	o.over = over
}
