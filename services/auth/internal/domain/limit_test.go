package domain_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
)

func TestLimitRefusesFurtherUses(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := domain.NewLimit(3, time.Minute, func() time.Time { return now })
	take := func(key string, want time.Duration) {
		t.Helper()
		if got := l.Take(key); got != want {
			t.Errorf("%s waits %s, want %s", key, got, want)
		}
	}
	for range 3 {
		take("a", 0)
	}
	now = now.Add(20 * time.Second)
	take("a", 40*time.Second)
	take("a", 40*time.Second) // what is refused does not count
	take("b", 0)
	l.Return("a")
	take("a", 0)
	take("a", 40*time.Second)
	now = now.Add(40*time.Second - 1)
	take("a", time.Second) // a wait is never shorter than what Retry-After can say
	now = now.Add(1)
	for range 3 {
		take("a", 0)
	}
	take("a", time.Minute)
	now = now.Add(time.Hour)
	take("returned", 0)
	l.Return("returned")
	now = now.Add(20 * time.Second)
	for range 3 {
		take("returned", 0)
	}
	take("returned", time.Minute) // the span begins with the first use that counts
	l.Return("unknown")
	take("unknown", 0)
}

// The uses of a key count until its span has ended, even if there are many other keys.
func TestLimitKeepsUsesUntilSpanEnds(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := domain.NewLimit(1, time.Minute, func() time.Time { return now })
	now = now.Add(59 * time.Second)
	l.Take("a")
	for second := range 59 {
		now = now.Add(time.Second)
		l.Take(fmt.Sprint("other ", second))
		if l.Take("a") == 0 {
			t.Fatalf("forgotten after %d seconds", second+1)
		}
	}
	now = now.Add(time.Second)
	if l.Take("a") != 0 {
		t.Error("remembered after its span")
	}
}

func TestLimitForgetsOldestKeys(t *testing.T) {
	t.Parallel()
	l := domain.NewLimit(1, time.Minute, time.Now)
	for n := range 300_000 {
		l.Take(fmt.Sprint("key ", n))
	}
	if l.Take("key 299999") == 0 {
		t.Error("the newest key is forgotten")
	}
	if l.Take("key 0") != 0 {
		t.Error("of 300,000 keys all are remembered")
	}
}

func TestLimitCountsSimultaneousUses(t *testing.T) {
	t.Parallel()
	l := domain.NewLimit(10, time.Minute, time.Now)
	var wait sync.WaitGroup
	var allowed atomic.Int64
	for range 100 {
		wait.Go(func() {
			if l.Take("a") == 0 {
				allowed.Add(1)
			}
		})
	}
	wait.Wait()
	if allowed.Load() != 10 {
		t.Errorf("%d of 100 uses at once are allowed, want 10", allowed.Load())
	}
}
