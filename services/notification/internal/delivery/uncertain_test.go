package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/testworld"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// delayed returns what readiness says about the mails.
func delayed(w *testworld.World) string {
	w.Helper()
	return w.Service.Health.Causes(w.Context())["notification mails"]
}

// A relay takes mails and then closes the connection. It gets the mails that are being sent, and then one at a time
// until it answers. All mails are delivered. Only mails without an answer come once more, after the mail server has
// answered.
func TestRelayClosesAtTheDot(t *testing.T) {
	t.Parallel()
	const mails, unanswered = 100, 30
	w := testworld.Stopped(t, testworld.Setup{
		Faults: []outside.MailFault{{At: outside.Dot, Times: unanswered, Drop: true, Accept: true}},
	})
	queue(w, mails, 0)
	w.Stop = testkit.Run(t, w.Service)
	w.Logs.Wait(t, "no mail can be sent")
	if said := delayed(w); said != "" {
		t.Errorf("not ready because of the relay: %q", said)
	}
	drained(w)
	for i, d := range w.Accepted(mails + unanswered) {
		if again := d.Repeat > 0; again && i <= unanswered {
			t.Errorf("%s came again as number %d, before the relay answered", d.MessageID, i)
		}
	}
	if f := deliveredOnce(w); f != (found{repeats: unanswered}) {
		t.Errorf("%+v", f)
	}
	logged(w, "no mail can be sent", 1)
	w.Logs.Wait(t, "mails are sent again")
	logged(w, "mails are sent again", 1)
}

// A mail without an answer stops others for the shorter pause only.
func TestOneMailWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	const mails = 20
	w := testworld.Stopped(t, testworld.Setup{
		Faults: []outside.MailFault{{At: outside.Dot, Times: 1, Drop: true}},
		Times:  func(x *delivery.Times) { x.Doubt = time.Hour },
	})
	queue(w, mails, 0)
	testkit.Run(t, w.Service)
	drained(w)
	w.Accepted(mails)
	if f := deliveredOnce(w); f != (found{}) {
		t.Errorf("%+v", f)
	}
}

// disconnect closes all connections to the database, except those of the test.
func disconnect(w *testworld.World) {
	w.Helper()
	w.Exec(`select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and application_name <> 'test'`)
}

// refuse makes the database refuse its services until connect is called.
func refuse(w *testworld.World) (connect func()) {
	w.Helper()
	limit := func(n int) {
		w.Helper()
		w.Exec(fmt.Sprintf(`do $$ begin
			execute format('alter database %%I connection limit %d', current_database()); end $$`, n))
	}
	limit(0)
	disconnect(w)
	return func() { w.Helper(); limit(-1) }
}

// The database cannot be reached while mails of two notifiers are at the final dot, for longer than their leases. The
// mail server's answers are kept in memory, so no mail is sent again.
func TestDatabaseIsAwayAtTheDot(t *testing.T) {
	t.Parallel()
	const mails = 16
	answer := make(chan struct{})
	s := testworld.Setup{
		Faults: []outside.MailFault{{At: outside.Dot, Wait: answer, Reply: "250 2.0.0 accepted"}},
		Times: func(x *delivery.Times) {
			x.Lease, x.Tick = 300*time.Millisecond, 50*time.Millisecond
			// As usual, the outcome of an attempt is recorded again before the mail is repeated.
			x.Spread = func(d time.Duration) time.Duration { return d }
		},
	}
	w := testworld.Stopped(t, s)
	queue(w, mails, 0)
	stops := []func(){testkit.Run(t, w.Service), testkit.Run(t, w.Open(s))}
	w.Reached(outside.Dot, mails)
	connect := refuse(w)
	close(answer)
	w.Logs.WaitFor(t, "outcomes of mails wait in memory", len(stops)) // each notifier has noticed
	w.Exec("update notifications set due_at = now() - interval '1 hour'")
	connect()
	drained(w)
	w.SentOnce(mails)
	if n := w.Count("attempts where state = $1", domain.Sent); n != mails {
		t.Errorf("%d attempts were answered:\n%s", n, w.Dump("attempts"))
	}
	for _, stop := range stops {
		stop()
	}
	logged(w, "outcomes of mails wait in memory", 2) // one line of each notifier
	logged(w, "no outcome of a mail waits for the database any more", 2)
	if said := delayed(w); said != "" {
		t.Errorf("readiness still says %q", said)
	}
}

// A notifier that is stopped while the database is away ends, and says what it could not record.
func TestStopWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	w := testworld.Stopped(t, testworld.Setup{
		Faults: []outside.MailFault{{At: outside.Dot, Wait: answer, Reply: "250 2.0.0 accepted"}},
		Times:  func(x *delivery.Times) { x.Record = 10 * time.Millisecond },
	})
	queue(w, 1, 0)
	stop := testkit.Run(t, w.Service)
	w.Reached(outside.Dot, 1)
	connect := refuse(w)
	close(answer)
	w.Logs.Wait(t, "outcomes of mails wait in memory")
	if said := delayed(w); said != "1 outcomes of mails wait until the database can be written" {
		t.Errorf("readiness says %q", said)
	}
	stop()
	connect()
	w.Logs.Wait(t, "what became of a mail is not recorded")
	if state := w.Text("select string_agg(state::text, ' ') from attempts"); state != "2" {
		t.Errorf("its attempt has state %s", state)
	}
}
