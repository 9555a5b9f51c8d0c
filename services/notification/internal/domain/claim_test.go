package domain_test

import (
	"fmt"
	"testing"
	"time"

	"herald/services/notification/internal/domain"
)

var made = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func claim(unanswered int) domain.Claim {
	return domain.Claim{Notification: domain.Notification{CreatedAt: made}, Unanswered: unanswered}
}

// The state of a mail after a try depends on earlier tries, its age and how the try ended.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	const (
		young = time.Minute
		old   = 72 * time.Hour
	)
	ends := map[string]func(domain.Claim, time.Time) domain.Verdict{
		"delivered":  func(c domain.Claim, _ time.Time) domain.Verdict { return c.Delivered() },
		"refused":    func(c domain.Claim, _ time.Time) domain.Verdict { return c.Refused() },
		"deferred":   func(c domain.Claim, now time.Time) domain.Verdict { return c.Deferred(now, false) },
		"away":       func(c domain.Claim, now time.Time) domain.Verdict { return c.Deferred(now, true) },
		"unanswered": domain.Claim.NotAnswered,
		"unasked":    domain.Claim.Unasked,
		"released":   func(c domain.Claim, _ time.Time) domain.Verdict { return c.Released() },
		"ended":      func(c domain.Claim, _ time.Time) domain.Verdict { return c.Ended() },
	}
	for _, test := range []struct {
		end            string
		unanswered     int
		age            time.Duration
		state, attempt domain.State
		pause          time.Duration
	}{
		{"delivered", 0, young, domain.Sent, domain.Sent, 0},
		{"delivered", 1, old, domain.Sent, domain.Sent, 0},
		{"refused", 0, young, domain.Failed, domain.Failed, 0},
		{"refused", 1, young, domain.Uncertain, domain.Failed, 0},
		{"deferred", 0, young, domain.Retrying, domain.Retrying, 30 * time.Second},
		{"deferred", 1, young, domain.Retrying, domain.Retrying, 30 * time.Second},
		{"deferred", 0, old, domain.Failed, domain.Failed, 0},
		{"deferred", 1, old, domain.Uncertain, domain.Failed, 0},
		{"away", 0, time.Hour, domain.Retrying, domain.Retrying, 4 * time.Second},
		{"away", 0, old, domain.Failed, domain.Failed, 0},
		{"unanswered", 0, young, domain.Retrying, domain.Uncertain, 2 * time.Minute},
		{"unanswered", 0, time.Hour, domain.Retrying, domain.Uncertain, 2 * time.Minute},
		{"unanswered", 1, young, domain.Uncertain, domain.Uncertain, 0},
		{"unanswered", 0, old, domain.Uncertain, domain.Uncertain, 0},
		{"unasked", 0, young, domain.Retrying, 0, 4 * time.Second},
		{"unasked", 1, 10 * old, domain.Retrying, 0, 4 * time.Second},
		{"released", 0, young, domain.Retrying, 0, 0},
		{"ended", 2, young, domain.Uncertain, 0, 0},
	} {
		t.Run(fmt.Sprintf("%s after %d without an answer, aged %s", test.end, test.unanswered, test.age),
			func(t *testing.T) {
				t.Parallel()
				got := ends[test.end](claim(test.unanswered), made.Add(test.age))
				want := domain.Verdict{State: test.state, Attempt: test.attempt, Pause: test.pause}
				if got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
	}
	for unanswered, hopeless := range []bool{false, false, true, true} {
		if claim(unanswered).Hopeless() != hopeless {
			t.Errorf("after %d without an answer: hopeless is %t", unanswered, !hopeless)
		}
	}
}

// A test mail is tried once, whatever the outcome.
func TestTestMailIsTriedOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fence      int64
		unanswered int
		hopeless   bool
		end        func(domain.Claim) domain.Verdict
		want       domain.Verdict
	}{
		"not accepted": {1, 0, false, func(c domain.Claim) domain.Verdict { return c.Deferred(made, true) },
			domain.Verdict{State: domain.Failed, Attempt: domain.Failed}},
		"without an answer": {1, 0, false, func(c domain.Claim) domain.Verdict { return c.NotAnswered(made) },
			domain.Verdict{State: domain.Uncertain, Attempt: domain.Uncertain}},
		"its notifier died before the mark": {2, 0, true, domain.Claim.Ended, domain.Verdict{
			State: domain.Failed, Attempt: domain.Failed, Reply: "the notifier ended before it tried the mail",
		}},
		"its notifier died after the mark": {2, 1, true, domain.Claim.Ended, domain.Verdict{State: domain.Uncertain}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := claim(test.unanswered)
			c.Kind, c.Fence = domain.Test, test.fence
			if c.Hopeless() != test.hopeless {
				t.Errorf("hopeless is %t", !test.hopeless)
			}
			if got := test.end(c); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	for state, want := range map[domain.State][2]bool{
		domain.Queued: {true, false}, domain.Sending: {false, false}, domain.Sent: {false, false},
		domain.Retrying: {true, false}, domain.Failed: {false, true}, domain.Uncertain: {false, true},
	} {
		if got := [2]bool{state.Waits(), state.GivenUp()}; got != want {
			t.Errorf("state %d: waits, given up: %v", state, got)
		}
	}
}

// Pauses grow from 2 seconds to an hour. There are about 90 tries in 72 hours.
func TestPausesGrow(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]time.Duration{
		-time.Minute: 2 * time.Second, 0: 2 * time.Second, 10 * time.Second: 5 * time.Second,
		time.Hour:     30 * time.Minute,
		2 * time.Hour: time.Hour, 71 * time.Hour: time.Hour,
	} {
		if got := claim(0).Deferred(made.Add(age), false).Pause; got != want {
			t.Errorf("aged %s: a pause of %s, want %s", age, got, want)
		}
	}
	tries, now := 0, made
	for claim(0).Deferred(now, false).State == domain.Retrying {
		now = now.Add(claim(0).Deferred(now, false).Pause)
		tries++
	}
	if tries < 50 || tries > 100 {
		t.Errorf("%d tries in 72 hours", tries)
	}
}
