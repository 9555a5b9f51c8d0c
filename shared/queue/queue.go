// Package queue bounds costly work: so many calls work at a time and so many wait, in a line for each
// organization. The lines take turns, so that the load of one organization does not stop another's. A call
// for which there is no room is refused at once.
package queue

import (
	"context"
	"runtime"
	"sync"
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

// Queue lets calls work: those of one line in the order in which they came, the lines in turns. It is safe for
// concurrent use.
type Queue struct {
	mu sync.Mutex
	// free is how many more calls may work. If it is above 0, nothing waits.
	free  int
	lines *Lines[*call]
}

// call is a call that waits.
type call struct {
	line string
	// called gets true if it may work, false if it is refused.
	called chan bool
}

// New makes a queue in which atOnce calls work, at least 1, and waiting calls wait.
func New(atOnce, waiting int) *Queue {
	return &Queue{free: max(atOnce, 1), lines: NewLines[*call](waiting)}
}

// Do waits for the turn of ctx's line and calls work. If too many calls wait, or ctx ends first, it returns
// fault.ErrOverloaded and does not call work.
func (q *Queue) Do(ctx context.Context, work func()) error {
	if err := q.Enter(ctx); err != nil {
		return err
	}
	defer q.Leave()
	work()
	return nil
}

// Enter waits for the turn of ctx's line. The caller works then, and calls Leave afterwards. If too many calls
// wait, or ctx ends first, Enter returns fault.ErrOverloaded.
func (q *Queue) Enter(ctx context.Context) error {
	c := q.join(lineOf(ctx))
	if c != nil {
		if !await(q, c, ctx.Done()) {
			return fault.ErrOverloaded.After(retryAfter).Because(ctx.Err())
		}
	}
	if err := ctx.Err(); err != nil {
		q.Leave()
		return fault.ErrOverloaded.After(retryAfter).Because(err)
	}
	return nil
}

// Leave ends the work of a call: the next one works.
func (q *Queue) Leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if next, any := q.lines.Next(); any {
		next.called <- true
	} else {
		q.free++
	}
}

// join returns nil if there is room to work, and takes it. Otherwise it returns the call, which waits; it may
// be refused already.
func (q *Queue) join(line string) *call {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 {
		q.free--
		return nil
	}
	c := &call{line, make(chan bool, 1)}
	if left, any := q.lines.Add(line, c); any {
		left.called <- false
	}
	return c
}

// await waits until a call may work. It reports false if it is refused, or if end comes first.
func await[E any](q *Queue, c *call, end <-chan E) bool {
	select {
	case may := <-c.called:
		return may
	case <-end:
	}
	q.mu.Lock()
	waited := q.lines.Remove(c.line, c)
	q.mu.Unlock()
	if !waited && <-c.called { // its turn came together with the end
		q.Leave()
	}
	return false
}
