package notification

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit/smtpd"
)

// guarded is a relay that wants everything.
var guarded = smtpd.Config{TLS: smtpd.StartTLS, DemandTLS: true, User: "herald", Password: "CANARY-password"}

func TestGuardedRelay(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{relay: guarded})
	w.settled(w.people.ask("ada"))
	if d := w.accepted(1)[0]; !d.TLS || d.User != "herald" {
		t.Errorf("came over %+v", d)
	}
}

// One refusal at each moment of a session, and what becomes of the mail.
func TestReplies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		at    smtpd.Verb
		reply string
		story string
	}{
		{smtpd.Greeting, "421 4.3.2 closing", "RETRYING SENT: SENT"},
		{smtpd.Greeting, "554 5.3.2 no mail here", "RETRYING SENT: SENT"},
		{smtpd.STARTTLS, "454 4.7.0 not now", "RETRYING SENT: SENT"},
		{smtpd.AUTH, "454 4.7.0 not now", "RETRYING SENT: SENT"},
		{smtpd.AUTH, "535 5.7.8 wrong", "RETRYING SENT: SENT"},
		{smtpd.MAIL, "452 4.3.1 full", "RETRYING SENT: SENT"},
		{smtpd.MAIL, "550 5.7.1 not from you", "FAILED: FAILED"},
		{smtpd.RCPT, "450 4.2.0 greylisted", "RETRYING SENT: SENT"},
		{smtpd.RCPT, "550 5.1.1 no such user", "FAILED: FAILED"},
		{smtpd.RCPT, "251 2.1.5 will forward", "SENT: SENT"},
		{smtpd.DATA, "451 4.3.0 later", "RETRYING SENT: SENT"},
		{smtpd.DATA, "554 5.5.1 no", "FAILED: FAILED"},
		{smtpd.Dot, "452 4.3.1 full", "RETRYING SENT: SENT"},
		{smtpd.Dot, "554 5.7.1 spam", "FAILED: FAILED"},
		{smtpd.Dot, "252 2.0.0 fine", "SENT: SENT"},
	} {
		t.Run(fmt.Sprintf("%s %.3s", test.at, test.reply), func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, setup{relay: guarded, faults: []smtpd.Fault{{At: test.at, Reply: test.reply, Times: 1}}})
			n := w.settled(w.people.ask("ada"))
			if story(n) != test.story {
				t.Errorf("%s, want %s", story(n), test.story)
			}
			if said := n.Attempts[0].Reply; test.at != smtpd.RCPT && !strings.Contains(said, test.reply) {
				t.Errorf("the first attempt says %q", said)
			}
			if n.Recipient != "ada@example.com" || n.Language != "de" {
				t.Errorf("listed as %v", n)
			}
			w.accepted(strings.Count(test.story, ": SENT"))
		})
	}
}

// After 72 hours a mail that is not accepted has failed.
func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{faults: []smtpd.Fault{{At: smtpd.RCPT, Reply: "450 4.2.0 greylisted"}}})
	w.people.service.Journal.Now = func() time.Time { return time.Now().Add(-72 * time.Hour) }
	if n := w.settled(w.people.ask("ada")); story(n) != "FAILED: FAILED" || n.Attempts[0].Reply != "450 4.2.0 greylisted" {
		t.Errorf("%v", n)
	}
}

// Mails that hang hold up nobody else, and a stop gives them back unharmed.
func TestHang(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{faults: []smtpd.Fault{{At: smtpd.RCPT, Times: 4, Hang: true}}})
	for range 24 {
		w.people.ask("ada")
	}
	w.accepted(20)
	w.until("(select count(*) = 20 from notifications where due_at is null)")
	w.stop()
	if n := w.count("notifications where state = 4 and due_at <= now()"); n != 4 {
		t.Errorf("%d mails were given back; there are\n%s", n, w.dump("notifications"))
	}
	if n := w.count("attempts where state <> 3"); n != 0 {
		t.Errorf("%d attempts were made of it", n)
	}
	w.run(w.open(setup{}))
	w.until("not exists (select from notifications where due_at is not null)")
	w.accepted(24)
}

