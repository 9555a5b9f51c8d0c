package notification

import (
	"strings"
	"sync/atomic"
	"testing"

	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit/outside"
)

// A mail is not sent if users says that its code was used or replaced.
func TestObsoleteMail(t *testing.T) {
	t.Parallel()
	gone := fault.New(fault.Precondition, "NOTIFICATION_OBSOLETE", "gone")
	w := startWorld(t, setup{})
	w.people.answers(func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) { return nil, gone })
	n := w.settled(w.people.ask("ada"))
	if story(n) != "FAILED: FAILED" || !strings.HasPrefix(n.Attempts[0].Reply, "no longer wanted: ") {
		t.Errorf("%v", n)
	}
	var asked atomic.Int64
	w.people.answers(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		if asked.Add(1) > 1 {
			return nil, gone
		}
		return person(r), nil
	})
	w.relay.Script(outside.MailFault{At: outside.Dot, Drop: true, Accept: true})
	if n := w.settled(w.people.ask("ada")); story(n) != "UNCERTAIN FAILED: UNCERTAIN" {
		t.Errorf("used after an attempt that may have brought it: %v", n)
	}
	w.accepted(1)
}

// A mail that cannot be made is tried again later and does not delay others.
func TestUnpreparedMail(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	var broken atomic.Bool
	broken.Store(true)
	w.people.answers(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		p := person(r)
		if r.UserId == "bob" && broken.Load() {
			p.Code = "not a code"
		}
		return p, nil
	})
	bob := w.people.ask("bob")
	w.until("exists (select from attempts where notification_id = $1)", bob)
	w.settled(w.people.ask("ada"))
	broken.Store(false)
	w.until("exists (select from notifications where id = $1 and state = 3)", bob)
	if n := w.count("attempts where reply = 'the mail could not be prepared' and state = 4"); n == 0 {
		t.Error("no attempt says why")
	}
}

// While the relay or users are away few tries are made and one line is logged. Afterwards every
// waiting mail is sent once.
func TestNoMailCanBeSent(t *testing.T) {
	t.Parallel()
	away := fault.ErrUnavailable
	for name, test := range map[string]struct {
		block, mend func(*world)
		counts      bool // the tries are counted as attempts
		reason      string
	}{
		"relay": {
			func(w *world) {
				w.relay.Script(outside.MailFault{At: outside.Greeting, Reply: "421 4.3.2 closing", Drop: true})
			},
			func(w *world) { w.relay.Script() },
			true,
			"the mail relay failed at the greeting (421 4.3.2 closing): check HERALD_SMTP_URL",
		},
		"password": {
			func(w *world) { w.relay.Script(outside.MailFault{At: outside.AUTH, Reply: "535 5.7.8 wrong"}) },
			func(w *world) { w.relay.Script() },
			true,
			"the mail relay refused the user name or password (535 5.7.8 wrong): check HERALD_SMTP_URL",
		},
		"users": {
			func(w *world) {
				w.people.answers(func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
					return nil, away
				})
			},
			func(w *world) { w.people.answers(nil) },
			false,
			"ask users: UNAVAILABLE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, setup{relay: guarded})
			test.block(w)
			for range 40 {
				w.people.ask("ada")
			}
			w.until("(select count(*) = 40 and sum(fence) >= 13 from notifications)") // 8 at once, then probes
			if n := w.count("attempts"); (n > 0) != test.counts {
				t.Errorf("%d attempts", n)
			}
			log := w.logs.String()
			if said := strings.Count(log, "no mail can be sent"); said != 1 {
				t.Errorf("the log says %d times that no mail can be sent", said)
			}
			if !strings.Contains(log, test.reason) {
				t.Errorf("the log does not say %q", test.reason)
			}
			test.mend(w)
			w.until("not exists (select from notifications where due_at is not null)")
			for _, d := range w.accepted(40) {
				if d.Repeat != 0 {
					t.Errorf("%s was sent twice", d.MessageID)
				}
			}
			if said := strings.Count(w.logs.String(), "mails are sent again"); said != 1 {
				t.Errorf("the log says %d times that mails are sent again", said)
			}
		})
	}
}
