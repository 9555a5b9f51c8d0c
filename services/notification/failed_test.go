package notification

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protojson"

	"herald/shared/bus"
	"herald/shared/fault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit/outside"
)

// subscribe subscribes to events as another program does.
func (w *world) subscribe(subject string) *nats.Subscription {
	w.Helper()
	address := w.ground.Bus
	address.User, address.Password = bus.Subscriber, bus.Password(w.ground.Keys, bus.Subscriber)
	nc, err := bus.Connect(w.Context(), address, w.ground.Log)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(nc.Close)
	sub, err := nc.SubscribeSync(subject)
	if err != nil {
		w.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		w.Fatal(err)
	}
	return sub
}

// A mail that is given up makes one event and one line in the log. The line has the reply's code,
// but not the relay's words, which may name the recipient.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	const failed, uncertain = notificationv1.NotificationState_NOTIFICATION_STATE_FAILED,
		notificationv1.NotificationState_NOTIFICATION_STATE_UNCERTAIN
	for name, test := range map[string]struct {
		fault  outside.MailFault
		old    bool
		state  notificationv1.NotificationState
		code   int32
		reason string
		counts string // the last try's outcome in herald_mails_total
	}{
		"refused": {outside.MailFault{At: outside.RCPT, Reply: "550 5.1.1 <ada@example.com> nobody"}, false, failed, 550,
			"the mail relay refused the recipient (550)", "rejected"},
		"spam": {outside.MailFault{At: outside.Dot, Reply: "554 5.7.1 <ada@example.com> spam"}, false, failed, 554,
			"the mail relay answered 554 at the final dot", "rejected"},
		"expired": {outside.MailFault{At: outside.RCPT, Reply: "450 4.2.0 <ada@example.com> later"}, true, failed, 450,
			"the mail relay answered 450 at RCPT", "deferred"},
		"no reply": {outside.MailFault{At: outside.Dot, Drop: true}, false, uncertain, 0,
			"the mail relay closed the connection at the final dot", "uncertain"},
		"no answer": {outside.MailFault{At: outside.Dot, Reply: "ada@example.com"}, false, uncertain, 0,
			"the mail relay failed at the final dot", "uncertain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, setup{faults: []outside.MailFault{test.fault}})
			if test.old {
				w.people.service.Journal.Now = func() time.Time { return time.Now().Add(-72 * time.Hour) }
			}
			news := w.subscribe("events.notification.>")
			id := w.people.ask("ada")
			n := w.settled(id)
			m, err := news.NextMsg(30 * time.Second)
			if err != nil {
				t.Fatal(err)
			}
			var got notificationv1.MailFailed
			if err := protojson.Unmarshal(m.Data, &got); err != nil {
				t.Fatal(err)
			}
			if got.UserId != "ada" || got.Kind != "init" || got.State != test.state || got.ReplyCode != test.code ||
				n.State != test.state {
				t.Errorf("event %v of %v", &got, n)
			}
			if m.Subject != "events.notification.mail.failed.o1" || m.Header.Get("ce-subject") != id ||
				m.Header.Get("ce-actor") != "notification" {
				t.Errorf("%s %v", m.Subject, m.Header)
			}
			if got := counted(t, w.service, test.counts); got != float64(len(n.Attempts)) {
				t.Errorf("herald_mails_total counts %v", got)
			}
			w.stop()
			log := w.logs.String()
			if strings.Count(log, "a mail is given up") != 1 || !strings.Contains(log, id) ||
				!strings.Contains(log, test.reason) ||
				strings.Contains(log, "it may have been delivered") != (test.state == uncertain) {
				t.Error("the log does not say it once")
			}
			if strings.Contains(log, "ada@example.com") || strings.Contains(w.dump("events"), "ada@example.com") {
				t.Error("the log or the event names the reader")
			}
			if said := test.fault.Reply; said != "" && !strings.Contains(n.Attempts[0].Reply, "ada@example.com") {
				t.Errorf("the list hides what the relay said: %v", n)
			}
			if n := w.count("events"); n != 1 {
				t.Errorf("%d events", n)
			}
		})
	}
}

// A mail whose code was used or replaced makes no event.
func TestObsoleteIsNoFailure(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	w.people.answers(func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		return nil, fault.New(fault.Precondition, "NOTIFICATION_OBSOLETE", "gone")
	})
	w.settled(w.people.ask("ada"))
	w.stop()
	if n := w.count("events"); n != 0 || strings.Contains(w.logs.String(), "given up") {
		t.Errorf("%d events; %s", n, w.logs.String())
	}
}

// A mail that is sent after some tries makes no event, and its tries make no events.
func TestSentIsNoFailure(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{faults: []outside.MailFault{{At: outside.RCPT, Times: 1, Reply: "450 4.2.0 greylisted"}}})
	if n := w.settled(w.people.ask("ada")); story(n) != "RETRYING SENT: SENT" {
		t.Errorf("%v", n)
	}
	w.stop()
	if n := w.count("events"); n != 0 || strings.Contains(w.logs.String(), "given up") {
		t.Errorf("%d events; %s", n, w.logs.String())
	}
}
