package turn

import (
	"sync"
	"time"

	"herald/shared/fault"
)

const (
	// patience is how long a task of a pool waits for its turn.
	patience = 2 * time.Second
	// staying is how many workers wait for the next task instead of ending.
	staying = 32
)

// Pool does tasks that somebody hands over who cannot wait, in goroutines of its own that
// take turns in a queue. It is safe for concurrent use.
type Pool[T any] struct {
	*Queue
	work   func(T)
	refuse func(T, error)
	next   chan T
	// idle holds an element for each worker that waits for the next task.
	idle    chan struct{}
	stopped chan struct{}
	stop    func()
	busy    sync.WaitGroup
}

// NewPool makes a pool that does tasks with work. Those that find too many waiting, or
// whose turn does not come within 2 s, it gives to refuse with fault.ErrOverloaded.
func NewPool[T any](q *Queue, work func(T), refuse func(T, error)) *Pool[T] {
	p := &Pool[T]{
		Queue: q, work: work, refuse: refuse,
		next: make(chan T), idle: make(chan struct{}, staying), stopped: make(chan struct{}),
	}
	p.stop = sync.OnceFunc(func() { close(p.stopped) })
	return p
}

// Give hands over a task and does not wait for it.
func (p *Pool[T]) Give(task T) {
	if !p.enter() {
		p.refuse(task, fault.ErrOverloaded.After(again))
		return
	}
	p.busy.Add(1)
	select {
	case p.next <- task:
	default:
		go p.labour(task)
	}
}

// labour does one task after the other: a worker that stays need not grow a stack for
// each.
func (p *Pool[T]) labour(task T) {
	for {
		p.do(task)
		select {
		case p.idle <- struct{}{}:
		default:
			return
		}
		select {
		case task = <-p.next:
			<-p.idle
		case <-p.stopped:
			return
		}
	}
}

func (p *Pool[T]) do(task T) {
	defer p.busy.Done()
	defer p.leave()
	if !p.await() {
		p.refuse(task, fault.ErrOverloaded.After(again))
		return
	}
	defer p.done()
	p.work(task)
}

// await makes no timer for the turn that comes at once.
func (p *Pool[T]) await() bool {
	select {
	case p.working <- struct{}{}:
		return true
	default:
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	return await(p.working, limit.C)
}

// Wait waits for all tasks that were given.
func (p *Pool[T]) Wait() { p.busy.Wait() }

// Close ends the workers that wait for a task. Tasks that are given later are done all
// the same.
func (p *Pool[T]) Close() { p.stop() }
