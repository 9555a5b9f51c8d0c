package delivery_test

import (
	"sync"
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/services/notification/internal/testworld"
	"herald/shared/mail"
	"herald/shared/resource"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// A notifier that was stopped for longer than its lease neither sends its mail nor records it,
// because another one has taken it over.
func TestNotifierWithoutItsLeaseNeitherSendsNorRecords(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	held, release := w.Users.Block()
	late := w.Users.Ask("ada")
	<-held
	w.Exec("update notifications set due_at = now()") // the lease runs out
	testkit.Run(w, w.Open(testworld.Setup{}))
	n := w.Settled(late)
	release()
	w.Reached(outside.DATA, 2)
	w.Stop()
	if testworld.Story(n) != "SENT: SENT" {
		t.Errorf("%v", n)
	}
	testkit.Equal(t, w.Settled(late), n)
	if dots := w.Relay.Count(outside.Dot); dots != 1 {
		t.Errorf("%d final dots", dots)
	}
	w.Accepted(1)
}

// The lease of a mail that takes longer is renewed.
func TestLeaseOfASlowMailIsRenewed(t *testing.T) {
	t.Parallel()
	s := testworld.Setup{Times: func(x *delivery.Times) { x.Lease, x.Tick = time.Second, 50*time.Millisecond }}
	w := testworld.New(t, s)
	held, release := w.Users.Block()
	slow := w.Users.Ask("ada")
	<-held
	var end time.Time
	if err := w.DB.QueryRow(t.Context(), "select due_at from notifications").Scan(&end); err != nil {
		t.Fatal(err)
	}
	testkit.Run(w, w.Open(s))
	w.Until("exists (select from notifications where now() > $1)", end)
	release()
	n := w.Settled(slow)
	if testworld.Story(n) != "SENT: SENT" || w.Count("notifications where fence = 1") != 1 {
		t.Errorf("%v; %s", n, w.Dump("notifications"))
	}
	w.Accepted(1)
}

// died leaves a claim in the state in which a notifier that dies leaves it: after Claim or, with rendered, after
// BeginSending.
func died(w *testworld.World, id string, rendered []byte) {
	w.Helper()
	db := storeOf(w)
	ask := store.Ask{Most: 1, Lease: time.Minute, Repeats: true}
	claims, err := db.Claim(w.Context(), ask)
	if err == nil && len(claims) == 0 { // it noted that the notifier before died after BeginSending
		claims, err = db.Claim(w.Context(), ask)
	}
	if err != nil || len(claims) != 1 || claims[0].ID != id {
		w.Fatalf("claimed %v, %v", claims, err)
	}
	c := claims[0]
	if rendered != nil {
		c.Recipient, c.Language, c.Rendered = "ada@example.com", "en", rendered
		if err := db.BeginSending(w.Context(), c, w.Ground.Now(), 0); err != nil {
			w.Fatal(err)
		}
	}
	w.Exec("update notifications set due_at = now()")
}

// kept is a rendered mail in a form that an earlier release may have stored.
const kept = `{"from": "Old <old@example.com>", "to": "ada@example.com", "messageId": "1@old.example.com",
"language": "en",
	"subject": "Hello", "text": "The code is \u001a.\n", "html": "<p>The code is \u001a.</p>"}`

func TestMailOfANotifierThatDied(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		deaths   [][]byte
		story    string
		accepted int
		subject  string
	}{
		"before the mark": {[][]byte{nil, nil, nil}, "SENT: SENT", 1, "init für Ada Lovelace"},
		"after it":        {[][]byte{nil, []byte(kept), nil}, "UNCERTAIN SENT: SENT", 1, "Hello"},
		"twice after it":  {[][]byte{[]byte(kept), []byte(kept)}, "UNCERTAIN UNCERTAIN: UNCERTAIN", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.Stopped(t, testworld.Setup{})
			n := domain.Notification{
				ID: resource.NewID(), OrgID: "o1", UserID: "ada", Kind: mail.Init, CreatedAt: w.Ground.Now(),
			}
			if _, err := storeOf(w).Queue(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			for _, rendered := range test.deaths {
				died(w, n.ID, rendered)
			}
			testkit.Run(w, w.Service)
			if got := w.Settled(n.ID); testworld.Story(got) != test.story {
				t.Errorf("%v", got)
			}
			for _, d := range w.Accepted(test.accepted) {
				m := w.Parse(d)
				if m.Subject != test.subject {
					t.Errorf("subject %q", m.Subject)
				}
				if test.subject == "Hello" && (d.From != "no-reply@example.com" ||
					d.MessageID != "<1@old.example.com>" || m.Text != "The code is "+testworld.Code(n.ID)+".\n") {
					t.Errorf("sent as\n%s", d.Data)
				}
			}
		})
	}
}

// While the database closes all connections again and again, every mail is sent once: the mail server's answer is
// recorded as soon as that is possible.
func TestMailsAreSentOnceWhileTheDatabaseClosesConnections(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{Times: func(x *delivery.Times) {
		x.Lease, x.Tick = 3*time.Second, 50*time.Millisecond
	}})
	const mails = 150
	for range mails {
		w.Users.Ask("ada")
	}
	for sent := 10; sent < mails; sent += 20 {
		if _, err := w.Relay.Wait(t.Context(), sent); err != nil {
			t.Fatal(err)
		}
		disconnect(w)
	}
	w.Until("(select count(*) = $1 and count(due_at) = 0 from notifications)", mails)
	w.SentOnce(mails)
}

// A waiting mail that fifty callers resend at the same time is sent once.
func TestMailThatIsResentAtOnceIsSentOnce(t *testing.T) {
	t.Parallel()
	w := testworld.Stopped(t, testworld.Setup{})
	n := domain.Notification{ID: resource.NewID(), OrgID: "o1", UserID: "ada", Kind: mail.Init, CreatedAt: time.Now()}
	if _, err := storeOf(w).Queue(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	var resending sync.WaitGroup
	for range 50 {
		resending.Go(func() {
			if _, err := storeOf(w).Hurry(t.Context(), "o1", "ada", n.ID); err != nil {
				t.Error(err)
			}
		})
	}
	testkit.Run(w, w.Service)
	w.Settled(n.ID)
	resending.Wait()
	w.Settled(n.ID)
	w.SentOnce(1)
}
