package notification

import (
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/shared/id"
	"herald/shared/testkit/smtpd"
)

// queue makes mails wait, as if they had been asked for some time ago.
func (w *world) queue(mails int, age time.Duration) {
	w.Helper()
	ids := make([]string, mails)
	for i := range ids {
		ids[i] = id.New()
	}
	if _, err := w.db.Exec(w.Context(),
		`insert into notifications (id, org_id, user_id, kind, state, created_at, due_at)
		select id, 'o1', id, 'init', 1, now() - $2::interval, now() from unnest($1::text[]) id`, ids, age); err != nil {
		w.Fatal(err)
	}
}

// relayed waits until the relay has seen so many mails to their end. In steps, as each wait
// is bounded: what counts is that mails keep going out.
func (w *world) relayed(mails int) {
	w.Helper()
	const step = 50
	for seen := w.relay.Count(smtpd.Dot); seen < mails; seen = w.relay.Count(smtpd.Dot) {
		if err := w.relay.Reached(w.Context(), smtpd.Dot, min(seen+step, mails)); err != nil {
			w.Fatalf("%d of %d mails, and no more come: %v", w.relay.Count(smtpd.Dot), mails, err)
		}
	}
}

// recorded waits until what became of the last mails is.
func (w *world) recorded() {
	w.Helper()
	w.watch()
	w.until("not exists (select from notifications where due_at is not null)")
}

// once fails for a mail that came more or less often than once.
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

// The relay was away for an hour, and 2,000 users wait: with the pauses of a running
// system at their longest, all have their mail within a minute of its return. A machine
// that is busy with other things may take twice the time that it needs for as many mails.
func TestRelayReturns(t *testing.T) {
	t.Parallel()
	usual := delivery.UsualTimes()
	w := newWorld(t, setup{unwatched: true, times: func(x *delivery.Times) { *x = usual; x.Probe = usual.MaxProbe }})
	const before, users = 100, 2000
	w.queue(before, 0)
	began := time.Now()
	w.run(w.service)
	w.relayed(before)
	pace := time.Since(began) / before
	away := w.relay.Count(smtpd.Greeting)
	w.relay.Script(smtpd.Fault{At: smtpd.Greeting, Reply: "421 4.3.2 closing", Drop: true},
		smtpd.Fault{At: smtpd.RSET, Drop: true})
	w.queue(users, time.Hour)
	// As many as are under way at once: the next probe is as far away as it can be.
	if err := w.relay.Reached(t.Context(), smtpd.Greeting, away+8); err != nil {
		t.Fatal(err)
	}
	w.relay.Script()
	returned := time.Now()
	w.relayed(before + users)
	took, limit := time.Since(returned), max(time.Minute, usual.MaxProbe+2*users*pace)
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
	const mails = 5000
	w.queue(mails, 0)
	began := time.Now()
	w.run(w.service)
	for range 3 {
		w.run(w.open(setup{}))
	}
	w.relayed(mails)
	t.Logf("four notifiers sent %d mails in %s", mails, time.Since(began).Round(time.Millisecond))
	w.recorded()
	w.once(mails)
}
