package event_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// Handlers get again what was written of one aggregate, newest first: what they handle,
// since a time, and no more than was asked for.
func TestRecall(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testkit.Ground(t), kit.Database(t))
	began := time.Now().Truncate(time.Microsecond)
	at := began
	r.Now = func() time.Time { return at }
	r.mustCreate("a", "b")
	for _, name := range []string{"first", "second", "third"} {
		at = at.Add(time.Second)
		if _, err := r.rename("a", name); err != nil {
			t.Fatal(err)
		}
	}
	replay := func(p event.Past) (seen []event.Delivery, created int) {
		t.Helper()
		err := r.Recall(t.Context(), p,
			event.On(func(_ context.Context, d event.Delivery, _ *usersv1.OrgChanged) error {
				seen = append(seen, d)
				return nil
			}),
			event.On(func(context.Context, event.Delivery, *usersv1.OrgCreated) error { created++; return nil }),
			event.On(func(context.Context, event.Delivery,
				*usersv1.HumanCreated) error {
				t.Error("made up")
				return nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		return seen, created
	}
	all, created := replay(event.Past{OrganizationID: "org-1", HistoryID: "a", Since: began, Most: 10})
	if len(all) != 3 || created != 1 || all[0].AggregateID != "a" || all[0].OrganizationID != "org-1" ||
		all[0].ID == "" ||
		!all[0].Time.Equal(at) || !slices.IsSortedFunc(all,
		func(a, b event.Delivery) int { return int(b.Sequence - a.Sequence) }) {
		t.Errorf("%+v, %d created", all, created)
	}
	for _, p := range []event.Past{
		{OrganizationID: "org-1", HistoryID: "a", Since: at.Add(-time.Second), Most: 10}, {OrganizationID: "org-1",
			HistoryID: "a", Since: began, Most: 2},
	} {
		if some, created := replay(p); !slices.Equal(some, all[:2]) || created != 0 {
			t.Errorf("%+v: %+v, %d created", p, some, created)
		}
	}
	for _, p := range []event.Past{{OrganizationID: "org-2", HistoryID: "a", Most: 10},
		{OrganizationID: "org-1", HistoryID: "c", Most: 10}} {
		if some, created := replay(p); len(some) != 0 || created != 0 {
			t.Errorf("%+v: %+v, %d created", p, some, created)
		}
	}
	broken := errors.New("broken")
	err := r.Recall(t.Context(), event.Past{OrganizationID: "org-1", HistoryID: "a", Most: 10},
		onRenamed(func(context.Context, event.Delivery) error { return broken }))
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
