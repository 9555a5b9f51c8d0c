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

// After an hour without the mail server 2,000 mails wait, and the pauses are as long as they can be. All mails are sent
// within a minute of the mail server's return. A busy machine may take twice the time that it needs for as many mails
// without pauses.
func TestRelayReturns(t *testing.T) {
	t.Parallel()
	usual := delivery.UsualTimes()
	const longest = time.Second // stands for the usual one, which is added to the result
	w := testworld.Stopped(t, testworld.Setup{Times: func(x *delivery.Times) {
		*x = usual
		x.Probe, x.MaxProbe = longest, longest
	}})
	const before, users = 100, 2000
	queue(w, before, 0)
	began := time.Now()
	testkit.Run(w, w.Service)
	relayed(w, before)
	pace := time.Since(began) / before
	away := w.Relay.Count(outside.Greeting)
	w.Relay.Script(outside.MailFault{At: outside.Greeting, Reply: "421 4.3.2 closing", Drop: true},
		outside.MailFault{At: outside.RSET, Drop: true})
	queue(w, users, time.Hour)
	// All workers have just failed, so the next probe is as far away as it can be.
	w.Reached(outside.Greeting, away+8)
	w.Relay.Script()
	returned := time.Now()
	relayed(w, before+users)
	took := time.Since(returned) - longest + usual.MaxProbe
	limit := max(time.Minute, usual.MaxProbe+2*users*pace)
	t.Logf("%d mails that waited for the relay went out within %s of its return, of %s", users,
		took.Round(time.Millisecond), limit.Round(time.Second))
	if took > limit {
		t.Errorf("it took %s", took)
	}
	w.Finished()
	w.SentOnce(before + users)
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
