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
	// free is how many more calls may work, share how many of a line while there are others.
	free, share int
	working     map[string]int
	lines       *Lines[*call]
	seen        seen
}

// seen is which line came last, and when it and another one came.
type seen struct {
	line        string
	last, other time.Time
}

// quiet: a line may have more than its share when no other line had a call for this time.
const quiet = time.Second

// Lingers is how long a call that asks somebody else counts in the share of its line. What takes longer waits for
// somebody who may be frozen.
const Lingers = 250 * time.Millisecond

// call is a call that waits.
type call struct {
	line string
	// called gets true if it may work, false if it is refused.
	called chan bool
}

// New makes a queue in which atOnce calls work, at least 1, and waiting calls wait.
func New(atOnce, waiting int) *Queue { return NewShared(atOnce, atOnce, waiting) }

// NewShared makes a queue like New, in which at most share calls of a line work, at least 1, unless no call of another
// line works or has come within a second.
func NewShared(atOnce, share, waiting int) *Queue {
	return &Queue{
		free: max(atOnce, 1), share: max(share, 1), working: map[string]int{}, lines: NewLines[*call](waiting),
	}
}

// came notes that a call of a line came.
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

// work notes that a call of a line works.
func (q *Queue) work(line string) {
	q.free--
	q.working[line]++
}

// Do waits for the turn of ctx's line and calls work. If too many calls wait, or ctx ends first, it returns
// fault.ErrOverloaded and does not call work.
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
	// lingers is set when it does not count any more in its line's share.
	lingers, ended bool
}

// Enter waits for the turn of ctx's line. The caller works then, and calls End afterwards. If too many calls wait, or
// ctx ends first, Enter returns fault.ErrOverloaded.
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

// Linger says that the call has worked for so long that it only waits for something. Another one of its line may work
// beside it, so that what is stuck does not hold up the rest of its line.
func (t *Turn) Linger() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if !t.ended && !t.lingers {
		t.lingers = true
		t.queue.uncount(t.line)
		t.queue.admit()
	}
}

// End ends the work of the call: the next one works. A second End does nothing.
func (t *Turn) End() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if t.ended {
		return
	}
	t.ended = true
	t.queue.free++
	if !t.lingers {
		t.queue.uncount(t.line)
	}
	t.queue.admit()
}

// uncount takes a call out of its line's share.
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

// admit lets calls that wait work, as many as may.
func (q *Queue) admit() {
	for next, ok := q.lines.Next(q.may); ok; next, ok = q.lines.Next(q.may) {
		q.work(next.line)
		next.called <- true
	}
}

// join returns nil if there is room to work, and takes it. Otherwise it returns the call, which waits; it may
// be refused already.
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
	q.admit() // the line may be alone by now
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
		q.leave(c.line)
	}
	return false
}
