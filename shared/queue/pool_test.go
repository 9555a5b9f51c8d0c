package queue_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/shared/queue"
)

// Two tasks are worked on at a time and two wait, for at most two seconds. Further ones are
// refused at once.
func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var working, worked, refused atomic.Int32
		p := queue.NewPool(queue.New(2, 2), func(int) {
			working.Add(1)
			<-release
			working.Add(-1)
			worked.Add(1)
		}, func(_ int, err error) {
			if !overloaded(err) {
				t.Error(err)
			}
			refused.Add(1)
		})
		at := func(when string, wantWorking, wantWorked, wantRefused int32) {
			t.Helper()
			synctest.Wait()
			want := [3]int32{wantWorking, wantWorked, wantRefused}
			got := [3]int32{working.Load(), worked.Load(), refused.Load()}
			if got != want {
				t.Errorf("%s: %d work, have worked and were refused, want %d", when, got, want)
			}
		}
		for range 5 {
			p.Give("org", 0)
		}
		at("five given", 2, 0, 1)
		release <- struct{}{}
		at("one released", 2, 1, 1)
		<-time.After(3 * time.Second) // of the bubble
		at("three seconds later", 2, 1, 2)
		p.Give("org", 0)
		close(release)
		p.Wait()
		at("released", 0, 4, 2)
		for range 100 { // by the workers that stayed
			p.Give("org", 0)
			p.Wait()
		}
		at("a hundred later", 0, 104, 2)
		p.Close()
		p.Close()
		p.Give("org", 0)
		at("closed", 0, 105, 2)
	})
}
