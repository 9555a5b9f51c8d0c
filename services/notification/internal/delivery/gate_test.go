package delivery

import (
	"errors"
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
		finished(report("probe", unknown), stayed) // says nothing about the mail server: the next one is tried at once
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

// While the mail server does not answer final dots, the first try comes soon, because a single mail may be the cause.
// Later tries come late. The gate opens only after an answer to the final dot of a mail that was started after it
// closed.
func TestGateInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		times := Times{Probe: time.Second, MaxProbe: 4 * time.Second, Doubt: time.Minute}
		g := gate{answered: true}
		finished := func(r result, want turn) {
			t.Helper()
			if got := g.finished(r, times); got != want {
				t.Fatalf("%+v turned the gate by %d, want %d", r, got, want)
			}
		}
		probe := func(after time.Duration, w way, want turn) {
			t.Helper()
			start := time.Now()
			<-g.rest
			g.rest = nil
			if got := time.Since(start); got != after {
				t.Errorf("a pause of %s, want %s", got, after)
			}
			if g.answered || g.room(8) != 1 {
				t.Errorf("repeats: %t, room for %d", g.answered, g.room(8))
			}
			g.started(store.Hold{ID: "probe"})
			r := report("probe", w)
			r.doubts = g.doubts
			finished(r, want)
		}
		finished(report("a", unanswered), closed)
		probe(time.Second, answered, opened)
		if !g.answered || g.room(8) != 8 {
			t.Error("one mail alone stops others")
		}
		finished(report("a", unanswered), closed)
		finished(report("b", unanswered), stayed)
		finished(report("c", answered), stayed) // its dot may have been before those of the others
		finished(report("d", taken), stayed)
		probe(time.Minute, unanswered, stayed)
		probe(time.Minute, blocked, stayed)
		probe(4*time.Second, taken, stayed)
		g.started(store.Hold{ID: "probe"}) // the one before said nothing about final dots
		r := report("probe", answered)
		r.doubts = g.doubts
		finished(r, opened)
		finished(report("e", blocked), closed)
		if !g.answered {
			t.Error("a relay that is away answered the last final dot")
		}
		finished(report("f", taken), opened)
		if !g.answered {
			t.Error("what is known of final dots is forgotten")
		}
	})
}

// A mail server that takes no connections after it did not answer final dots was ended. When it takes them again, one
// mail is tried at once. If that is not answered either, the next pause is as long as usual.
func TestGateAfterTheMailServerEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		times := Times{Probe: time.Second, MaxProbe: 4 * time.Second, Doubt: time.Minute}
		g := gate{answered: true}
		g.finished(report("a", unanswered), times)
		g.finished(report("b", unanswered), times)
		look := func(after time.Duration, err error) {
			t.Helper()
			start := time.Now()
			<-g.look
			if got := time.Since(start); got != after || !g.looks() {
				t.Errorf("looked after %s, want %s", got, after)
			}
			g.looked(err, times)
		}
		away := errors.New("refused")
		look(time.Second, nil) // so far it may be the mails
		look(4*time.Second, away)
		look(4*time.Second, away)
		look(4*time.Second, nil)
		start := time.Now()
		<-g.rest
		g.rest = nil
		if waited := time.Since(start); waited != 0 || g.room(8) != 1 || g.answered {
			t.Errorf("tried after %s; room for %d; repeats: %t", waited, g.room(8), g.answered)
		}
		g.started(store.Hold{ID: "probe"})
		g.finished(report("probe", unanswered), times)
		if g.look != nil {
			t.Error("it is excused twice")
		}
		start = time.Now()
		if <-g.rest; time.Since(start) != time.Minute {
			t.Errorf("the next pause was %s", time.Since(start))
		}
	})
}
