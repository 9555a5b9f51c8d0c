package delivery_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"herald/services/notification/internal/testworld"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit/outside"
)

// A mail is not sent if its code was used or replaced. This is no failure, so it makes no event.
func TestObsoleteMailIsNotSent(t *testing.T) {
	t.Parallel()
	gone := fault.New(fault.Precondition, "NOTIFICATION_OBSOLETE", "gone")
	w := testworld.New(t, testworld.Setup{})
	w.Users.Prepares(func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) { return nil, gone })
	n := w.Settled(w.Users.Ask("ada"))
	if testworld.Story(n) != "FAILED: FAILED" || !strings.HasPrefix(n.Attempts[0].Reply, "no longer wanted: ") {
		t.Errorf("%v", n)
	}
	var asked atomic.Int64
	w.Users.Prepares(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		if asked.Add(1) > 1 {
			return nil, gone
		}
		return testworld.Person(r), nil
	})
	w.Relay.Script(outside.MailFault{At: outside.Dot, Drop: true, Accept: true})
	if n := w.Settled(w.Users.Ask("ada")); testworld.Story(n) != "UNCERTAIN FAILED: UNCERTAIN" {
		t.Errorf("used after an attempt that may have brought it: %v", n)
	}
	w.Accepted(1)
	w.Stop()
	logged(w, "a mail is given up", 0)
	if n := w.Count("events"); n != 0 {
		t.Errorf("%d events", n)
	}
}

// A mail that cannot be made is tried again later and does not delay others.
func TestMailThatCannotBeMadeDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	var broken atomic.Bool
	broken.Store(true)
	w.Users.Prepares(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		p := testworld.Person(r)
		if r.UserId == "bob" && broken.Load() {
			p.Code = "not a code"
		}
		return p, nil
	})
	bob := w.Users.Ask("bob")
	w.Until("exists (select from attempts where notification_id = $1)", bob)
	w.Settled(w.Users.Ask("ada"))
	broken.Store(false)
	w.Until("exists (select from notifications where id = $1 and state = 3)", bob)
	if n := w.Count("attempts where reply = 'the mail could not be prepared' and state = 4"); n == 0 {
		t.Error("no attempt says why")
	}
}

// While the mail server or users are away few tries are made and one line is logged. Afterwards every waiting mail is
// sent once.
func TestMailsWaitWhileNoMailCanBeSent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		block, mend func(*testworld.World)
		counts      bool // the tries are counted as attempts
		reason      string
	}{
		"relay": {
			func(w *testworld.World) {
				w.Relay.Script(outside.MailFault{At: outside.Greeting, Reply: "421 4.3.2 closing", Drop: true})
			},
			func(w *testworld.World) { w.Relay.Script() },
			true,
			"the mail relay failed at the greeting (421 4.3.2 closing): check HERALD_SMTP_URL or /admin/v1/smtp",
		},
		"password": {
			func(w *testworld.World) {
				w.Relay.Script(outside.MailFault{At: outside.AUTH, Reply: "535 5.7.8 wrong"})
			},
			func(w *testworld.World) { w.Relay.Script() },
			true,
			"the mail relay refused the user name or password (535 5.7.8 wrong): check HERALD_SMTP_URL or " +
				"/admin/v1/smtp",
		},
		"users": {
			func(w *testworld.World) {
				w.Users.Prepares(func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
					return nil, fault.ErrUnavailable
				})
			},
			func(w *testworld.World) { w.Users.Prepares(nil) },
			false,
			"ask users: UNAVAILABLE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t, testworld.Setup{Relay: testworld.Guarded})
			test.block(w)
			for range 40 {
				w.Users.Ask("ada")
			}
			w.Until("(select count(*) = 40 and sum(fence) >= 13 from notifications)") // 8 at once, then probes
			if n := w.Count("attempts"); (n > 0) != test.counts {
				t.Errorf("%d attempts", n)
			}
			logged(w, "no mail can be sent", 1)
			w.Logs.Wait(t, test.reason)
			test.mend(w)
			w.Finished()
			w.SentOnce(40)
			w.Logs.Wait(t, "mails are sent again")
			logged(w, "mails are sent again", 1)
		})
	}
}

// While the mail server refuses all mails for now, the log says so in one line, and in another when it takes them
// again. Mails are sent again only when it has taken one.
func TestRefusalsForNowHaveTwoLines(t *testing.T) {
	t.Parallel()
	const none, again = "no mail can be sent; trying again", "mails are sent again"
	const refuses, takes = "the mail relay refuses mails for now; trying again", "the mail relay takes mails again"
	later := outside.MailFault{At: outside.MAIL, Reply: "452 4.3.1 full"}
	for name, test := range map[string]struct {
		faults []outside.MailFault
		blocks int
	}{
		"at MAIL": {[]outside.MailFault{later}, 0},
		"at MAIL after it was away": {
			[]outside.MailFault{{At: outside.Greeting, Reply: "421 4.3.2 closing", Times: 3, Drop: true}, later}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t, testworld.Setup{Faults: test.faults})
			for range 10 {
				w.Users.Ask("ada")
			}
			w.Logs.Wait(t, `the mail relay answered 452 at MAIL`)
			w.Until("(select count(*) >= 20 from attempts where reply like '%452%')")
			logged(w, again, 0)
			w.Relay.Script()
			w.Finished()
			w.SentOnce(10)
			w.Logs.Wait(t, takes)
			if test.blocks > 0 {
				w.Logs.Wait(t, again)
			}
			for line, n := range map[string]int{none: test.blocks, again: test.blocks, refuses: 1, takes: 1} {
				logged(w, line, n)
			}
		})
	}
}
