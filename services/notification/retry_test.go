package notification

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// guarded is a relay that requires TLS and a login.
var guarded = outside.MailConfig{TLS: outside.StartTLS, DemandTLS: true, User: "herald", Password: "CANARY-password"}

func TestGuardedRelay(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{relay: guarded})
	w.settled(w.people.ask("ada"))
	if d := w.accepted(1)[0]; !d.TLS || d.User != "herald" {
		t.Errorf("came over %+v", d)
	}
}

// The states of a mail that is refused once, at each moment of a session.
func TestStatesAfterARefusal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		at    outside.Verb
		reply string
		story string
	}{
		{outside.Greeting, "421 4.3.2 closing", "RETRYING SENT: SENT"},
		{outside.Greeting, "554 5.3.2 no mail here", "RETRYING SENT: SENT"},
		{outside.STARTTLS, "454 4.7.0 not now", "RETRYING SENT: SENT"},
		{outside.AUTH, "454 4.7.0 not now", "RETRYING SENT: SENT"},
		{outside.AUTH, "535 5.7.8 wrong", "RETRYING SENT: SENT"},
		{outside.MAIL, "452 4.3.1 full", "RETRYING SENT: SENT"},
		{outside.MAIL, "550 5.7.1 not from you", "FAILED: FAILED"},
		{outside.RCPT, "450 4.2.0 greylisted", "RETRYING SENT: SENT"},
		{outside.RCPT, "550 5.1.1 no such user", "FAILED: FAILED"},
		{outside.RCPT, "251 2.1.5 will forward", "SENT: SENT"},
		{outside.DATA, "451 4.3.0 later", "RETRYING SENT: SENT"},
		{outside.DATA, "554 5.5.1 no", "FAILED: FAILED"},
		{outside.Dot, "452 4.3.1 full", "RETRYING SENT: SENT"},
		{outside.Dot, "554 5.7.1 spam", "FAILED: FAILED"},
		{outside.Dot, "252 2.0.0 fine", "SENT: SENT"},
	} {
		t.Run(fmt.Sprintf("%s %.3s", test.at, test.reply), func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, setup{relay: guarded, faults: []outside.MailFault{
				{At: test.at, Reply: test.reply, Times: 1},
			}})
			n := w.settled(w.people.ask("ada"))
			if story(n) != test.story {
				t.Errorf("%s, want %s", story(n), test.story)
			}
			if said := n.Attempts[0].Reply; test.at != outside.RCPT && !strings.Contains(said, test.reply) {
				t.Errorf("the first attempt says %q", said)
			}
			if n.Recipient != "ada@example.com" || n.Language != "de" {
				t.Errorf("listed as %v", n)
			}
			w.accepted(strings.Count(test.story, ": SENT"))
		})
	}
}

// A mail that is not accepted fails after 72 hours.
func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{faults: []outside.MailFault{{At: outside.RCPT, Reply: "450 4.2.0 greylisted"}}})
	w.people.service.Journal.Now = func() time.Time { return time.Now().Add(-72 * time.Hour) }
	if n := w.settled(w.people.ask("ada")); story(n) != "FAILED: FAILED" ||
		n.Attempts[0].Reply != "450 4.2.0 greylisted" {
		t.Errorf("%v", n)
	}
}

// Mails to a relay that hangs do not delay others, and a stop gives them back.
func TestHang(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{faults: []outside.MailFault{{At: outside.RCPT, Times: 4, Hang: true}}})
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
	testkit.Run(w, w.open(setup{}))
	w.until("not exists (select from notifications where due_at is not null)")
	w.accepted(24)
}

// If the connection ends between the final dot and the reply, the same bytes are sent once more,
// although texts have changed since, and never a third time.
func TestDropAfterTheDot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults   []outside.MailFault
		story    string
		accepted int
	}{
		"lost": {[]outside.MailFault{{At: outside.Dot, Times: 1, Drop: true}}, "UNCERTAIN SENT: SENT", 1},
		"accepted": {[]outside.MailFault{{At: outside.Dot, Times: 1, Drop: true, Accept: true}},
			"UNCERTAIN SENT: SENT", 2},
		"lost twice": {[]outside.MailFault{{At: outside.Dot, Drop: true}}, "UNCERTAIN UNCERTAIN: UNCERTAIN", 0},
		"accepted twice": {[]outside.MailFault{{At: outside.Dot, Drop: true, Accept: true}},
			"UNCERTAIN UNCERTAIN: UNCERTAIN", 2},
		"then greylisted": {[]outside.MailFault{{At: outside.Dot, Times: 1, Drop: true, Accept: true},
			{At: outside.Dot, Times: 2, Reply: "450 4.2.0 later"}}, "UNCERTAIN RETRYING RETRYING SENT: SENT", 2},
		"then refused": {[]outside.MailFault{{At: outside.Dot, Times: 1, Drop: true, Accept: true},
			{At: outside.Dot, Reply: "554 5.7.1 had that"}}, "UNCERTAIN FAILED: UNCERTAIN", 1},
		"an answer of air": {[]outside.MailFault{{At: outside.Dot, Times: 1, Reply: "hello"}},
			"UNCERTAIN SENT: SENT", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, setup{
				faults: test.faults, config: func(c *Config) { c.ReplyTo = "Hilfe <help@example.com>" },
			})
			var asked atomic.Int64
			w.people.answers(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
				p := person(r)
				if asked.Add(1) > 1 { // changed since the first attempt
					p.DisplayName, p.OrgName, p.Recipient, p.PreferredLanguage = "Other", "Other",
						"other@example.com", "en"
				}
				return p, nil
			})
			n := w.settled(w.people.ask("ada"))
			if story(n) != test.story || n.Recipient != "ada@example.com" {
				t.Errorf("%s to %s, want %s", story(n), n.Recipient, test.story)
			}
			got := w.accepted(test.accepted)
			for _, d := range got {
				if to := w.parse(d).Header.Get("Reply-To"); to != `"Hilfe" <help@example.com>` {
					t.Errorf("answers go to %s", to)
				}
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
