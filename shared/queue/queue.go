// Package queue bounds costly work: so many calls work at a time and so many wait. A call
// beyond them is refused at once.
package queue

import (
	"context"
	"runtime"
	"time"

	"herald/shared/fault"
)

// retryAfter is how long a refused call should wait before it is tried again.
const retryAfter = time.Second

// processors is read before main may raise GOMAXPROCS for threads that only wait for a disk.
// The runtime knows a container's quota, which NumCPU does not; NumCPU bounds a GOMAXPROCS
// of the environment.
var processors = min(runtime.GOMAXPROCS(0), runtime.NumCPU())

// Processors returns how many calls that keep a processor busy can work at a time.
func Processors() int { return processors }

// Queue lets calls work in the order in which they came. It is safe for concurrent use.
type Queue struct {
	present chan struct{} // one element per call that works or waits
	working chan struct{} // one element per call that works
}

// New makes a queue in which atOnce calls work, at least 1, and waiting calls wait.
func New(atOnce, waiting int) *Queue {
	return &Queue{present: make(chan struct{}, atOnce+waiting), working: make(chan struct{}, atOnce)}
}

// Do waits until there is room and calls work. If too many calls wait already, or ctx ends
// first, it returns fault.ErrOverloaded and does not call work.
func (q *Queue) Do(ctx context.Context, work func()) error {
	if !q.enter() {
		return fault.ErrOverloaded.After(retryAfter)
	}
	defer q.leave()
	if !await(q.working, ctx.Done()) {
		return fault.ErrOverloaded.After(retryAfter).Because(ctx.Err())
	}
	defer q.done()
	if err := ctx.Err(); err != nil { // await may return true although ctx has ended
		return fault.ErrOverloaded.After(retryAfter).Because(err)
	}
	work()
	return nil
}

// enter reports whether there is room to work or to wait, and takes it.
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

// await waits for room among the working. It reports false if end comes first.
func await[E any](working chan struct{}, end <-chan E) bool {
	select {
	case working <- struct{}{}:
		return true
	case <-end:
		return false
	}
}
