package delivery_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"herald/services/notification"
	"herald/services/notification/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// The states of a mail that is refused once. Only a mail that is given up makes an event.
func TestStatesAfterARefusal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		at     outside.Verb
		reply  string
		story  string
		events int
	}{
		{outside.Greeting, "421 4.3.2 closing", "RETRYING SENT: SENT", 0},
		{outside.AUTH, "535 5.7.8 wrong", "RETRYING SENT: SENT", 0},
		{outside.MAIL, "550 5.7.1 not from you", "FAILED: FAILED", 1},
		{outside.RCPT, "450 4.2.0 greylisted", "RETRYING SENT: SENT", 0},
		{outside.Dot, "252 2.0.0 fine", "SENT: SENT", 0},
	} {
		t.Run(fmt.Sprintf("%s %.3s", test.at, test.reply), func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t, testworld.Setup{
				Relay: testworld.Guarded, Faults: []outside.MailFault{{At: test.at, Reply: test.reply, Times: 1}},
			})
			n := w.Settled(w.Users.Ask("ada"))
			if testworld.Story(n) != test.story || !strings.Contains(n.Attempts[0].Reply, test.reply) {
				t.Errorf("%v, want %s", n, test.story)
			}
			if n.Recipient != "ada@example.com" || n.Language != "de" {
				t.Errorf("listed as %v", n)
			}
			w.Accepted(strings.Count(test.story, ": SENT"))
			w.Stop()
			logged(w, "a mail is given up", test.events)
			if events := w.Count("events"); events != test.events {
				t.Errorf("%d events, want %d", events, test.events)
			}
		})
	}
}

// Mails to a relay that hangs do not delay others, and a stop gives them back.
func TestMailsThatHangDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{Faults: []outside.MailFault{{At: outside.RCPT, Times: 4, Hang: true}}})
	for range 24 {
		w.Users.Ask("ada")
	}
	w.Accepted(20)
	w.Until("(select count(*) = 20 from notifications where due_at is null)")
	w.Stop()
	if n := w.Count("notifications where state = 4 and due_at <= now()"); n != 4 {
		t.Errorf("%d mails were given back; there are\n%s", n, w.Dump("notifications"))
	}
	if n := w.Count("attempts where state <> 3"); n != 0 {
		t.Errorf("%d attempts were made of it", n)
	}
	testkit.Run(w, w.Open(testworld.Setup{}))
	w.Finished()
	w.Accepted(24)
}

// If the connection ends between the final dot and the reply, the same bytes are sent once more,
// although texts have changed since, and never a third time.
func TestMailWithoutAnAnswerIsRepeatedOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults   []outside.MailFault
		story    string
		accepted int
	}{
		"lost": {[]outside.MailFault{{At: outside.Dot, Times: 1, Drop: true}}, "UNCERTAIN SENT: SENT", 1},
		"accepted": {[]outside.MailFault{{At: outside.Dot, Times: 1, Drop: true, Accept: true}},
			"UNCERTAIN SENT: SENT", 2},
		"accepted twice": {[]outside.MailFault{{At: outside.Dot, Drop: true, Accept: true}},
			"UNCERTAIN UNCERTAIN: UNCERTAIN", 2},
		"then greylisted": {[]outside.MailFault{{At: outside.Dot, Times: 1, Drop: true, Accept: true},
			{At: outside.Dot, Times: 2, Reply: "450 4.2.0 later"}}, "UNCERTAIN RETRYING RETRYING SENT: SENT", 2},
		"then refused": {[]outside.MailFault{{At: outside.Dot, Times: 1, Drop: true, Accept: true},
			{At: outside.Dot, Reply: "554 5.7.1 had that"}}, "UNCERTAIN FAILED: UNCERTAIN", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t, testworld.Setup{
				Faults: test.faults, Config: func(c *notification.Config) { c.ReplyTo = "Hilfe <help@example.com>" },
			})
			var asked atomic.Int64
			w.Users.Prepares(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
				p := testworld.Person(r)
				if asked.Add(1) > 1 { // changed since the first attempt
					p.DisplayName, p.OrgName, p.Recipient, p.PreferredLanguage = "Other", "Other",
						"other@example.com", "en"
				}
				return p, nil
			})
			n := w.Settled(w.Users.Ask("ada"))
			if testworld.Story(n) != test.story || n.Recipient != "ada@example.com" {
				t.Errorf("%s to %s, want %s", testworld.Story(n), n.Recipient, test.story)
			}
			got := w.Accepted(test.accepted)
			for _, d := range got {
				if to := w.Parse(d).Header.Get("Reply-To"); to != `"Hilfe" <help@example.com>` {
					t.Errorf("answers go to %s", to)
				}
				if string(d.Data) != string(got[0].Data) || d.MessageID != got[0].MessageID || d.To[0] != got[0].To[0] {
					t.Errorf("the second mail is\n%s\nthe first was\n%s", d.Data, got[0].Data)
				}
			}
			if kept := w.Count("attempts where rendered is not null"); kept != 0 {
				t.Errorf("what was sent is still kept in %d attempts", kept)
			}
		})
	}
}
