package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"herald/services/auth/internal/store"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/testkit"
)

// Each login is an event of the search, and those of a user in a minute are one.
func TestPastLoginsAreEvents(t *testing.T) {
	t.Parallel()
	clock := testkit.ClockAt(now)
	j := kit.Journal(t)
	j.Now = clock.Now
	w := world{t, store.New(j), j.DB}
	ctx := rpc.WithRequestID(t.Context(), "r1")
	login := func(userID string, amr ...string) {
		t.Helper()
		s := session("s of "+userID, userID)
		s.AMR = amr
		w.must(w.OpenSession(ctx, []byte(userID), s))
	}
	read := func(q *heraldv1.ReadEventsRequest) (all []string) {
		t.Helper()
		q.Limit = 100
		found, err := w.Events().ReadEvents(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found.Result {
			var data struct {
				AMR   []string
				Count int
				Last  time.Time
			}
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprintf("%s.%s of %s in %s by %s with %q: %d until %s, %s", e.Aggregate, e.Name,
				e.AggregateId, e.OrgId, e.Actor, data.AMR, data.Count, data.Last.Sub(now), e.RequestId))
		}
		return all
	}
	login("u1", "pwd")
	clock.Advance(59 * time.Second)
	login("u1", "pwd")
	login("u2", "pwd", "otp")
	clock.Advance(time.Second)
	login("u1", "pwd")
	w.must(w.AddSession(ctx, []byte("renewed"), session("s3", "u3")))
	const first, other, next = `human.logged_in of u1 in o by u1 with ["pwd"]: 2 until 59s, r1`,
		`human.logged_in of u2 in o by u2 with ["pwd" "otp"]: 1 until 59s, r1`,
		`human.logged_in of u1 in o by u1 with ["pwd"]: 1 until 1m0s, r1`
	if got := read(&heraldv1.ReadEventsRequest{OrgId: "o"}); !slices.Equal(got, []string{next, other, first}) {
		t.Errorf("%q", got)
	}
	for name, q := range map[string]*heraldv1.ReadEventsRequest{
		"editor": {Actor: "u1"}, "object": {HistoryId: "u1"},
		"type": {HistoryId: "u1", Types: []string{"human.logged_in"}},
	} {
		if got := read(q); !slices.Equal(got, []string{next, first}) {
			t.Errorf("by the %s: %q", name, got)
		}
	}
	if got := read(&heraldv1.ReadEventsRequest{OrgId: "p"}); got != nil {
		t.Errorf("another organization has %q", got)
	}

	clock.Advance(keep - time.Minute)
	w.must(last(w.DeleteExpired(t.Context(), keep)))
	if n := testkit.Rows(t, w.db, "past_logins"); n != 3 {
		t.Errorf("the sweep leaves %d of 3", n)
	}
	clock.Advance(time.Second)
	w.must(last(w.DeleteExpired(t.Context(), keep)))
	if n := testkit.Rows(t, w.db, "past_logins"); n != 2 {
		t.Errorf("%d past logins stay", n)
	}
}

// However many logins of a user there are at once, they have one row.
func TestPastLoginsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	testkit.Race(t, 100, func(n int) error {
		return w.OpenSession(t.Context(), fmt.Append(nil, n), session(fmt.Sprint("s", n), "u1"))
	})
	if testkit.Rows(t, w.db, "past_logins") != 1 || testkit.Rows(t, w.db, "past_logins where logins = 100") != 1 {
		t.Error("100 logins have not one row")
	}
}
