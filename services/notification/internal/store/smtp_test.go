package store_test

import (
	"fmt"
	"testing"
	"time"

	"herald/services/notification/internal/domain"
	"herald/shared/gen/fault/notificationfault"
	"herald/shared/testkit"
)

// A user may send some test mails in a time, also with simultaneous requests. Others are not counted.
func TestTestMailsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	test := func(user, id string, at time.Time) error {
		_, err := w.Begin(t.Context(), domain.Notification{ID: id, OrgID: "o1", UserID: user, Kind: domain.Test,
			CreatedAt: at}, time.Minute)
		return err
	}
	w.queue("a")
	for i := range 3 { // too old to count
		if err := test("u1", fmt.Sprintf("old%d", i), made.Add(-domain.TestsTime)); err != nil {
			t.Fatal(err)
		}
	}
	sent := testkit.Race(t, domain.MostTests+5, func(i int) error { return test("u1", fmt.Sprintf("t%d", i), made) },
		notificationfault.ErrTooManyTestMails.ID)
	if sent != domain.MostTests {
		t.Errorf("%d test mails", sent)
	}
	if err := test("u2", "other", made); err != nil {
		t.Error(err)
	}
	if err := test("u1", "later", made.Add(domain.TestsTime)); err != nil {
		t.Error(err)
	}
}
