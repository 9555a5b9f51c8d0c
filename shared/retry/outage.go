// Package retry is for tasks that try again after errors. It has pauses that can end early, a deadline that can be
// extended, and a log of two lines for each outage.
package retry

import (
	"log/slog"
	"sync"
	"time"
)

// Settle is how long there must be no failure until an outage is over.
const Settle = 2 * time.Second

// Outage logs each outage of a part in two lines, even if the part is used often: the first error, and at the end the
// duration. The code that uses the part reports each error and success. Log, Begins and Ends must be set.
type Outage struct {
	Log *slog.Logger
	// Begins and Ends are the messages of the two lines.
	Begins, Ends string
	// Explained reports that an error follows from an outage that has lines of its own. Such errors are ignored. It may
	// be nil.
	Explained func(error) bool

	mu sync.Mutex
	// since is zero while the part works. over is a timer that logs the end of the outage, unless the part fails
	// again before.
	since time.Time
	over  *time.Timer
}

// Failed reports an error.
func (o *Outage) Failed(err error) { o.FailedSince(time.Now(), err) }

// FailedSince reports an error of a part that has not worked since the given time.
func (o *Outage) FailedSince(since time.Time, err error) {
	if o.Explained != nil && o.Explained(err) {
		return
	}
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
