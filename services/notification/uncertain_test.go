package notification

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// said fails the test unless the log has a text so many times.
func (w *world) said(text string, times int) {
	w.Helper()
	if n := strings.Count(w.logs.String(), text); n != times {
		w.Errorf("the log says %d times %q, want %d", n, text, times)
	}
}

// delayed returns what readiness says about the mails.
func (w *world) delayed() string {
	w.Helper()
	return w.service.Health.Causes(w.Context())["notification mails"]
}

// A relay takes mails and then closes the connection. It gets the mails that are being sent, and then one at a time
// until it answers. All mails are delivered. Only mails without an answer come once more, after the relay has answered.
func TestRelayClosesAtTheDot(t *testing.T) {
	t.Parallel()
	const mails, unanswered = 100, 30
	w := newWorld(t, setup{faults: []outside.MailFault{{At: outside.Dot, Times: unanswered, Drop: true, Accept: true}}})
	w.queue(mails, 0)
	w.stop = testkit.Run(t, w.service)
	w.logs.Wait(t, "no mail can be sent")
	if said := w.delayed(); said != "" {
		t.Errorf("not ready because of the relay: %q", said)
	}
	w.drained()
	for i, d := range w.accepted(mails + unanswered) {
		if again := d.Repeat > 0; again && i <= unanswered {
			t.Errorf("%s came again as number %d, before the relay answered", d.MessageID, i)
		}
	}
	if f := w.deliveredOnce(); f != (found{repeats: unanswered}) {
		t.Errorf("%+v", f)
	}
	w.said("no mail can be sent", 1)
	w.said("mails are sent again", 1)
}

// A mail without an answer stops others for the shorter pause only.
func TestOneMailWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	const mails = 20
	w := newWorld(t, setup{
		faults: []outside.MailFault{{At: outside.Dot, Times: 1, Drop: true}},
		times:  func(x *delivery.Times) { x.Doubt = time.Hour },
	})
	w.queue(mails, 0)
	testkit.Run(t, w.service)
	w.drained()
	w.accepted(mails)
	if f := w.deliveredOnce(); f != (found{}) {
		t.Errorf("%+v", f)
	}
}

// disconnect makes the database refuse its services until connect is called.
func (w *world) disconnect() (connect func()) {
	w.Helper()
	limit := func(n int) {
		w.Helper()
		if _, err := w.db.Exec(w.Context(), fmt.Sprintf(`do $$ begin
			execute format('alter database %%I connection limit %d', current_database()); end $$`, n)); err != nil {
			w.Fatal(err)
		}
	}
	limit(0)
	if _, err := w.db.Exec(w.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and application_name <> 'test'`); err != nil {
		w.Fatal(err)
	}
	return func() { w.Helper(); limit(-1) }
}

// The database cannot be reached while mails of two notifiers are at the final dot, for longer than their leases. The
// relay's answers are kept in memory, so no mail is sent again.
func TestDatabaseIsAwayAtTheDot(t *testing.T) {
	t.Parallel()
	const mails = 16
	answer := make(chan struct{})
	s := setup{
		faults: []outside.MailFault{{At: outside.Dot, Wait: answer, Reply: "250 2.0.0 accepted"}},
		times: func(x *delivery.Times) {
			x.Lease, x.Tick = 300*time.Millisecond, 50*time.Millisecond
			// As usual, the outcome of an attempt is recorded again before the mail is repeated.
			x.Spread = func(d time.Duration) time.Duration { return d }
		},
	}
	w := newWorld(t, s)
	w.queue(mails, 0)
	stops := []func(){testkit.Run(t, w.service), testkit.Run(t, w.open(s))}
	if err := w.relay.Reached(t.Context(), outside.Dot, mails); err != nil {
		t.Fatal(err)
	}
	connect := w.disconnect()
	close(answer)
	w.logs.WaitFor(t, "outcomes of mails wait in memory", len(stops)) // each notifier has noticed
	if _, err := w.db.Exec(t.Context(), "update notifications set due_at = now() - interval '1 hour'"); err != nil {
		t.Fatal(err)
	}
	connect()
	w.drained()
	w.once(mails)
	if n := w.count("attempts where state = 3"); n != mails {
		t.Errorf("%d attempts were answered:\n%s", n, w.dump("attempts"))
	}
	for _, stop := range stops {
		stop()
	}
	w.said("outcomes of mails wait in memory", 2) // one line of each notifier
	w.said("no outcome of a mail waits for the database any more", 2)
	if said := w.delayed(); said != "" {
		t.Errorf("readiness still says %q", said)
	}
}

// A notifier that is stopped while the database is away ends, and says what it could not record.
func TestStopWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	w := newWorld(t, setup{
		faults: []outside.MailFault{{At: outside.Dot, Wait: answer, Reply: "250 2.0.0 accepted"}},
		times:  func(x *delivery.Times) { x.Record = 10 * time.Millisecond },
	})
	w.queue(1, 0)
	stop := testkit.Run(t, w.service)
	if err := w.relay.Reached(t.Context(), outside.Dot, 1); err != nil {
		t.Fatal(err)
	}
	connect := w.disconnect()
	close(answer)
	w.logs.Wait(t, "outcomes of mails wait in memory")
	if said := w.delayed(); said != "1 outcomes of mails wait until the database can be written" {
		t.Errorf("readiness says %q", said)
	}
	stop()
	connect()
	w.logs.Wait(t, "what became of a mail is not recorded")
	if state := w.text("select string_agg(state::text, ' ') from attempts"); state != "2" {
		t.Errorf("its attempt has state %s", state)
	}
}
