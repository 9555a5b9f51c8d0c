// Package queue limits costly work. A fixed number of calls work at the same time, and a fixed number of calls wait,
// in one line for each organization. The lines take turns, so that the load of one organization does not block
// another. A call is refused at once if too many calls wait.
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

// processors is read before main can raise GOMAXPROCS for threads that only wait for a disk. GOMAXPROCS respects the
// quota of a container, which NumCPU does not. NumCPU is the upper limit if the environment sets GOMAXPROCS.
var processors = min(runtime.GOMAXPROCS(0), runtime.NumCPU())

// Processors returns how many calls that use a processor fully can work at the same time.
func Processors() int { return processors }

// Queue decides which calls may work. The calls of one line work in the order in which they arrived, and the lines
// take turns. It is safe for concurrent use.
type Queue struct {
	mu sync.Mutex
	// free is how many more calls may work. share is how many calls of one line may work while other lines have
	// calls.
	free, share int
	working     map[string]int
	lines       *Lines[*call]
	seen        seen
}

// seen records the line of the last call, and the times of the last call of that line and of another line.
type seen struct {
	line        string
	last, other time.Time
}

// quiet is how long no other line must have had a call until a line may use more than its share.
const quiet = time.Second

// LongCall is how long a call that asks another system counts in the share of its line. A call that takes longer is
// waiting for a system that may be frozen.
const LongCall = 250 * time.Millisecond

// call is a waiting call.
type call struct {
	line string
	// called receives true if the call may work, and false if it is refused.
	called chan bool
}

// New returns a queue in which at most atOnce calls work, at least 1, and at most waiting calls wait.
func New(atOnce, waiting int) *Queue { return NewShared(atOnce, atOnce, waiting) }

// NewShared returns a queue like New. In addition, at most share calls of one line work, at least 1. This limit does
// not apply if no call of another line works or has arrived within the last second.
func NewShared(atOnce, share, waiting int) *Queue {
	return &Queue{
		free: max(atOnce, 1), share: max(share, 1), working: map[string]int{}, lines: NewLines[*call](waiting),
	}
}

// came records that a call of a line has arrived.
func (s *seen) came(line string, now time.Time) {
	if line != s.line {
		s.line, s.other = line, s.last
	}
	s.last = now
}

// alone reports whether no other line had a call for a while.
func (s *seen) alone(line string, now time.Time) bool {
	other := s.last
	if line == s.line {
		other = s.other
	}
	return now.Sub(other) > quiet
}

// may reports whether one more call of a line may work.
func (q *Queue) may(line string) bool {
	own := q.working[line]
	return q.free > 0 && (own < q.share || len(q.working) == 1 && q.seen.alone(line, time.Now()))
}

// work records that a call of a line works.
func (q *Queue) work(line string) {
	q.free--
	q.working[line]++
}

// Do waits until the call may work, and calls work. The call waits in the line of ctx. If too many calls wait, or if
// ctx ends first, Do returns fault.ErrOverloaded and does not call work.
func (q *Queue) Do(ctx context.Context, work func()) error {
	turn, err := q.Enter(ctx)
	if err != nil {
		return err
	}
	defer turn.End()
	work()
	return nil
}

// Turn is a call that works.
type Turn struct {
	queue *Queue
	line  string
	// long is true when the call does not count any more in the share of its line.
	long, ended bool
}

// Enter waits in the line of ctx until the call may work. The caller must call End after the work. If too many calls
// wait, or if ctx ends first, Enter returns fault.ErrOverloaded.
func (q *Queue) Enter(ctx context.Context) (*Turn, error) {
	turn := &Turn{queue: q, line: lineOf(ctx)}
	if c := q.join(turn.line); c != nil && !await(q, c, ctx.Done()) {
		return nil, fault.ErrOverloaded.After(retryAfter).Because(ctx.Err())
	}
	if err := ctx.Err(); err != nil {
		turn.End()
		return nil, fault.ErrOverloaded.After(retryAfter).Because(err)
	}
	return turn, nil
}

// MarkLong marks a call that has worked for a long time and only waits for something. Then another call of its line may
// work too, so that a stuck call does not block the rest of its line.
func (t *Turn) MarkLong() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if !t.ended && !t.long {
		t.long = true
		t.queue.uncount(t.line)
		t.queue.admit()
	}
}

// End ends the work of the call, so that the next call can work. A second End does nothing.
func (t *Turn) End() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if t.ended {
		return
	}
	t.ended = true
	t.queue.free++
	if !t.long {
		t.queue.uncount(t.line)
	}
	t.queue.admit()
}

// uncount removes a call from the share of its line.
func (q *Queue) uncount(line string) {
	if q.working[line]--; q.working[line] == 0 {
		delete(q.working, line)
	}
}

func (q *Queue) leave(line string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	q.uncount(line)
	q.admit()
}

// admit starts as many waiting calls as may work.
func (q *Queue) admit() {
	for next, ok := q.lines.Next(q.may); ok; next, ok = q.lines.Next(q.may) {
		q.work(next.line)
		next.called <- true
	}
}

// join returns nil if the call may work now. Otherwise it returns the waiting call, which may already be refused.
func (q *Queue) join(line string) *call {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen.came(line, time.Now())
	if !q.lines.Has(line) && q.may(line) {
		q.work(line)
		return nil
	}
	c := &call{line, make(chan bool, 1)}
	if left, full := q.lines.Add(line, c); full {
		left.called <- false
	}
	q.admit() // the line may now be alone
	return c
}

// await waits until a call may work. It reports false if the call is refused, or if end is received first.
func await[E any](q *Queue, c *call, end <-chan E) bool {
	select {
	case may := <-c.called:
		return may
	case <-end:
	}
	q.mu.Lock()
	waited := q.lines.Remove(c.line, c)
	q.mu.Unlock()
	if !waited && <-c.called { // the call got its turn at the same moment
		q.leave(c.line)
	}
	return false
}
