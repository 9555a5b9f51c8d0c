package notification

import (
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/shared/resource"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// queue adds mails as if they had been asked for some time ago.
func (w *world) queue(mails int, age time.Duration) {
	w.Helper()
	ids := make([]string, mails)
	for i := range ids {
		ids[i] = resource.NewID()
	}
	if _, err := w.db.Exec(w.Context(),
		`insert into notifications (id, org_id, user_id, kind, state, created_at, due_at)
		select id, 'o1', id, 'init', 1, now() - $2::interval, now() from unnest($1::text[]) id`, ids, age); err != nil {
		w.Fatal(err)
	}
}

// relayed waits until the relay has accepted so many mails. It waits in steps, because the time of
// each wait is bounded.
func (w *world) relayed(mails int) {
	w.Helper()
	const step = 50
	for seen := w.relay.Count(outside.Dot); seen < mails; seen = w.relay.Count(outside.Dot) {
		if err := w.relay.Reached(w.Context(), outside.Dot, min(seen+step, mails)); err != nil {
			w.Fatalf("%d of %d mails, and no more come: %v", w.relay.Count(outside.Dot), mails, err)
		}
	}
}

// recorded waits until the outcomes of the last mails are stored.
func (w *world) recorded() {
	w.Helper()
	w.watch()
	w.until("not exists (select from notifications where due_at is not null)")
}

// once fails the test unless each mail came once.
func (w *world) once(mails int) {
	w.Helper()
	for _, d := range w.accepted(mails) {
		if d.Repeat != 0 {
			w.Errorf("%s was sent twice", d.MessageID)
		}
	}
	if n := w.count("notifications where state = 3"); n != mails {
		w.Errorf("%d of %d mails are known to be sent", n, mails)
	}
}

// After an hour without the relay 2,000 mails wait, and the pauses are as long as they can be. All
// mails are sent within a minute of the relay's return. A busy machine may take twice the time
// that it needs for as many mails without pauses.
func TestRelayReturns(t *testing.T) {
	t.Parallel()
	usual := delivery.UsualTimes()
	const longest = time.Second // stands for the usual one, which is added to the result
	w := newWorld(t, setup{unwatched: true, times: func(x *delivery.Times) {
		*x = usual
		x.Probe, x.MaxProbe = longest, longest
	}})
	const before, users = 100, 2000
	w.queue(before, 0)
	began := time.Now()
	testkit.Run(w, w.service)
	w.relayed(before)
	pace := time.Since(began) / before
	away := w.relay.Count(outside.Greeting)
	w.relay.Script(outside.MailFault{At: outside.Greeting, Reply: "421 4.3.2 closing", Drop: true},
		outside.MailFault{At: outside.RSET, Drop: true})
	w.queue(users, time.Hour)
	// All workers have just failed, so the next probe is as far away as it can be.
	if err := w.relay.Reached(t.Context(), outside.Greeting, away+8); err != nil {
		t.Fatal(err)
	}
	w.relay.Script()
	returned := time.Now()
	w.relayed(before + users)
	took := time.Since(returned) - longest + usual.MaxProbe
	limit := max(time.Minute, usual.MaxProbe+2*users*pace)
	t.Logf("%d mails that waited for the relay went out within %s of its return, of %s", users,
		took.Round(time.Millisecond), limit.Round(time.Second))
	if took > limit {
		t.Errorf("it took %s", took)
	}
	w.recorded()
	w.once(before + users)
}

// Four notifiers share one database.
func TestFourSenders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{unwatched: true})
	const mails = 2000
	w.queue(mails, 0)
	began := time.Now()
	testkit.Run(w, w.service)
	for range 3 {
		testkit.Run(w, w.open(setup{}))
	}
	w.relayed(mails)
	t.Logf("four notifiers sent %d mails in %s", mails, time.Since(began).Round(time.Millisecond))
	w.recorded()
	w.once(mails)
}
