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

// Do does the work when its turn has come. It is not done, and the error is
// fault.ErrOverloaded, where too many wait already or ctx ends first.
func (q *Queue) Do(ctx context.Context, work func()) error {
	if !q.enter() {
		return fault.ErrOverloaded.After(again)
	}
	defer q.leave()
	if !await(q.working, ctx.Done()) {
		return fault.ErrOverloaded.After(again).Because(ctx.Err())
	}
	defer q.done()
	if err := ctx.Err(); err != nil { // it ended when the turn came
		return fault.ErrOverloaded.After(again).Because(err)
	}
	work()
	return nil
}

// enter reports whether there is room to work or wait.
func (q *Queue) enter() bool {
	select {
	case q.present <- struct{}{}:
		return true
	default:
		return false
	}
}

func (q *Queue) leave() { <-q.present }
func (q *Queue) done()  { <-q.working }

// await waits for a turn; false where the end comes first.
func await[E any](turns chan struct{}, end <-chan E) bool {
	select {
	case turns <- struct{}{}:
		return true
	case <-end:
		return false
	}
}
