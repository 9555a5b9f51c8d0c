package store_test

import (
	"errors"
	"testing"
	"time"

	"herald/services/notification/internal/domain"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	"herald/shared/mail"
	"herald/shared/testkit"
)

// No other notifier gets a mail that Begin claimed before its lease has run out.
func TestBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := domain.Notification{ID: "a", OrgID: "o1", UserID: "u1", Kind: domain.Test, CreatedAt: made, Language: "en",
		Recipient: "ada@example.com"}
	c, err := w.Begin(t.Context(), n, time.Minute)
	if err != nil || c.State != domain.Sending || c.Fence != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	if claims := w.claim(5, time.Minute); len(claims) != 0 {
		t.Errorf("claimed by another: %+v", claims)
	}
	w.exec("update notifications set due_at = now()")
	if again := w.one(time.Minute); again.Fence != 2 || again.Recipient != n.Recipient || again.Kind != domain.Test {
		t.Errorf("after the lease: %+v", again)
	}
}

func TestHurry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, row := range map[string]struct {
		state domain.State
		kind  mail.Kind
		due   any
	}{
		"queued":   {domain.Queued, mail.Init, made.Add(1000 * time.Hour)},
		"retrying": {domain.Retrying, mail.VerifyEmail, made.Add(1000 * time.Hour)},
		"sending":  {domain.Sending, mail.Init, made.Add(1000 * time.Hour)},
		"sent":     {domain.Sent, mail.Init, nil},
		"failed":   {domain.Failed, mail.PasswordReset, nil},
		"test":     {domain.Retrying, domain.Test, made.Add(1000 * time.Hour)},
	} {
		w.exec(`insert into notifications (id, org_id, user_id, kind, state, created_at, due_at) values ($1, 'o1',
			'u1', $2, $3, $4, $5)`, id, row.kind, row.state, made, row.due)
		n, err := w.Hurry(t.Context(), "o1", "u1", id)
		if err != nil || n.ID != id || n.Kind != row.kind || n.State != row.state || n.OrgID != "o1" ||
			n.UserID != "u1" {
			t.Errorf("%s: %+v, %v", id, n, err)
		}
	}
	if got := w.rows("select id from notifications where due_at <= now() order by id"); got != "(queued)\n(retrying)" {
		t.Errorf("due are %s", got)
	}
}

// Settle writes the outcome of a failed mail and its event together. If it cannot write one, it writes neither.
func TestSettleWithAnEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	late := w.one(0)
	c := w.one(time.Minute)
	news := &notificationv1.MailFailed{UserId: "u1"}
	if err := w.Settle(t.Context(), late, late.Refused(), news); !errors.Is(err, domain.ErrLost) {
		t.Errorf("under an old fence: %v", err)
	}
	if got := w.rows("select id from events"); got != "" {
		t.Errorf("an event was written without its outcome: %s", got)
	}
	c.Rendered = []byte(`{"text": "first"}`)
	w.beginSending(c)
	v := c.Refused()
	v.Reply = "550 no"
	for _, want := range []error{nil, domain.ErrLost} {
		if err := w.Settle(t.Context(), c, v, news); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if got := w.rows("select aggregate_id, name, organization_id, data from events"); got !=
		`(a,failed,o1,"{""userId"": ""u1""}")` {
		t.Errorf("events %s", got)
	}
	if got := w.rows("select count(*) from outbox"); got != "(1)" {
		t.Errorf("%s wait in the outbox", got)
	}
	if got := w.rows(attempts); got != `(2,5,"550 no",)` {
		t.Errorf("attempts %s", got)
	}
	if got := w.rows("select state, due_at from notifications"); got != "(5,)" {
		t.Errorf("the mail ended as %s", got)
	}
}

// The first notifier writes no event while another one takes over its mail.
func TestClaimThatIsTakenOverMakesNoEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	c := w.one(time.Minute)
	tx, err := w.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "update notifications set fence = fence + 1"); err != nil {
		t.Fatal(err)
	}
	settled := make(chan error)
	go func() { settled <- w.Settle(t.Context(), c, c.Refused(), &notificationv1.MailFailed{UserId: "u1"}) }()
	testkit.Waiting(t, w.db, 1)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-settled; !errors.Is(err, domain.ErrLost) {
		t.Errorf("%v", err)
	}
	if got := w.rows("select id from events"); got != "" {
		t.Errorf("an event was written without its outcome: %s", got)
	}
}
