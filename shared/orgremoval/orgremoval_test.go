package orgremoval

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/testkit"
)

var kit = testkit.New("removal", fstest.MapFS{"migrations/001_nothing.sql": {Data: []byte("select 1")}})

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// Each removed organization is swept until nothing of it is left. The caller is the person who removed it. Its removal
// is forgotten when the requests from before the removal have ended. Other removals stay.
func TestSweepAll(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), kit.Pool(t)
	left := map[string]int{"old": 2, "stuck": 1, "young": 1}
	var swept []string
	w := sweeper{db, slog.New(slog.DiscardHandler), func(ctx context.Context, d event.Delivery) (bool, error) {
		swept = append(swept, d.OrganizationID)
		if c := caller.From(ctx); c.UserID != "admin" || d.Actor != "admin" || d.ID != "cause of "+d.OrganizationID {
			t.Errorf("swept by %q because of %q", c.UserID, d.ID)
		}
		if d.OrganizationID == "stuck" {
			return true, errors.New("the provider is away")
		}
		left[d.OrganizationID]--
		return left[d.OrganizationID] >= 0, nil
	}, make(chan struct{}, 1)}
	for _, id := range []string{"old", "stuck", "young", "old"} { // events come more than once
		d := event.Delivery{ID: "cause of " + id, AggregateID: id, OrganizationID: id, Actor: "admin"}
		if err := w.note(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.wake) != 1 {
		t.Error("the task was not woken")
	}
	if _, err := db.Exec(ctx, `update removals set heard_at = heard_at - interval '91 seconds'
		where organization_id <> 'young'`); err != nil {
		t.Fatal(err)
	}
	if err := w.sweepAll(ctx); err == nil || err.Error() != "the provider is away" {
		t.Errorf("the sweep that fails is told as %v", err)
	}
	slices.Sort(swept)
	if want := []string{"old", "old", "old", "stuck", "young", "young"}; !slices.Equal(swept, want) {
		t.Errorf("swept %v, want %v", swept, want)
	}
	if n := testkit.Rows(t, db, `removals where organization_id in ('stuck', 'young')`); n != 2 {
		t.Errorf("%d organizations wait, want the one that failed and the young one", n)
	}
	if n := testkit.Rows(t, db, `removals`); n != 2 {
		t.Error("an organization of which nothing is left is not forgotten")
	}
}
