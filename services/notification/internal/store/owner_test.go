package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/shared/fault"
	"herald/shared/gen/fault/notificationfault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	"herald/shared/search"
	"herald/shared/testkit"
)

// asked is a method about the mail with an id to a user of an organization. It returns how many rows it found
// or changed.
type asked struct {
	name   string
	absent error // says that there is nothing; nil for a list without rows
	ask    func(ctx context.Context, s store.Store, of owned) (int, error)
}

type owned struct{ org, user, id string }

// everything is what the store does for an organization.
var everything = []asked{
	{"Notification", notificationfault.ErrNotificationNotFound,
		func(ctx context.Context, s store.Store, of owned) (int, error) {
			_, err := s.Notification(ctx, of.org, of.user, of.id)
			return 1, err
		}},
	{"Hurry", notificationfault.ErrNotificationNotFound,
		func(ctx context.Context, s store.Store, of owned) (int, error) {
			_, err := s.Hurry(ctx, of.org, of.user, of.id)
			return 1, err
		}},
	{"List", nil, func(ctx context.Context, s store.Store, of owned) (n int, err error) {
		list, err := s.List(ctx, of.org, of.user, search.Page{Limit: 10})
		for _, row := range list.Rows {
			if row.ID == of.id {
				n++
			}
		}
		return n, err
	}},
}

// elsewhere are methods that are not about what an organization has, each with a reason.
var elsewhere = map[string]string{
	"Now": "asks no database", "Forget": "follows an event of users",
	"Queue": "needs nothing that is there", "Begin": "needs nothing that is there",
	"SMTP": "is of the instance", "ChangeSMTP": "is of the instance",
	"Claim": "is the queue's", "Next": "is the queue's",
	"Renew": "is by the claim", "BeginSending": "is by the claim", "Settle": "is by the claim",
}

// No method finds or changes mails to users of another organization or to another user. Each finds
// those of its own.
func TestQueriesFindOnlyObjectsOfTheirOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	if _, err := w.Queue(t.Context(), domain.Notification{ID: "b", OrgID: "o2", UserID: "u2", Kind: domain.Test,
		CreatedAt: made}); err != nil {
		t.Fatal(err)
	}
	w.exec("update notifications set due_at = $1", time.Now().Add(time.Hour))
	due := "notifications where due_at <= now()"
	for _, m := range everything {
		for _, foreign := range []owned{
			{"o2", "u1", "a"}, {"o1", "u2", "a"}, {"o2", "u2", "a"}, {"", "", "a"}, {"o1", "u1", "b"},
			{"o1", "u1", "ax"},
		} {
			n, err := m.ask(t.Context(), w.Store, foreign)
			if m.absent == nil && n != 0 || !errors.Is(err, m.absent) {
				t.Errorf("%s of %+v: %d, %v", m.name, foreign, n, err)
			}
		}
	}
	if n := testkit.Rows(t, w.db, due); n != 0 {
		t.Errorf("%d were hurried", n)
	}
	for _, m := range everything {
		if n, err := m.ask(t.Context(), w.Store, owned{"o1", "u1", "a"}); n != 1 || err != nil {
			t.Errorf("%s where it is: %d, %v", m.name, n, err)
		}
	}
	if n := testkit.Rows(t, w.db, due+" and id = 'a'"); n != 1 {
		t.Error("not hurried where it is")
	}
}

func TestEveryMethodIsCheckedForItsOwner(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range everything {
		names = append(names, m.name)
	}
	testkit.Listed[store.Store](t, names, elsewhere)
}

// If Settle is called twenty times at once for the same claim, one call succeeds.
func TestSettledOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	c := w.one(time.Minute)
	n := testkit.Race(t, 20, func(int) error {
		err := w.Settle(t.Context(), c, c.Refused(), &notificationv1.MailFailed{UserId: "u1"})
		if errors.Is(err, domain.ErrLost) {
			return fault.ErrUnavailable
		}
		return err
	}, fault.ErrUnavailable.ID)
	if events := testkit.Rows(t, w.db, "events"); n != 1 || events != 1 {
		t.Errorf("%d of twenty calls succeeded, %d events are stored", n, events)
	}
}
