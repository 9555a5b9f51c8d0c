package delivery_test

import (
	"strings"
	"time"

	"herald/services/notification/internal/store"
	"herald/services/notification/internal/testworld"
	"herald/shared/event"
	"herald/shared/resource"
	"herald/shared/testkit/outside"
)

// storeOf returns the service's store, with the test's own connections.
func storeOf(w *testworld.World) store.Store {
	return store.New(event.Journal{DB: w.DB, Now: time.Now, Committed: func(event.Event) {}})
}

// queue adds mails as if they had been asked for some time ago.
func queue(w *testworld.World, mails int, age time.Duration) {
	w.Helper()
	ids := make([]string, mails)
	for i := range ids {
		ids[i] = resource.NewID()
	}
	w.Exec(`insert into notifications (id, org_id, user_id, kind, state, created_at, due_at)
		select id, 'o1', id, 'init', 1, now() - $2::interval, now() from unnest($1::text[]) id`, ids, age)
}

// relayed waits until the mail server has accepted a number of mails. It waits in steps, because the time of each wait
// is bounded.
func relayed(w *testworld.World, mails int) {
	w.Helper()
	const step = 50
	for seen := w.Relay.Count(outside.Dot); seen < mails; seen = w.Relay.Count(outside.Dot) {
		w.Reached(outside.Dot, min(seen+step, mails))
	}
}

// drained waits until no mail is left. It waits in steps, as relayed does.
func drained(w *testworld.World) {
	w.Helper()
	const due = "notifications where due_at is not null"
	for left := w.Count(due); left > 0; left = w.Count(due) {
		w.Until("(select count(*) <= $1 from "+due+")", max(0, left-50))
	}
}

// logged fails the test unless the log has a text a number of times.
func logged(w *testworld.World, text string, times int) {
	w.Helper()
	if n := strings.Count(w.Logs.String(), text); n != times {
		w.Errorf("the log has %d times %q, want %d", n, text, times)
	}
}
