package delivery_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/testworld"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// A test mail is tried even while no mail can be sent. If it is sent, the others are sent too.
func TestTestMailIsTriedWhileOthersWait(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{
		Faults: []outside.MailFault{{At: outside.Greeting, Reply: "421 4.3.2 closing", Drop: true}},
		Times:  func(x *delivery.Times) { x.Probe, x.MaxProbe = time.Hour, time.Hour },
	})
	waiting := w.Users.Ask("ada")
	w.Until("exists (select from notifications where state = 4)")
	if n := w.Tried("ada@example.com"); testworld.Story(n) != "FAILED: FAILED" ||
		!strings.Contains(n.Attempts[0].Reply, "421 4.3.2 closing") {
		t.Errorf("%v", n)
	}
	w.Relay.Script()
	if n := w.Tried("ada@example.com"); testworld.Story(n) != "SENT: SENT" {
		t.Errorf("%v", n)
	}
	w.Settled(waiting)
	w.Accepted(2)
}

// A test mail does not wait for a free worker.
func TestTestMailPassesOthers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	var asked sync.WaitGroup
	asked.Add(8)
	gate := make(chan struct{})
	var count atomic.Int64
	w.Users.Prepares(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		if count.Add(1) <= 8 {
			asked.Done()
			<-gate
		}
		return testworld.Person(r), nil
	})
	for range 12 {
		w.Users.Ask("ada")
	}
	asked.Wait()
	if n := w.Tried("ada@example.com"); testworld.Story(n) != "SENT: SENT" {
		t.Errorf("%v", n)
	}
	close(gate)
	w.Finished()
	w.Accepted(13)
	if strings.Contains(w.Logs.String(), "the queue cannot be read") {
		t.Error("the queue was asked for less than no mails")
	}
}

// A caller gets an answer in time that the mail is still being sent; the sending goes on.
func TestTestMailIsAnsweredInTimeWhileItIsSent(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{Faults: []outside.MailFault{{At: outside.RCPT, Hang: true}}})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	n, err := w.TestMail(ctx, "ada@example.com")
	if err != nil || testworld.Story(n) != ": SENDING" {
		t.Fatalf("%v, %v", n, err)
	}
	w.Stop() // gives the mail back; no notifier sends it again
	w.Relay.Script()
	testkit.Run(w, w.Open(testworld.Setup{}))
	if n := w.Settled(n.Id); testworld.Story(n) != "FAILED: FAILED" ||
		n.Attempts[0].Reply != "the notifier ended before it tried the mail" {
		t.Errorf("%v", n)
	}
	w.Accepted(0)
}

// If the notifier of a test mail loses its lease, another one ends the mail, and the waiting caller
// gets that outcome.
func TestTestMailIsEndedByAnotherNotifier(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{Faults: []outside.MailFault{{At: outside.RCPT, Hang: true}}})
	answered := make(chan *notificationv1.Notification)
	go func() {
		n, err := w.TestMail(t.Context(), "ada@example.com")
		if err != nil {
			t.Error(err)
		}
		answered <- n
	}()
	w.Reached(outside.RCPT, 1)
	w.Exec("update notifications set due_at = now()")
	testkit.Run(w, w.Open(testworld.Setup{}))
	w.Finished()
	w.Relay.Disconnect() // which ends the try of the first notifier
	if n := <-answered; testworld.Story(n) != "FAILED: FAILED" ||
		n.Attempts[0].Reply != "the notifier ended before it tried the mail" {
		t.Errorf("%v", n)
	}
	if n := w.Relay.Count(outside.RCPT); n != 1 {
		t.Errorf("tried %d times", n)
	}
}

// If its notifier died after BeginSending, a test mail is Uncertain.
func TestTestMailWithoutAnAnswerIsUncertain(t *testing.T) {
	t.Parallel()
	w := testworld.Stopped(t, testworld.Setup{})
	n := domain.Notification{ID: resource.NewID(), OrgID: "o1", UserID: "ada", Kind: domain.Test,
		CreatedAt: w.Ground.Now(), Recipient: "ada@example.com"}
	c, err := storeOf(w).Begin(t.Context(), n, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c.Rendered = []byte(kept)
	if err := storeOf(w).BeginSending(t.Context(), c, w.Ground.Now(), 0); err != nil {
		t.Fatal(err)
	}
	testkit.Run(w, w.Service)
	if got := w.Settled(n.ID); testworld.Story(got) != "UNCERTAIN: UNCERTAIN" {
		t.Errorf("%v", got)
	}
	w.Accepted(0)
}
