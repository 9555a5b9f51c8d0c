package notification

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/shared/caller"
	"herald/shared/fault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/secret"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// trial sends a test mail as an owner of the instance.
func (w *world) trial(ctx context.Context, recipient string) (*notificationv1.Notification, error) {
	w.Helper()
	r, err := w.gateway.SendTestMail(w.owner(ctx), &notificationv1.SendTestMailRequest{Recipient: recipient})
	return r.GetNotification(), err
}

// owner is the context of an owner of the instance who acts on another organization.
func (w *world) owner(ctx context.Context) context.Context {
	return testkit.As(ctx, w.ground, caller.Caller{
		UserID: "ada", OrganizationID: "o2", HomeOrganizationID: "o1",
		Memberships: []caller.Membership{{Roles: []string{"IAM_OWNER"}}},
	})
}

// tried is the expected outcome of a test mail.
func (w *world) tried(recipient string) *notificationv1.Notification {
	w.Helper()
	n, err := w.trial(w.Context(), recipient)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func TestTestMail(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{relay: guarded})
	w.people.answers(func(*usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		t.Error("users is asked what a test mail says")
		return nil, fault.ErrInternal
	})
	n := w.tried(" postmaster@example.com ")
	if story(n) != "SENT: SENT" || n.Kind != "test" || n.Recipient != "postmaster@example.com" ||
		n.Attempts[0].Reply != "250 2.0.0 accepted" {
		t.Errorf("answered %v", n)
	}
	if list := w.list(t.Context()); len(list) != 1 || list[0].String() != n.String() {
		t.Errorf("listed %v", list)
	}
	d := w.accepted(1)[0]
	m := w.parse(d)
	if d.To[0] != "postmaster@example.com" || d.MessageID != "<"+n.Id+"@login.example.com>" || !d.TLS ||
		m.Subject != "Test mail of Herald" {
		t.Errorf("sent as\n%s", d.Data)
	}
	if !strings.Contains(m.Text, "https://login.example.com") || strings.Contains(m.HTML, "<a ") ||
		strings.Contains(string(d.Data), "\x1a") {
		t.Errorf("says\n%s\n%s", m.Text, m.HTML)
	}
	_, err := w.resend("o1", "ORG_OWNER", "ada", n.Id)
	w.refused(err, "TEST_MAIL_SENT_ONCE", fault.Precondition)
	if f := fault.From(err); !strings.Contains(f.Message, "_test") {
		t.Errorf("%v", f)
	}
}

func TestTestMailRecipient(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	human := func(email string) *usersv1.User {
		return &usersv1.User{Type: &usersv1.User_Human{Human: &usersv1.Human{Email: &usersv1.Email{Email: email}}}}
	}
	w.people.me = human("own@example.com")
	if n := w.tried(""); n.Recipient != "own@example.com" || story(n) != "SENT: SENT" {
		t.Errorf("%v", n)
	}
	for _, me := range []*usersv1.User{nil, human(""), {Type: &usersv1.User_Machine{Machine: &usersv1.Machine{}}}} {
		w.people.me = me
		_, err := w.trial(t.Context(), "")
		w.refused(err, "RECIPIENT_REQUIRED", fault.Precondition)
		if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Path != "recipient" {
			t.Errorf("%+v", f)
		}
	}
	for _, bad := range []string{
		"ada", "ada@", "@example.com", "ada@example.com,bob@example.com", "Ada <ada@example.com>", "<ada@example.com>",
		"ada @example.com", `"a b"@example.com`, strings.Repeat("a", 65) + "@example.com",
		"a@" + strings.Repeat("a.", 130) + "com", "ada@example..com",
	} {
		_, err := w.trial(t.Context(), bad)
		w.refused(err, "RECIPIENT_INVALID", fault.Invalid)
	}
	for _, bad := range []string{"ada@example.com\r\nBcc: eve@example.com", "ada\x00@example.com"} {
		_, err := w.trial(t.Context(), bad)
		w.refused(err, "INVALID_ARGUMENT", fault.Invalid) // for invisible characters in any field
	}
	for _, role := range []string{"ORG_OWNER", "ORG_USER_MANAGER"} {
		_, err := w.gateway.SendTestMail(w.as(t.Context(), "o1", role),
			&notificationv1.SendTestMailRequest{Recipient: "ada@example.com"})
		w.refused(err, "PERMISSION_DENIED", fault.Denied)
	}
	if n := w.count("notifications"); n != 1 {
		t.Errorf("%d mails", n)
	}
}

