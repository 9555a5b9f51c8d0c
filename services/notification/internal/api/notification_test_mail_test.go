package api_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/notification"
	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/testworld"
	"herald/shared/fault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

func TestTestMailNeedsNothingOfUsers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{Relay: testworld.Guarded})
	w.Users.Prepares(func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		t.Error("users is asked what a test mail says")
		return nil, fault.ErrInternal
	})
	n := w.Tried(" postmaster@example.com ")
	const sent = notificationv1.NotificationState_NOTIFICATION_STATE_SENT
	want := &notificationv1.Notification{
		Id: n.Id, Kind: "test", State: sent, Language: "en", Recipient: "postmaster@example.com",
		Attempts: []*notificationv1.Attempt{{Time: n.Attempts[0].Time, State: sent, Reply: "250 2.0.0 accepted"}},
	}
	testkit.Equal(t, n, want)
	if list := w.List(); len(list) != 1 || !proto.Equal(list[0], want) {
		t.Errorf("listed %v", list)
	}
	d := w.Accepted(1)[0]
	m := w.Parse(d)
	if d.To[0] != want.Recipient || d.MessageID != "<"+n.Id+"@login.example.com>" || !d.TLS {
		t.Errorf("sent as\n%s", d.Data)
	}
	if m.Subject != "Test mail of Herald" || !strings.Contains(m.Text, "https://login.example.com") {
		t.Errorf("%s says\n%s", m.Subject, m.Text)
	}
	if strings.Contains(m.HTML, "<a ") || strings.Contains(string(d.Data), "\x1a") {
		t.Errorf("has a link or the place of a code:\n%s", m.HTML)
	}
	_, err := resend(w, "ORG_OWNER", n.Id)
	testkit.Refused(t, err, "TEST_MAIL_SENT_ONCE", "_test")
}

func TestTestMailRecipient(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	human := func(email string, verified bool) *usersv1.User {
		return &usersv1.User{Type: &usersv1.User_Human{Human: &usersv1.Human{Email: &usersv1.Email{
			Email: email, IsEmailVerified: verified,
		}}}}
	}
	w.Users.Me = human("own@example.com", true)
	if n := w.Tried(""); n.Recipient != "own@example.com" || testworld.Story(n) != "SENT: SENT" {
		t.Errorf("%v", n)
	}
	machine := &usersv1.User{Type: &usersv1.User_Machine{Machine: &usersv1.Machine{}}}
	for _, me := range []*usersv1.User{nil, human("", false), human("own@example.com", false), machine} {
		w.Users.Me = me
		_, err := w.TestMail(t.Context(), "")
		testkit.Refused(t, err, "RECIPIENT_REQUIRED")
		if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Path != "recipient" {
			t.Errorf("%+v", f)
		}
	}
	for bad, id := range map[string]string{
		"ada":                             "RECIPIENT_INVALID",
		"ada@example.com,bob@example.com": "RECIPIENT_INVALID",
		"Ada <ada@example.com>":           "RECIPIENT_INVALID",
		"ada@example.com\r\nBcc: eve@example.com": "INVALID_ARGUMENT", // for invisible characters in any field
	} {
		_, err := w.TestMail(t.Context(), bad)
		testkit.Refused(t, err, id)
	}
	for _, role := range []string{"ORG_OWNER", "ORG_USER_MANAGER"} {
		_, err := w.SendTestMail(w.As(role), &notificationv1.SendTestMailRequest{Recipient: "ada@example.com"})
		testkit.Refused(t, err, "PERMISSION_DENIED")
	}
	if n := w.Count("notifications"); n != 1 {
		t.Errorf("%d mails", n)
	}
}

// The answer gives the reason and the setting to check. The mail is not tried again.
func TestTestMailAnswersWithTheReason(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		setup testworld.Setup
		story string
		reply string
	}{
		"password": {testworld.Setup{Relay: testworld.Guarded, Config: func(c *notification.Config) {
			c.SMTP = secret.NewText(strings.Replace(c.SMTP.Reveal(), "CANARY", "WRONG", 1))
		}}, "FAILED: FAILED", "the mail relay refused the user name or password (535 5.7.8 wrong user name or " +
			"password): check HERALD_SMTP_URL or /admin/v1/smtp"},
		"recipient": {testworld.Setup{Faults: []outside.MailFault{{At: outside.RCPT, Reply: "550 5.1.1 nobody"}}},
			"FAILED: FAILED", "the mail relay refused the recipient (550 5.1.1 nobody)"},
		"greylisted": {testworld.Setup{Faults: []outside.MailFault{{At: outside.RCPT, Reply: "450 4.2.0 later"}}},
			"FAILED: FAILED", "450 4.2.0 later"},
		"drop": {testworld.Setup{Faults: []outside.MailFault{{At: outside.Dot, Drop: true}}}, "UNCERTAIN: UNCERTAIN",
			"the mail relay closed the connection at the final dot"},
		"silence": {testworld.Setup{
			Faults: []outside.MailFault{{At: outside.EHLO, Hang: true}},
			Times:  func(x *delivery.Times) { x.TestMail = 100 * time.Millisecond },
		}, "FAILED: FAILED", "the mail relay did not answer in time at EHLO: check HERALD_SMTP_URL or /admin/v1/smtp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t, test.setup)
			n := w.Tried("ada@example.com")
			if testworld.Story(n) != test.story || n.Attempts[0].Reply != test.reply {
				t.Errorf("%v, want %s, %q", n, test.story, test.reply)
			}
			if left := w.Count("notifications where due_at is not null"); left != 0 {
				t.Error("it is to be tried again")
			}
		})
	}
}
