package notification

import (
	"sync/atomic"
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
	"herald/shared/resource"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// block makes the first request for a mail wait until release is called. held is closed when the
// request has come.
func (p *people) block() (held <-chan struct{}, release func()) {
	came, gate := make(chan struct{}), make(chan struct{})
	var asked atomic.Int64
	p.answers(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		if asked.Add(1) == 1 {
			close(came)
			select {
			case <-gate:
			case <-p.Context().Done():
			}
		}
		return person(r), nil
	})
	return came, func() { close(gate) }
}

func TestTwoSenders(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	other := w.open(setup{})
	testkit.Run(w, other)
	const mails = 300
	for range mails {
		w.people.ask("ada")
	}
	w.until("(select count(*) = $1 and count(due_at) = 0 from notifications)", mails)
	for _, d := range w.accepted(mails) {
		if d.Repeat != 0 {
			t.Errorf("%s was sent twice", d.MessageID)
		}
	}
	if a, b := counted(t, w.service, "sent"), counted(t, other, "sent"); a+b != mails || a == 0 || b == 0 {
		t.Errorf("the senders sent %v and %v", a, b)
	}
}

// A notifier that was stopped for longer than its lease neither sends its mail nor records it,
// because another one has taken it over.
func TestLateSender(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	held, release := w.people.block()
	late := w.people.ask("ada")
	<-held
	if _, err := w.db.Exec(t.Context(), "update notifications set due_at = now()"); err != nil { // the lease runs out
		t.Fatal(err)
	}
	testkit.Run(w, w.open(setup{}))
	n := w.settled(late)
	release()
	if err := w.relay.Reached(t.Context(), outside.DATA, 2); err != nil {
		t.Fatal(err)
	}
	w.stop()
	if again := w.settled(late); story(n) != "SENT: SENT" || story(again) != story(n) {
		t.Errorf("%v, then %v", n, again)
	}
	if dots := w.relay.Count(outside.Dot); dots != 1 {
		t.Errorf("%d final dots", dots)
	}
	w.accepted(1)
}

// The lease of a mail that takes longer is renewed.
func TestRenewal(t *testing.T) {
	t.Parallel()
	s := setup{times: func(x *delivery.Times) { x.Lease, x.Tick = time.Second, 50*time.Millisecond }}
	w := startWorld(t, s)
	held, release := w.people.block()
	slow := w.people.ask("ada")
	<-held
	var end time.Time
	if err := w.db.QueryRow(t.Context(), "select due_at from notifications").Scan(&end); err != nil {
		t.Fatal(err)
	}
	testkit.Run(w, w.open(s))
	w.until("exists (select from notifications where now() > $1)", end)
	release()
	n := w.settled(slow)
	if story(n) != "SENT: SENT" || w.count("notifications where fence = 1") != 1 {
		t.Errorf("%v; %s", n, w.dump("notifications"))
	}
	w.accepted(1)
}

// store returns the service's store, with the test's own connections.
func (w *world) store() store.Store {
	return store.New(event.Journal{DB: w.db, Now: time.Now, Committed: func(event.Event) {}})
}

// died leaves a claim in the state in which a notifier that dies leaves it: after Claim or, with rendered, after Mark.
func (w *world) died(id string, rendered []byte) {
	w.Helper()
	db := w.store()
	ask := store.Ask{Most: 1, Lease: time.Minute, Repeats: true}
	claims, err := db.Claim(w.Context(), ask)
	if err == nil && len(claims) == 0 { // it noted that the notifier before died after Mark
		claims, err = db.Claim(w.Context(), ask)
	}
	if err != nil || len(claims) != 1 || claims[0].ID != id {
		w.Fatalf("claimed %v, %v", claims, err)
	}
	c := claims[0]
	if rendered != nil {
		c.Recipient, c.Language, c.Rendered = "ada@example.com", "en", rendered
		if err := db.Mark(w.Context(), c, w.ground.Now(), 0); err != nil {
			w.Fatal(err)
		}
	}
	if _, err := w.db.Exec(w.Context(), "update notifications set due_at = now()"); err != nil {
		w.Fatal(err)
	}
}

// kept is a rendered mail in a form that an earlier release may have stored.
const kept = `{"from": "Old <old@example.com>", "to": "ada@example.com", "messageId": "1@old.example.com",
"language": "en",
	"subject": "Hello", "text": "The code is \u001a.\n", "html": "<p>The code is \u001a.</p>"}`

func TestNotifierDied(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		deaths   [][]byte
		story    string
		accepted int
		subject  string
	}{
		"before the mark": {[][]byte{nil, nil, nil}, "SENT: SENT", 1, "Konto für Ada Lovelace"},
		"after it":        {[][]byte{nil, []byte(kept), nil}, "UNCERTAIN SENT: SENT", 1, "Hello"},
		"twice after it":  {[][]byte{[]byte(kept), []byte(kept)}, "UNCERTAIN UNCERTAIN: UNCERTAIN", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{})
			n := domain.Notification{
				ID: resource.NewID(), OrgID: "o1", UserID: "ada", Kind: mail.Init, CreatedAt: w.ground.Now(),
			}
			if _, err := w.store().Queue(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			for _, rendered := range test.deaths {
				w.died(n.ID, rendered)
			}
			testkit.Run(w, w.service)
			if got := w.settled(n.ID); story(got) != test.story {
				t.Errorf("%v", got)
			}
			for _, d := range w.accepted(test.accepted) {
				m := w.parse(d)
				if m.Subject != test.subject {
					t.Errorf("subject %q", m.Subject)
				}
				if test.subject == "Hello" && (d.From != "old@example.com" || d.MessageID != "<1@old.example.com>" ||
					m.Text != "The code is "+code(n.ID)+".\n") {
					t.Errorf("sent as\n%s", d.Data)
				}
			}
		})
	}
}

// While the database closes all connections again and again, every mail is sent once: the
// relay's answer is recorded as soon as that is possible.
func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{times: func(x *delivery.Times) { x.Lease, x.Tick = 3*time.Second, 50*time.Millisecond }})
	const mails = 150
	for range mails {
		w.people.ask("ada")
	}
	for sent := 10; sent < mails; sent += 20 {
		if _, err := w.relay.Wait(t.Context(), sent); err != nil {
			t.Fatal(err)
		}
		if _, err := w.db.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and application_name <> 'test'`); err != nil {
			t.Fatal(err)
		}
	}
	w.until("(select count(*) = $1 and count(due_at) = 0 from notifications)", mails)
	for _, d := range w.accepted(mails) {
		if d.Repeat != 0 {
			t.Errorf("%s was sent twice", d.MessageID)
		}
	}
	if n := w.count("notifications where state = 3"); n != mails {
		t.Errorf("%d of %d mails are known to be sent", n, mails)
	}
}
