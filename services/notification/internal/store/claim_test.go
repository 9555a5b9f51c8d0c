package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/shared/mail"
	"herald/shared/postgres"
)

func TestMailIsQueuedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	c := w.one(time.Minute)
	want := domain.Claim{Notification: domain.Notification{
		ID: "a", OrgID: "o1", UserID: "u1", Kind: mail.Init, State: domain.Sending, CreatedAt: c.CreatedAt,
	}, Fence: 1}
	if !reflect.DeepEqual(c, want) || !c.CreatedAt.Equal(made) {
		t.Errorf("claimed %+v, want %+v", c, want)
	}
	w.queue("a")
	if again := w.claim(1, time.Minute); len(again) != 0 {
		t.Errorf("claimed twice: %+v", again)
	}
	w.settle(c, c.Delivered())
	w.queue("a")
	if again := w.claim(1, time.Minute); len(again) != 0 {
		t.Errorf("claimed after it was sent: %+v", again)
	}
}

func TestClaimsAreShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 100 {
		w.queue(fmt.Sprint(i))
	}
	var mu sync.Mutex
	var ids []string
	var claiming sync.WaitGroup
	for range 6 {
		claiming.Go(func() {
			for {
				claims, err := w.Claim(t.Context(), store.Ask{Most: 3, Lease: time.Minute})
				if err != nil {
					t.Error(err)
				}
				if len(claims) == 0 {
					return
				}
				mu.Lock()
				for _, c := range claims {
					ids = append(ids, c.ID)
				}
				mu.Unlock()
			}
		})
	}
	claiming.Wait()
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 100 || len(ids) != 100 {
		t.Errorf("%d claims of %d mails", len(ids), n)
	}
}

// A claim whose lease has run out cannot be marked, settled or renewed.
func TestClaimWithoutItsLeaseChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	late := w.one(0)
	if err := w.BeginSending(t.Context(), late, made, time.Minute); !errors.Is(err, domain.ErrLost) {
		t.Errorf("mark after the lease, nobody else has the mail: %v", err)
	}
	now := w.one(time.Minute)
	if err := w.Renew(t.Context(), []store.Hold{{ID: "a", Fence: late.Fence}}, -time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := w.BeginSending(t.Context(), late, made, time.Minute); !errors.Is(err, domain.ErrLost) {
		t.Errorf("mark under an old fence: %v", err)
	}
	if err := w.Settle(t.Context(), late, late.Delivered(), nil); !errors.Is(err, domain.ErrLost) {
		t.Errorf("settle under an old fence: %v", err)
	}
	w.beginSending(now)
	w.settle(now, now.Delivered())
	if err := w.Settle(t.Context(), now, now.Refused(), nil); !errors.Is(err, domain.ErrLost) {
		t.Errorf("settle twice: %v", err)
	}
	if got := w.rows("select id, state, due_at, fence from notifications"); got != "(a,3,,2)" {
		t.Errorf("the mail ended as %s", got)
	}
	if got := w.rows(attempts); got != `(2,3,"",)` {
		t.Errorf("attempts %s", got)
	}
}

func TestRenew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	c := w.one(0)
	if err := w.Renew(t.Context(), []store.Hold{{ID: "a", Fence: c.Fence}}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if claims := w.claim(1, time.Minute); len(claims) != 0 {
		t.Errorf("a renewed lease was taken: %+v", claims)
	}
	w.beginSending(c)
	w.settle(c, c.Delivered())
	if err := w.Renew(t.Context(), []store.Hold{{ID: "a", Fence: c.Fence}}, 0); err != nil {
		t.Fatal(err)
	}
	if claims := w.claim(1, time.Minute); len(claims) != 0 {
		t.Errorf("a sent mail was claimed: %+v", claims)
	}
}

