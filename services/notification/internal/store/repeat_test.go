package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
)

// A notifier whose lease ran out after BeginSending, because the database was away, can record its outcome
// before another one sends the mail again, but not afterwards.
func TestOutcomeAfterTheLease(t *testing.T) {
	t.Parallel()
	for _, claimed := range []bool{false, true} {
		w := newWorld(t)
		w.queue("a")
		c := w.one(time.Minute)
		c.Rendered = []byte(`{"text": "first"}`)
		w.beginSending(c)
		w.exec("update notifications set due_at = now()")
		if claims := w.claim(5, time.Minute); len(claims) != 0 {
			t.Fatalf("claimed without a pause: %+v", claims)
		}
		if claimed {
			w.exec("update notifications set due_at = now()")
			w.one(time.Minute)
		}
		v := c.Delivered()
		v.Reply = "250 ok"
		err := w.Settle(t.Context(), c, v, nil)
		if claimed {
			if !errors.Is(err, domain.ErrLost) {
				t.Errorf("after another claim: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := w.rows(attempts); got != `(1,3,"250 ok",)` {
			t.Errorf("attempts %s", got)
		}
		if got := w.rows("select state, due_at from notifications"); got != "(3,)" {
			t.Errorf("the mail ended as %s", got)
		}
	}
}

// Mails that may have been delivered are neither claimed nor waited for unless repeats are allowed.
func TestRepeatsAreClaimedOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	c := w.one(time.Minute)
	c.Rendered = []byte(`{}`)
	w.beginSending(c)
	w.settle(c, domain.Verdict{State: domain.Retrying, Attempt: domain.Uncertain})
	for _, repeats := range []bool{false, true} {
		ask := store.Ask{Most: 5, Lease: time.Minute, Repeats: repeats}
		next, err := w.Next(t.Context(), ask, time.Hour)
		if err != nil || (next <= 0) != repeats {
			t.Errorf("repeats allowed: %t, the next in %s, %v", repeats, next, err)
		}
		claims, err := w.Claim(t.Context(), ask)
		if err != nil || (len(claims) == 1) != repeats {
			t.Errorf("repeats allowed: %t, claimed %+v, %v", repeats, claims, err)
		}
	}
}

// A mail whose notifier has died after BeginSending is noticed also while repeats are not allowed, so that its pause
// begins. What the relay answered before stays as it is.
func TestUnansweredIsNoticedWithoutRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	for n := range 2 {
		c := w.one(time.Minute)
		c.Rendered = []byte(`{}`)
		w.beginSending(c)
		if n == 0 {
			w.settle(c, domain.Verdict{State: domain.Retrying, Attempt: domain.Retrying})
		}
	}
	w.exec("update notifications set due_at = now()")
	claims, err := w.Claim(t.Context(), store.Ask{Most: 5, Lease: time.Minute, Pause: time.Hour})
	if err != nil || len(claims) > 0 {
		t.Errorf("claimed %+v, %v", claims, err)
	}
	want := fmt.Sprintf("(%d)\n(%d)", domain.Retrying, domain.Uncertain)
	if got := w.rows("select state from attempts order by number"); got != want {
		t.Errorf("the attempts have the states %s, want %s", got, want)
	}
}
