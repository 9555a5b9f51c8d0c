package queue

import (
	"sync"
	"time"

	"herald/shared/fault"
)

const (
	// maxWait is how long a task of a pool may wait.
	maxWait = 2 * time.Second
	// maxIdle is how many workers wait for the next task instead of ending.
	maxIdle = 32
)

// Pool does tasks in goroutines of its own, for callers that cannot wait. Its queue bounds
// the tasks. It is safe for concurrent use.
type Pool[T any] struct {
	queue  *Queue
	work   func(T)
	refuse func(T, error)
	next   chan task[T]
	// idle holds one element for each worker that waits for the next task.
	idle    chan struct{}
	stopped chan struct{}
	stop    func()
	busy    sync.WaitGroup
}

// task is a task and its call, which is nil if it need not wait.
type task[T any] struct {
	line string
	what T
	call *call
}

// NewPool makes a pool that does tasks with work. It calls refuse with fault.ErrOverloaded
// for a task that finds too many waiting or that has waited for 2 s.
func NewPool[T any](q *Queue, work func(T), refuse func(T, error)) *Pool[T] {
	p := &Pool[T]{
		queue: q, work: work, refuse: refuse,
		next: make(chan task[T]), idle: make(chan struct{}, maxIdle), stopped: make(chan struct{}),
	}
	p.stop = sync.OnceFunc(func() { close(p.stopped) })
	return p
}

// Give hands over a task of a line and does not wait for it.
func (p *Pool[T]) Give(line string, what T) {
	p.busy.Add(1)
	given := task[T]{line, what, p.queue.join(line)}
	select {
	case p.next <- given:
	default:
		go p.run(given)
	}
}

// run does one task after the other. A goroutine that is used again has grown its stack.
func (p *Pool[T]) run(given task[T]) {
	for {
		p.do(given)
		select {
		case p.idle <- struct{}{}:
		default:
			return
		}
		select {
		case given = <-p.next:
			<-p.idle
		case <-p.stopped:
			return
		}
	}
}

func (p *Pool[T]) do(given task[T]) {
	defer p.busy.Done()
	if given.call != nil && !p.await(given.call) {
		p.refuse(given.what, fault.ErrOverloaded.After(retryAfter))
		return
	}
	defer p.queue.leave(given.line)
	p.work(given.what)
}

func (p *Pool[T]) await(c *call) bool {
	limit := time.NewTimer(maxWait)
	defer limit.Stop()
	return await(p.queue, c, limit.C)
}

// Wait waits for all tasks that were given.
func (p *Pool[T]) Wait() { p.busy.Wait() }

// Close ends the workers that wait for a task. Tasks that are given later are still done.
func (p *Pool[T]) Close() { p.stop() }