// A marked claim without an outcome is an attempt that may have delivered the mail, which then waits
// for a pause. Its rendered mail is kept while the mail may be sent again.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	died := w.one(time.Minute)
	died.Rendered, died.Recipient, died.Language = []byte(`{"text": "first"}`), "ada@example.com", "en"
	w.beginSending(died)
	w.exec("update notifications set due_at = now()")
	if claims := w.claim(5, time.Minute); len(claims) != 0 {
		t.Fatalf("claimed without a pause: %+v", claims)
	}
	if got := w.rows(attempts); !strings.HasPrefix(got, "(1,6,") {
		t.Fatalf("attempts %s", got)
	}
	w.exec("update notifications set due_at = now() where due_at > now() + interval '50 seconds'")
	c := w.one(time.Minute)
	if c.Unanswered != 1 || string(c.Rendered) != `{"text": "first"}` || c.Recipient != "ada@example.com" ||
		c.Language != "en" {
		t.Fatalf("claimed %+v", c)
	}
	w.settle(c, domain.Verdict{State: domain.Retrying, Attempt: domain.Retrying, Reply: "450 later"})
	if c = w.one(time.Minute); c.Unanswered != 1 || c.Rendered == nil {
		t.Fatalf("after one that was not accepted: %+v", c)
	}
	c.Rendered = []byte(`{"text": "again"}`)
	w.beginSending(c)
	w.settle(c, domain.Verdict{State: domain.Retrying, Attempt: domain.Uncertain, Reply: "gone"})
	c = w.one(time.Minute)
	if c.Unanswered != 2 || string(c.Rendered) != `{"text": "first"}` || !c.Hopeless() {
		t.Fatalf("after the second: %+v", c)
	}
	w.settle(c, c.Ended())
	want := `(1,6,"the notifier ended before the mail relay answered",)
(2,4,"450 later",)
(3,6,gone,)`
	if got := w.rows(attempts); got != want {
		t.Errorf("attempts\n%s\nwant\n%s", got, want)
	}
	if got := w.rows("select state, due_at from notifications"); got != "(6,)" {
		t.Errorf("the mail ended as %s", got)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	next := func() time.Duration {
		t.Helper()
		d, err := w.Next(t.Context(), store.Ask{Repeats: true}, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := next(); d != 5*time.Second {
		t.Errorf("with an empty queue %s", d)
	}
	w.queue("a")
	if d := next(); d > 0 {
		t.Errorf("with a mail that is due %s", d)
	}
	c := w.one(time.Minute)
	if d := next(); d != 5*time.Second {
		t.Errorf("with a lease of a minute %s", d)
	}
	w.settle(c, domain.Verdict{State: domain.Retrying, Pause: 3 * time.Second})
	if d := next(); d <= 0 || d > 3*time.Second {
		t.Errorf("with a pause of 3 s %s", d)
	}
}

// The cost of Claim depends on the due notifications, not on the number of sent ones.
func TestClaimReadsOnlyWhatIsDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`insert into notifications (id, org_id, user_id, kind, state, created_at)
		select 'old' || i, 'o1', 'u' || i, 'init', 3, now() from generate_series(1, 20000) i`)
	w.exec(`insert into notifications (id, org_id, user_id, kind, state, created_at, due_at, fence)
		select i, 'o' || i % 50, 'u' || i, 'init', 1, now(), now() + (i % 2 - 1) * interval '1 hour', i % 2
		from generate_series(1, 20000) i`)
	w.exec("analyze notifications")
	plan := w.plan("with "+store.Due+" select id from due", postgres.Args{
		"most": 8, "org_id": "o1", "kind": "init", "tried": true, "repeats": false,
		"sending": domain.Sending, "uncertain": domain.Uncertain,
	})
	if strings.Contains(plan, "Seq Scan") || strings.Count(plan, "using notifications_new") != 3 ||
		!strings.Contains(plan, "using notifications_due") {
		t.Errorf("claims read\n%s", plan)
	}
	plan = w.plan(store.NextDue, postgres.Args{
		"most": time.Second, "repeats": false, "uncertain": domain.Uncertain,
	})
	if strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "using notifications_due") ||
		!strings.Contains(plan, "using notifications_new") {
		t.Errorf("the next time is found by\n%s", plan)
	}
}

// A mail of its own, in a lane of its own.
func (w world) lane(id, org string, kind mail.Kind) {
	w.Helper()
	if _, err := w.Queue(w.Context(), domain.Notification{
		ID: id, OrgID: org, UserID: "u1", Kind: kind, CreatedAt: made,
	}); err != nil {
		w.Fatal(err)
	}
}

// Mails that were never tried take turns by organization and kind, and with those that were tried.
func TestClaimsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 20 {
		w.lane(fmt.Sprintf("a%02d", i), "acme", mail.Init)
	}
	for _, c := range w.claim(2, time.Minute) {
		w.settle(c, domain.Verdict{State: domain.Retrying}) // due at once
	}
	w.lane("b1", "bank", mail.Init)
	w.lane("b2", "bank", mail.Init)
	w.lane("p1", "acme", mail.PasswordReset)
	w.lane("z1", "zoo", mail.VerifyEmail)
	var turn store.Turn
	var order []string
	for _, n := range []int{1, 1, 1, 5, 1, 1, 1} {
		claims, err := w.Claim(t.Context(), store.Ask{Most: n, After: turn, Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claims {
			order = append(order, c.ID)
		}
		turn = turn.After(claims)
	}
	want := "a02 a00 p1 a01 b1 z1 a03 b2 a04 a05 a06"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("claimed\n%s, want\n%s", got, want)
	}
	if claims := w.claim(100, time.Minute); len(claims) != 13 {
		t.Errorf("%d mails were left", len(claims))
	}
}
