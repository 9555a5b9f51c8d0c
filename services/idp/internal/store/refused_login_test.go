package store_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/idp/internal/store"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/testkit"
)

func report(r *store.Refusals) (proto.Message, error) {
	e := &idpv1.IdpLoginRefused{}
	for _, n := range r.Counts {
		e.Count += uint32(n)
	}
	return e, nil
}

// However many logins are refused at once, each is counted once, and each provider has one event a minute.
func TestRefusedLoginsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.make("org-a", "company")
	w.make("org-b", "other")
	reported := func(id string) int {
		w.Helper()
		return testkit.Rows(t, w.db, "events where name = 'login_refused' and aggregate_id = '"+id+"'")
	}
	now := time.Now()
	refuse := func(n int) {
		w.Helper()
		made := testkit.Race(t, n, func(n int) error {
			return w.NoteRefusedLogin(t.Context(), "org-a", "company", fmt.Sprint("WHY_", n%3), now, report)
		})
		if made != n {
			t.Errorf("%d of %d were counted", made, n)
		}
	}
	refuse(300)
	if n := w.rows("refused_logins"); reported("company") != 1 || n > 3 {
		t.Errorf("%d events, %d rows", reported("company"), n)
	}
	refuse(1) // the one event may have counted all others already
	for minute := range 3 {
		now = now.Add(time.Minute)
		testkit.Race(t, 2, func(int) error { return w.ReportRefusedLogins(t.Context(), now, report) })
		if n := reported("company"); n != 2+min(minute, 1) {
			t.Errorf("%d events in minute %d", n, minute+1)
		}
		if minute == 0 {
			refuse(10)
		}
	}
	if n := w.rows("refused_logins"); n != 0 || reported("other") != 0 {
		t.Errorf("%d rows stay", n)
	}
	if w.rows("(select sum((data->>'count')::int) from events where name = 'login_refused') x (n) where n = 311") != 1 {
		t.Error("the events have not counted 311")
	}
	refuse(2)
	if _, err := w.RemoveIdp(t.Context(), "org-a", "company", happened); err != nil || w.rows("refused_logins") != 0 {
		t.Errorf("the counts of a removed provider: %v", err)
	}
}