// The answer says what is wrong and which setting to check, and the mail is not tried again.
func TestTestMailSaysWhy(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	const look = ": check HERALD_SMTP_URL"
	wrong := func(c *Config) { c.SMTP = secret.NewText(strings.Replace(c.SMTP.Reveal(), "CANARY", "WRONG", 1)) }
	for name, test := range map[string]struct {
		setup setup
		story string
		reply string
	}{
		"password": {setup{relay: guarded, config: wrong}, "FAILED: FAILED",
			"the mail relay refused the user name or password (535 5.7.8 wrong user name or password)" + look},
		"nobody listens": {setup{config: func(c *Config) {
			c.SMTP = secret.NewText("smtp://" + nobody.Addr().String())
		}}, "FAILED: FAILED", "the mail relay failed at connecting: connect: connection refused" + look},
		"no STARTTLS": {setup{config: func(c *Config) {
			c.SMTP = secret.NewText(c.SMTP.Reveal() + "?starttls=required")
		}}, "FAILED: FAILED", "the mail relay does not offer STARTTLS" + look},
		"STARTTLS": {setup{relay: guarded, faults: []outside.MailFault{
			{At: outside.STARTTLS, Reply: "454 4.7.0 not now"},
		}}, "FAILED: FAILED", "the mail relay failed at STARTTLS (454 4.7.0 not now)" + look},
		"sender": {setup{faults: []outside.MailFault{{At: outside.MAIL, Reply: "550 5.7.1 not you"}}}, "FAILED: FAILED",
			"the mail relay refused the sender (550 5.7.1 not you): check HERALD_MAIL_FROM"},
		"recipient": {setup{faults: []outside.MailFault{{At: outside.RCPT, Reply: "550 5.1.1 nobody"}}},
			"FAILED: FAILED", "the mail relay refused the recipient (550 5.1.1 nobody)"},
		"greylisted": {setup{faults: []outside.MailFault{{At: outside.RCPT, Reply: "450 4.2.0 later"}}},
			"FAILED: FAILED", "450 4.2.0 later"},
		"drop": {setup{faults: []outside.MailFault{{At: outside.Dot, Drop: true}}}, "UNCERTAIN: UNCERTAIN",
			"the mail relay closed the connection at the final dot"},
		"silence": {setup{faults: []outside.MailFault{{At: outside.EHLO, Hang: true}}, times: func(x *delivery.Times) {
			x.Trial = 100 * time.Millisecond
		}},
			"FAILED: FAILED", "the mail relay did not answer in time at EHLO" + look},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, test.setup)
			n := w.tried("ada@example.com")
			if story(n) != test.story || n.Attempts[0].Reply != test.reply {
				t.Errorf("%v, want %s, %q", n, test.story, test.reply)
			}
			if left := w.count("notifications where due_at is not null"); left != 0 {
				t.Error("it is to be tried again")
			}
		})
	}
}