// count counts what a query finds.
func (w *world) count(from string) (n int) {
	w.Helper()
	if err := w.db.QueryRow(w.Context(), "select count(*) from "+from).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// The connection ends between the final dot and the reply: the same bytes go out once more,
// whatever has changed since, and never a third time.
func TestDropAfterTheDot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults   []smtpd.Fault
		story    string
		accepted int
	}{
		"lost":             {[]smtpd.Fault{{At: smtpd.Dot, Times: 1, Drop: true}}, "UNCERTAIN SENT: SENT", 1},
		"accepted":         {[]smtpd.Fault{{At: smtpd.Dot, Times: 1, Drop: true, Accept: true}}, "UNCERTAIN SENT: SENT", 2},
		"lost twice":       {[]smtpd.Fault{{At: smtpd.Dot, Drop: true}}, "UNCERTAIN UNCERTAIN: UNCERTAIN", 0},
		"accepted twice":   {[]smtpd.Fault{{At: smtpd.Dot, Drop: true, Accept: true}}, "UNCERTAIN UNCERTAIN: UNCERTAIN", 2},
		"then greylisted":  {[]smtpd.Fault{{At: smtpd.Dot, Times: 1, Drop: true, Accept: true}, {At: smtpd.Dot, Times: 2, Reply: "450 4.2.0 later"}}, "UNCERTAIN RETRYING RETRYING SENT: SENT", 2},
		"then refused":     {[]smtpd.Fault{{At: smtpd.Dot, Times: 1, Drop: true, Accept: true}, {At: smtpd.Dot, Reply: "554 5.7.1 had that"}}, "UNCERTAIN FAILED: UNCERTAIN", 1},
		"an answer of air": {[]smtpd.Fault{{At: smtpd.Dot, Times: 1, Reply: "hello"}}, "UNCERTAIN SENT: SENT", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, setup{faults: test.faults})
			var asked atomic.Int64
			w.people.answers(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
				p := person(r)
				if asked.Add(1) > 1 { // since the first attempt
					p.DisplayName, p.OrgName, p.Recipient, p.PreferredLanguage = "Other", "Other", "other@example.com", "en"
				}
				return p, nil
			})
			n := w.settled(w.people.ask("ada"))
			if story(n) != test.story || n.Recipient != "ada@example.com" {
				t.Errorf("%s to %s, want %s", story(n), n.Recipient, test.story)
			}
			got := w.accepted(test.accepted)
			for _, d := range got {
				if string(d.Data) != string(got[0].Data) || d.MessageID != got[0].MessageID || d.To[0] != got[0].To[0] {
					t.Errorf("the second mail is\n%s\nthe first was\n%s", d.Data, got[0].Data)
				}
			}
			if kept := w.count("attempts where rendered is not null"); kept != 0 {
				t.Errorf("what was sent is still kept in %d attempts", kept)
			}
		})
	}
}

// Users says that the mail's code was used or replaced.
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
	w.relay.Script(smtpd.Fault{At: smtpd.Dot, Drop: true, Accept: true})
	if n := w.settled(w.people.ask("ada")); story(n) != "UNCERTAIN FAILED: UNCERTAIN" {
		t.Errorf("used after an attempt that may have brought it: %v", n)
	}
	w.accepted(1)
}

// A mail that cannot be made is tried again like one that is not accepted, others pass it by.
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

// Relay or users are away: few tries are made, the log says it once, and afterwards all
// that waited goes out, each once.
func TestNoMailCanBeSent(t *testing.T) {
	t.Parallel()
	away := fault.ErrUnavailable
	for name, test := range map[string]struct {
		block, mend func(*world)
		counts      bool // as attempts
	}{
		"relay": {
			func(w *world) {
				w.relay.Script(smtpd.Fault{At: smtpd.Greeting, Reply: "421 4.3.2 closing", Drop: true})
			},
			func(w *world) { w.relay.Script() },
			true,
		},
		"password": {
			func(w *world) { w.relay.Script(smtpd.Fault{At: smtpd.AUTH, Reply: "535 5.7.8 wrong"}) },
			func(w *world) { w.relay.Script() },
			true,
		},
		"users": {
			func(w *world) {
				w.people.answers(func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) { return nil, away })
			},
			func(w *world) { w.people.answers(nil) },
			false,
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
			if said := strings.Count(w.logs.text(), "no mail can be sent"); said != 1 {
				t.Errorf("the log says %d times that no mail can be sent", said)
			}
			test.mend(w)
			w.until("not exists (select from notifications where due_at is not null)")
			for _, d := range w.accepted(40) {
				if d.Repeat != 0 {
					t.Errorf("%s was sent twice", d.MessageID)
				}
			}
			if said := strings.Count(w.logs.text(), "mails are sent again"); said != 1 {
				t.Errorf("the log says %d times that mails are sent again", said)
			}
		})
	}
}
