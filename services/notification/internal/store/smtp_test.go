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
	for _, user := range []string{"u1", "u2", "u3", "u4", "u5"} {
		sent := testkit.Race(t, 3*domain.MostTests, func(i int) error {
			return test(user, fmt.Sprint(user, "-", i), made)
		}, notificationfault.ErrTooManyTestMails.ID)
		if sent != domain.MostTests {
			t.Errorf("%d test mails of %s", sent, user)
		}
	}
	if err := test("u1", "later", made.Add(domain.TestsTime)); err != nil {
		t.Error(err)
	}
}