// A test mail is tried even while no mail can be sent. If it is sent, the others are sent too.
func TestTestMailWhileOthersWait(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{
		faults: []outside.MailFault{{At: outside.Greeting, Reply: "421 4.3.2 closing", Drop: true}},
		times:  func(x *delivery.Times) { x.Probe, x.MaxProbe = time.Hour, time.Hour },
	})
	waiting := w.people.ask("ada")
	w.until("exists (select from notifications where state = 4)")
	if n := w.tried("ada@example.com"); story(n) != "FAILED: FAILED" ||
		!strings.Contains(n.Attempts[0].Reply, "421 4.3.2 closing") {
		t.Errorf("%v", n)
	}
	w.relay.Script()
	if n := w.tried("ada@example.com"); story(n) != "SENT: SENT" {
		t.Errorf("%v", n)
	}
	w.settled(waiting)
	w.accepted(2)
}

// A test mail does not wait for a free worker.
func TestTestMailPassesOthers(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	var asked sync.WaitGroup
	asked.Add(8)
	gate := make(chan struct{})
	var count atomic.Int64
	w.people.answers(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		if count.Add(1) <= 8 {
			asked.Done()
			<-gate
		}
		return person(r), nil
	})
	for range 12 {
		w.people.ask("ada")
	}
	asked.Wait()
	if n := w.tried("ada@example.com"); story(n) != "SENT: SENT" {
		t.Errorf("%v", n)
	}
	close(gate)
	w.until("not exists (select from notifications where due_at is not null)")
	w.accepted(13)
	if strings.Contains(w.logs.String(), "the queue cannot be read") {
		t.Error("the queue was asked for less than no mails")
	}
}

// A caller gets an answer in time that the mail is still being sent; the sending goes on.
func TestTestMailTakesLong(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{faults: []outside.MailFault{{At: outside.RCPT, Hang: true}}})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	n, err := w.trial(ctx, "ada@example.com")
	if err != nil || story(n) != ": SENDING" {
		t.Fatalf("%v, %v", n, err)
	}
	w.stop() // gives the mail back; no notifier sends it again
	w.relay.Script()
	testkit.Run(w, w.open(setup{}))
	if n := w.settled(n.Id); story(n) != "FAILED: FAILED" ||
		n.Attempts[0].Reply != "the notifier ended before it tried the mail" {
		t.Errorf("%v", n)
	}
	w.accepted(0)
}

// If the notifier of a test mail loses its lease, another one ends the mail, and the waiting caller
// gets that outcome.
func TestTestMailIsTakenOver(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{faults: []outside.MailFault{{At: outside.RCPT, Hang: true}}})
	answered := make(chan *notificationv1.Notification)
	go func() {
		n, err := w.trial(t.Context(), "ada@example.com")
		if err != nil {
			t.Error(err)
		}
		answered <- n
	}()
	if err := w.relay.Reached(t.Context(), outside.RCPT, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.Exec(t.Context(), "update notifications set due_at = now()"); err != nil {
		t.Fatal(err)
	}
	testkit.Run(w, w.open(setup{}))
	w.until("not exists (select from notifications where due_at is not null)")
	w.relay.Disconnect() // which ends the try of the first notifier
	if n := <-answered; story(n) != "FAILED: FAILED" ||
		n.Attempts[0].Reply != "the notifier ended before it tried the mail" {
		t.Errorf("%v", n)
	}
	if n := w.relay.Count(outside.RCPT); n != 1 {
		t.Errorf("tried %d times", n)
	}
}

// If its notifier died after Mark, a test mail is Uncertain.
func TestTestMailUnanswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	n := domain.Notification{ID: resource.NewID(), OrgID: "o1", UserID: "ada", Kind: domain.Test,
		CreatedAt: w.ground.Now(),
		Recipient: "ada@example.com"}
	c, err := w.store().Begin(t.Context(), n, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c.Rendered = []byte(kept)
	if err := w.store().Mark(t.Context(), c, w.ground.Now(), 0); err != nil {
		t.Fatal(err)
	}
	testkit.Run(w, w.service)
	if got := w.settled(n.ID); story(got) != "UNCERTAIN: UNCERTAIN" {
		t.Errorf("%v", got)
	}
	w.accepted(0)
}
