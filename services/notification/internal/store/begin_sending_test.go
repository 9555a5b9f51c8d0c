package store_test

import (
	"errors"
	"testing"
	"time"

	"herald/services/notification/internal/domain"
	"herald/shared/mail"
)

// A claim that ended cannot send any more, even while its mail waits for another try.
func TestMarkAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	c := w.one(time.Minute)
	w.settle(c, domain.Verdict{State: domain.Retrying, Attempt: domain.Retrying, Reply: "450 later", Pause: time.Hour})
	if err := w.BeginSending(t.Context(), c, made, time.Minute); !errors.Is(err, domain.ErrLost) {
		t.Errorf("marked: %v", err)
	}
}

// Notifications are forgotten in one organization.
func TestForget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	w.lane("b", "o2", mail.Init)
	if err := w.Forget(t.Context(), "o2", "u1"); err != nil {
		t.Fatal(err)
	}
	if left := w.rows("select id from notifications"); left != "(a)" {
		t.Errorf("left are %s", left)
	}
}

// The rendered mail of an attempt that the mail server refused for now is deleted, because the next attempt renders it
// again.
func TestRenderedMailOfARefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	c := w.one(time.Minute)
	c.Rendered = []byte(`{"text": "first"}`)
	w.beginSending(c)
	w.settle(c, domain.Verdict{State: domain.Retrying, Attempt: domain.Retrying, Reply: "450 later", Pause: time.Hour})
	if kept := w.rows("select rendered from attempts where rendered is not null"); kept != "" {
		t.Errorf("kept is %s", kept)
	}
}
