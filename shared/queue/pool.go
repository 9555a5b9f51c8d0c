package queue

import (
	"sync"
	"time"

	"herald/shared/fault"
)

const (
	// maxWait is how long a task of a pool may wait.
	maxWait = 2 * time.Second
	// maxIdle is how many workers wait for the next task. Further workers end.
	maxIdle = 32
)

// Pool runs tasks in its own goroutines, for callers that cannot wait. Its queue limits the number of tasks. It is
// safe for concurrent use.
type Pool[T any] struct {
	queue  *Queue
	work   func(T)
	refuse func(T, error)
	next   chan task[T]
	// idle has one element for each worker that waits for the next task.
	idle    chan struct{}
	stopped chan struct{}
	stop    func()
	busy    sync.WaitGroup
}

// task is a task with its call in the queue. The call is nil if the task need not wait.
type task[T any] struct {
	line string
	what T
	call *call
}

// NewPool returns a pool that runs tasks with work. If a task finds too many waiting tasks, or has waited for 2 s,
// the pool calls refuse with fault.ErrOverloaded.
func NewPool[T any](q *Queue, work func(T), refuse func(T, error)) *Pool[T] {
	p := &Pool[T]{
		queue: q, work: work, refuse: refuse,
		next: make(chan task[T]), idle: make(chan struct{}, maxIdle), stopped: make(chan struct{}),
	}
	p.stop = sync.OnceFunc(func() { close(p.stopped) })
	return p
}

// Give passes a task of a line to the pool and returns at once.
func (p *Pool[T]) Give(line string, what T) {
	p.busy.Add(1)
	given := task[T]{line, what, p.queue.join(line)}
	select {
	case p.next <- given:
	default:
		go p.run(given)
	}
}

// run runs one task after another. A goroutine is used again, because its stack has already grown.
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

// Wait waits until all given tasks are done.
func (p *Pool[T]) Wait() { p.busy.Wait() }

// Close ends the workers that wait for a task. Tasks that are given later are still run.
func (p *Pool[T]) Close() { p.stop() }
