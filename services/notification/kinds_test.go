package notification

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mailer"
)

// Each kind of mail has its own texts and a link to its own page.
func TestKindsHaveTheirTextsAndLinks(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	for i, test := range []struct {
		event               proto.Message
		kind, subject, link string
	}{
		{&usersv1.HumanEmailVerificationRequested{Mail: "verifyemail"}, "verifyemail", "Adresse ada@example.com",
			"/ui/login/mail/verification?userID=ada&code=%s&orgID=o1&lang=de"},
		{&usersv1.HumanPasswordResetRequested{Mail: "passwordreset"}, "passwordreset", "Passwort von ada.l",
			"/ui/login/password/reset?userID=ada&code=%s&orgID=o1&lang=de"},
		{&usersv1.HumanEmailChanged{Mail: "verifyemail"}, "verifyemail", "Adresse ada@example.com",
			"/ui/login/mail/verification?userID=ada&code=%s&orgID=o1&lang=de"},
		{&usersv1.HumanEmailChanged{Mail: "init"}, "init", "Konto für Ada Lovelace",
			"/ui/login/user/init?userID=ada&code=%s&orgID=o1&passwordset=false&lang=de"},
	} {
		id := w.people.happen("ada", test.event)
		n := w.settled(id)
		m := w.parse(w.accepted(i + 1)[i])
		if n.Kind != test.kind || story(n) != "SENT: SENT" || m.Subject != test.subject {
			t.Errorf("%v: %v, %q", test.event, n, m.Subject)
		}
		link := "https://login.example.com" + strings.Replace(test.link, "%s", code(id), 1)
		if !strings.Contains(m.Text, "\n"+link+"\n") {
			t.Errorf("%v: the text part\n%s\nlacks\n%s", test.event, m.Text, link)
		}
	}
}

// A change of the address asks for two mails: a code to the new address, and a notice to the one that was. A
// notice is sent once, also if its event comes again, and has no link.
func TestNoticesAreSent(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	for i, test := range []struct {
		event proto.Message
		kind  string
		mails int
	}{
		{&usersv1.HumanEmailChanged{Mail: "verifyemail", Notice: "emailchanged"}, "emailchanged", 2},
		{&usersv1.HumanPasswordChanged{Notice: "passwordchanged"}, "passwordchanged", 3},
		{&usersv1.OtpVerified{Notice: "otpadded"}, "otpadded", 4},
		{&usersv1.OtpRemoved{Notice: "otpremoved"}, "otpremoved", 5},
		{&usersv1.OtpAccepted{RecoveryCode: true, Notice: "recoverycodeused"}, "recoverycodeused", 6},
	} {
		id := w.people.happen("ada", test.event)
		n := w.settled(mailer.NoticeID(id))
		if i == 0 {
			w.settled(id)
		}
		w.accepted(test.mails)
		if n.Kind != test.kind || story(n) != "SENT: SENT" {
			t.Errorf("%v", n)
		}
		w.people.happenAs(id, "ada", test.event)
	}
	w.settled(w.people.ask("ada"))
	for _, mail := range w.accepted(7) {
		m := w.parse(mail)
		if notice := strings.HasPrefix(m.Subject, "Geändert:"); notice == strings.Contains(m.Text+m.HTML, "http") {
			t.Errorf("%s: a notice %t with\n%s", m.Subject, notice, m.Text)
		}
	}
	id := mailer.NoticeID(w.people.happen("ada", &usersv1.HumanPasswordChanged{Notice: "passwordchanged"}))
	w.settled(id)
	_, err := w.resend("o1", "ORG_OWNER", "ada", id)
	w.refused(err, "NOTICE_SENT_ONCE", fault.Precondition)
}

// Events without a mail or with an unknown kind of mail queue nothing; no event queues a test mail.
func TestOtherEventsQueueNothing(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	for _, e := range []proto.Message{
		&usersv1.HumanEmailChanged{}, &usersv1.HumanEmailVerificationRequested{},
		&usersv1.HumanPasswordResetRequested{},
		&usersv1.HumanEmailVerified{}, &usersv1.HumanPasswordChanged{},
		&usersv1.OtpVerified{}, &usersv1.OtpRemoved{}, &usersv1.OtpAccepted{},
	} {
		w.people.happen("ada", e)
	}
	w.people.happen("eve", &usersv1.HumanEmailChanged{Mail: "test"})
	w.settled(w.people.ask("ada"))
	if n := w.count("notifications"); n != 1 {
		t.Errorf("%d mails:\n%s", n, w.dump("notifications"))
	}
}
