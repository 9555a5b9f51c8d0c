package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/services/notification/internal/testworld"
	"herald/shared/testkit/outside"
)

// A mail that is given up makes one event and one line in the log. The line has the reply's code, but not the mail
// server's words, which may name the recipient.
func TestMailThatIsGivenUpMakesOneEventAndOneLine(t *testing.T) {
	t.Parallel()
	const failed, uncertain = "FAILED", "UNCERTAIN"
	for name, test := range map[string]struct {
		fault  outside.MailFault
		age    time.Duration
		state  string
		code   string // the end of the event
		reason string
		reply  string // in the list of the user's mails
		counts string // the last try's outcome in herald_mails_total
	}{
		"refused": {outside.MailFault{At: outside.RCPT, Reply: "550 5.1.1 <ada@example.com> nobody"}, 0, failed,
			`, "replyCode": 550`, "the mail relay refused the recipient (550)", "(550 5.1.1 … nobody)", "rejected"},
		"spam": {outside.MailFault{At: outside.Dot, Reply: "554 5.7.1 <ada@example.com> spam"}, 0, failed,
			`, "replyCode": 554`, "the mail relay answered 554 at the final dot", "554 5.7.1 … spam", "rejected"},
		"expired": {outside.MailFault{At: outside.RCPT, Reply: "450 4.2.0 <ada@example.com> later"}, 72 * time.Hour,
			failed, `, "replyCode": 450`, "the mail relay answered 450 at RCPT", "450 4.2.0 … later",
			"deferred"},
		"no reply": {outside.MailFault{At: outside.Dot, Drop: true}, 0, uncertain,
			"", "the mail relay closed the connection at the final dot", "closed", "uncertain"},
		"no answer": {outside.MailFault{At: outside.Dot, Reply: "ada@example.com"}, 0, uncertain,
			"", "the mail relay did not answer in SMTP at the final dot", "in SMTP", "uncertain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t, testworld.Setup{Faults: []outside.MailFault{test.fault}})
			w.Users.Service.Journal.Now = func() time.Time { return time.Now().Add(-test.age) }
			id := w.Users.Ask("ada")
			n := w.Settled(id)
			if story := testworld.Story(n); !strings.HasSuffix(story, ": "+test.state) {
				t.Errorf("%s, want %s", story, test.state)
			}
			want := fmt.Sprintf(`mail.failed of %s in o1 by notification: {"kind": "init", "state": `+
				`"NOTIFICATION_STATE_%s", "userId": "ada"%s}`, id, test.state, test.code)
			if got := w.Text(`select string_agg(aggregate || '.' || name || ' of ' || aggregate_id || ' in ' ||
				organization_id || ' by ' || actor || ': ' || data, E'\n') from events`); got != want {
				t.Errorf("event\n%s\nwant\n%s", got, want)
			}
			if got := w.Counted(w.Service, test.counts); got != float64(len(n.Attempts)) {
				t.Errorf("herald_mails_total counts %v", got)
			}
			w.Stop()
			logged(w, "a mail is given up", 1)
			line := w.Logs.Wait(t, "a mail is given up")
			if !strings.Contains(line, id) || !strings.Contains(line, test.reason) {
				t.Errorf("the log has %s", line)
			}
			if doubt := strings.Contains(line, "it may have been delivered"); doubt != (test.state == uncertain) {
				t.Errorf("a doubt %t in %s", doubt, line)
			}
			if strings.Contains(w.Logs.String(), "ada@example.com") {
				t.Error("the log names the recipient")
			}
			if reply := n.Attempts[0].Reply; !strings.Contains(reply, test.reply) {
				t.Errorf("the list has the reply %q", reply)
			}
		})
	}
}
