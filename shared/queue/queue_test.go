package queue_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"herald/shared/fault"
	"herald/shared/queue"
)

// overloaded reports whether err is fault.ErrOverloaded and says when to try again.
func overloaded(err error) bool {
	return errors.Is(err, fault.ErrOverloaded) && fault.From(err).RetryAfter > 0
}

func nothing() {}

func TestDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(2, 1)
		release := make(chan struct{})
		var running, finished atomic.Int32
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				err := q.Do(t.Context(), func() {
					running.Add(1)
					<-release
					running.Add(-1)
					finished.Add(1)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if running.Load() != 2 {
			t.Errorf("%d work at once", running.Load())
		}
		if err := q.Do(t.Context(), nothing); !overloaded(err) {
			t.Errorf("with all places taken: %v", err)
		}
		release <- struct{}{}
		synctest.Wait()
		if running.Load() != 2 || finished.Load() != 1 {
			t.Errorf("%d work and %d have finished after one was released", running.Load(), finished.Load())
		}
		close(release)
		group.Wait()
		if err := q.Do(t.Context(), nothing); err != nil {
			t.Errorf("idle again: %v", err)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(1, 1)
		release := make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			if err := q.Do(t.Context(), func() { <-release }); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		left, leave := context.WithCancel(t.Context())
		leave()
		forbidden := func() { t.Error("worked after the context had ended") }
		for range 3 { // each call gives its place back
			ctx, cancel := context.WithCancel(t.Context())
			group.Go(func() {
				if err := q.Do(ctx, forbidden); !overloaded(err) || !errors.Is(err, context.Canceled) {
					t.Errorf("waiting: %v", err)
				}
			})
			synctest.Wait()
			cancel()
			synctest.Wait()
		}
		close(release)
		group.Wait()
		for range 20 { // there is room and the context has ended: select may take either
			if err := q.Do(left, forbidden); !overloaded(err) || !errors.Is(err, context.Canceled) {
				t.Errorf("left before: %v", err)
			}
		}
	})
}

// A call that panics gives its place back.
func TestPanicGivesThePlaceBack(t *testing.T) {
	t.Parallel()
	q := queue.New(1, 0)
	func() {
		defer func() { _ = recover() }()
		_ = q.Do(t.Context(), func() { panic("work") })
	}()
	if err := q.Do(t.Context(), nothing); err != nil {
		t.Error(err)
	}
}

// A larger GOMAXPROCS does not add processors. The test is not parallel, because GOMAXPROCS is for the whole process.
func TestProcessors(t *testing.T) {
	before := queue.Processors()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2 * runtime.NumCPU()))
	if now := queue.Processors(); now != before || now < 1 || now > runtime.NumCPU() {
		t.Errorf("%d, then %d, of %d", before, now, runtime.NumCPU())
	}
}
