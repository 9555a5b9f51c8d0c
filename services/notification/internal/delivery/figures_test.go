package delivery_test

import (
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/testworld"
	"herald/shared/boot"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// returns is how long after the mail server's return the last of the mails that wait goes out, if sending them takes no
// time.
const returns = 15 * time.Second

// The mail server is away, and mails wait whose pauses are as long as they can be. It returns after its first refusals,
// or after the longest pauses, or it was killed while mails were at the final dot. All other mails are sent within 15 s
// of its return. A busy machine may take twice the time that it needs for as many mails without pauses.
func TestRelayReturns(t *testing.T) {
	t.Parallel()
	refuses := []outside.MailFault{{At: outside.Greeting, Reply: "421 4.3.2 closing", Drop: true}, {At: outside.RSET,
		Drop: true}}
	for name, test := range map[string]struct {
		faults []outside.MailFault
		met    int // greetings until it returns
		twice  int // mails without an answer
	}{
		"soon":                 {refuses, 8, 0},
		"late":                 {refuses, 8 + 4, 0},
		"killed at final dots": {append(refuses, outside.MailFault{At: outside.Dot, Drop: true}), 2, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.Stopped(t, testworld.Setup{Times: func(x *delivery.Times) { *x = delivery.UsualTimes() }})
			const before, waiting = 100, 500
			queue(w, before, 0)
			began := time.Now()
			testkit.Run(w, w.Service)
			relayed(w, before)
			pace := time.Since(began) / before
			w.Finished()
			dots, away := w.Relay.Count(outside.Dot), w.Relay.Count(outside.Greeting)
			if test.twice > 0 { // sessions that are at the final dot are not refused
				release := make(chan struct{})
				w.Relay.Script(outside.MailFault{At: outside.Dot, Drop: true, Wait: release})
				queue(w, waiting, time.Hour)
				w.Reached(outside.Dot, dots+test.twice)
				away = w.Relay.Count(outside.Greeting)
				w.Relay.Script(test.faults...)
				close(release)
			} else {
				w.Relay.Script(test.faults...)
				queue(w, waiting, time.Hour)
			}
			w.Reached(outside.Greeting, away+test.met)
			w.Relay.Script()
			returned := time.Now()
			relayed(w, before+waiting)
			w.Until("(select count(*) <= $1 from notifications where due_at is not null)", test.twice)
			took := time.Since(returned)
			limit := returns + 2*waiting*pace
			t.Logf("%d mails went out within %s of its return, of %s", waiting, took.Round(time.Millisecond),
				limit.Round(time.Millisecond))
			if took > limit {
				t.Errorf("it took %s", took)
			}
			if test.twice == 0 {
				w.Finished()
				w.SentOnce(before + waiting)
			}
		})
	}
}

// Four notifiers share one database. Each sends mails, and none sends a mail of another.
func TestNotifiersShareTheMails(t *testing.T) {
	t.Parallel()
	w := testworld.Stopped(t, testworld.Setup{})
	const mails = 2000
	queue(w, mails, 0)
	began := time.Now()
	notifiers := []*boot.Service{w.Service}
	for range 3 {
		notifiers = append(notifiers, w.Open(testworld.Setup{}))
	}
	for _, n := range notifiers {
		testkit.Run(w, n)
	}
	relayed(w, mails)
	t.Logf("four notifiers sent %d mails in %s", mails, time.Since(began).Round(time.Millisecond))
	w.Finished()
	w.SentOnce(mails)
	sent := 0.0
	for i, n := range notifiers {
		counted := w.Counted(n, "sent")
		if counted == 0 {
			t.Errorf("notifier %d sent nothing", i)
		}
		sent += counted
	}
	if sent != mails {
		t.Errorf("%v are counted as sent, want %d", sent, mails)
	}
}
