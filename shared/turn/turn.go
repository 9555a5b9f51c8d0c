// Package turn bounds costly work: so much of it is done at a time, so much waits, and
// whoever comes beyond that is told at once instead of made to wait.
package turn

import (
	"context"
	"runtime"
	"time"

	"herald/shared/fault"
)

// again is when to try once more.
const again = time.Second

// processors is read before main may raise GOMAXPROCS: threads that wait for a disk make
// no processors. Until then it is what the runtime found, which knows a container's quota
// as NumCPU does not; NumCPU bounds what the environment says.
var processors = min(runtime.GOMAXPROCS(0), runtime.NumCPU())

// Processors is how much work can be done at a time that keeps a processor busy.
func Processors() int { return processors }

// Queue gives turns in the order in which they were asked for. It is safe for concurrent
// use.
type Queue struct {
	present chan struct{} // one element per call that works or waits
	working chan struct{} // one per call that works
}

// NewQueue makes a queue of which so many calls work at once, at least 1, and so many wait.
func NewQueue(atOnce, waiting int) *Queue {
	return &Queue{present: make(chan struct{}, atOnce+waiting), working: make(chan struct{}, atOnce)}
}

// Do does the work when its turn has come. It is not done, and the answer is
// fault.ErrOverloaded, where too many wait already or ctx ends first.
func (q *Queue) Do(ctx context.Context, work func()) error {
	select {
	case q.present <- struct{}{}:
		defer func() { <-q.present }()
	default:
		return fault.ErrOverloaded.After(again)
	}
	select {
	case q.working <- struct{}{}:
		defer func() { <-q.working }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil { // also of a turn that came at the same time
		return fault.ErrOverloaded.After(again).Because(err)
	}
	work()
	return nil
}
