package queue_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/shared/queue"
)

// world is a queue in which one call works at a time until the test lets it end.
type world struct {
	*testing.T
	queue *queue.Queue
	leave chan struct{}
	calls sync.WaitGroup
	mu    sync.Mutex
	// worked and refused are the lines of the calls, in their order.
	worked, refused []string
}

func (w *world) do(ctx context.Context, line string) {
	w.calls.Go(func() {
		err := w.queue.Do(queue.In(ctx, line), func() {
			w.mu.Lock()
			w.worked = append(w.worked, line)
			w.mu.Unlock()
			<-w.leave
		})
		if err != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.refused = append(w.refused, line); !overloaded(err) {
				w.Error(err)
			}
		}
	})
	synctest.Wait()
}

// want ends all calls and checks the order in which they worked, and the refused ones.
func (w *world) want(worked, refused string) {
	w.Helper()
	close(w.leave)
	w.calls.Wait()
	if got := strings.Join(w.worked, " "); got != worked {
		w.Errorf("worked %s, want %s", got, worked)
	}
	if got := strings.Join(w.refused, " "); got != refused {
		w.Errorf("refused %s, want %s", got, refused)
	}
}

// Many calls of one organization wait. A call of another organization then waits for at most two of them.
func TestLinesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, queue: queue.New(1, 100), leave: make(chan struct{})}
		for _, line := range strings.Fields("a a a a b a c b") {
			w.do(t.Context(), line)
		}
		w.want("a a b c a b a a", "")
	})
}

// If all places to wait are taken, a new call replaces the last call of the longest line.
func TestLongestLineGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, queue: queue.New(1, 4), leave: make(chan struct{})}
		for _, line := range strings.Fields("a a a a a a b b b c b c") {
			w.do(t.Context(), line)
		}
		w.want("a a b c b", "a a a b a b c")
	})
}

// A line has only its share of the places while there are calls of another line. Otherwise it may have all places.
func TestShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, queue: queue.NewShared(3, 1, 10), leave: make(chan struct{})}
		working := func(when, want string) {
			t.Helper()
			w.mu.Lock()
			defer w.mu.Unlock()
			if got := strings.Join(w.worked, " "); got != want {
				t.Errorf("%s: %s work, want %s", when, got, want)
			}
		}
		w.do(t.Context(), "a")
		w.do(t.Context(), "a")
		working("alone", "a a")
		w.do(t.Context(), "b")
		w.do(t.Context(), "b")
		working("another comes", "a a b")
		w.leave <- struct{}{}
		w.leave <- struct{}{}
		w.leave <- struct{}{}
		synctest.Wait()
		working("all leave", "a a b b")
		w.do(t.Context(), "a")
		w.do(t.Context(), "a")
		working("both have one", "a a b b a")
		<-time.After(1100 * time.Millisecond) // of the bubble
		w.do(t.Context(), "a")
		working("another still works", "a a b b a")
		w.leave <- struct{}{}
		w.leave <- struct{}{}
		synctest.Wait()
		working("alone for a second", "a a b b a a a")
		w.want("a a b b a a a", "")
	})
}

// A call that gives up while it waits takes no turn.
func TestTurnOfNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, queue: queue.New(1, 4), leave: make(chan struct{})}
		w.do(t.Context(), "a")
		ctx, cancel := context.WithCancel(t.Context())
		w.do(ctx, "b")
		w.do(t.Context(), "a")
		cancel()
		synctest.Wait()
		w.do(t.Context(), "c")
		w.want("a a c", "b")
	})
}

// Each call of a line works once, and in order.
func FuzzLines(f *testing.F) {
	f.Add("aab-abca-b--", uint8(3))
	f.Fuzz(func(t *testing.T, steps string, most uint8) {
		lines, waits := queue.NewLines[int](int(most)), map[string][]int{}
		gone := func(n int) (place int) {
			for line, waiting := range waits {
				if place = slices.Index(waiting, n); place >= 0 {
					waits[line] = slices.Delete(waiting, place, place+1)
					return place
				}
			}
			t.Fatalf("%d came out twice", n)
			return place
		}
		for n, step := range steps {
			if step != '-' {
				line := string(step)
				waits[line] = append(waits[line], n)
				if left, full := lines.Add(line, n); full {
					gone(left)
				}
			} else if next, ok := lines.Next(func(string) bool { return true }); ok && gone(next) != 0 {
				t.Fatalf("%d is not the first of its line", next)
			}
			sum := 0
			for _, waiting := range waits {
				sum += len(waiting)
			}
			if sum != lines.Len() || sum > int(most) {
				t.Fatalf("%d of %d wait, want %d", lines.Len(), most, sum)
			}
		}
	})
}
