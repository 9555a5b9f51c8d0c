package delivery

import (
	"testing"
	"testing/synctest"
	"time"

	"herald/services/notification/internal/store"
)

func report(id string, w way) result { return result{hold: store.Hold{ID: id}, way: w} }

// While no mail can be sent, one at a time is tried after pauses of 1, 2, 4 and then 4 seconds.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		times := Times{Probe: time.Second, MaxProbe: 4 * time.Second}
		var g gate
		expect := func(free, want int) {
			t.Helper()
			if got := g.room(free); got != want {
				t.Fatalf("room for %d of %d, want %d", got, free, want)
			}
		}
		finished := func(r result, want turn) {
			t.Helper()
			if got := g.finished(r, times); got != want {
				t.Fatalf("%+v turned the gate by %d, want %d", r, got, want)
			}
		}
		expect(8, 8)
		g.started(store.Hold{ID: "a"})
		finished(report("a", unknown), stayed)
		expect(8, 8)
		finished(report("b", blocked), closed)
		for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
			expect(8, 0)
			finished(report("c", blocked), stayed) // was being sent when the gate closed
			start := time.Now()
			<-g.rest
			g.rest = nil
			if got := time.Since(start); got != pause {
				t.Errorf("a pause of %s, want %s", got, pause)
			}
			expect(0, 0)
			expect(8, 1)
			g.started(store.Hold{ID: "probe"})
			expect(7, 0)
			finished(report("probe", blocked), stayed)
		}
		<-g.rest
		g.rest = nil
		g.started(store.Hold{ID: "probe"})
		finished(report("probe", unknown), stayed) // says nothing about the relay: the next one is tried at once
		expect(8, 1)
		finished(report("d", taken), opened)
		finished(report("e", taken), stayed)
		expect(8, 8)
		finished(report("f", blocked), closed)
		start := time.Now()
		if <-g.rest; time.Since(start) != time.Second {
			t.Error("the pauses begin anew")
		}
	})
}
