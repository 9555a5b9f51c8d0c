package api_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/testworld"
	"herald/shared/caller"
	"herald/shared/fault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
	"herald/shared/mailer"
	"herald/shared/resource"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

func TestMain(m *testing.M) { os.Exit(testworld.Main(m)) }

func resend(w *testworld.World, role, id string) (string, error) {
	w.Helper()
	r, err := w.ResendNotification(w.As(role),
		&notificationv1.ResendNotificationRequest{UserId: "ada", NotificationId: id})
	return r.GetNotificationId(), err
}

// resent fails the test unless resending a mail returns an id.
func resent(w *testworld.World, role, id, want string) {
	w.Helper()
	if got, err := resend(w, role, id); err != nil || got != want {
		w.Fatalf("%s, %v, want %s", got, err, want)
	}
}

func TestMailIsSentBeforeItsEventIfItIsResent(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	m := asked("init")
	w.Users.Asked(nil, m)
	resent(w, "ORG_OWNER", m.NotificationId, m.NotificationId)
	w.Settled(m.NotificationId)
	w.Accepted(1)
}

// If a mail has ended, resending it asks users for a new mail in the caller's name. The new mail is in the list before
// its event has come. The event then changes nothing.
func TestEndedMailIsRenewed(t *testing.T) {
	t.Parallel()
	for _, known := range mail.CodedKinds() {
		kind := string(known)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t, testworld.Setup{
				Faults: []outside.MailFault{{At: outside.RCPT, Times: 1, Reply: "550 5.1.1 nobody"}},
			})
			fresh := resource.NewID()
			w.Users.Renew = func(ctx context.Context, asked, userID string) (string, error) {
				c := caller.From(ctx)
				got := []string{asked, userID, c.UserID, c.OrganizationID, c.Service}
				if want := []string{kind, "ada", "boss", "o1", ""}; !slices.Equal(got, want) {
					t.Errorf("asked by %q, want %q", got, want)
				}
				return fresh, nil
			}
			old := w.Users.Publish("ada", &usersv1.HumanEmailChanged{Mail: kind})
			if n := w.Settled(old); testworld.Story(n) != "FAILED: FAILED" {
				t.Fatalf("%v", n)
			}
			resent(w, "ORG_OWNER", old, fresh)
			if got, want := listed(w.List()), []string{fresh + " " + kind, old + " " + kind}; !slices.Equal(got, want) {
				t.Errorf("listed %q, want %q", got, want)
			}
			if n := w.Settled(fresh); testworld.Story(n) != "SENT: SENT" {
				t.Errorf("%v", n)
			}
			w.Users.PublishAs(fresh, "ada", &usersv1.HumanEmailChanged{Mail: kind})
			w.Settled(w.Users.Ask("ada"))
			w.Accepted(2)
		})
	}
}

// Users refuses callers who may write users but not their credentials. Its faults are returned unchanged.
func TestResendReturnsTheFaultsOfUsers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	sent := w.Users.Publish("ada", &usersv1.HumanPasswordResetRequested{Mail: "passwordreset"})
	w.Settled(sent)
	_, err := resend(w, "ORG_USER_MANAGER", sent)
	testkit.Refused(t, err, "PERMISSION_DENIED")
	if f := fault.From(err); f.Permission != "user.credential.write" || f.Organization != "o1" {
		t.Errorf("%+v", f)
	}
	w.Users.Renew = func(context.Context, string, string) (string, error) {
		return "", fault.New(fault.Precondition, "USER_NOT_INITIAL", "done").On("userId", "is done")
	}
	_, err = resend(w, "ORG_OWNER", sent)
	testkit.Refused(t, err, "USER_NOT_INITIAL")
	if f := fault.From(err); len(f.Fields) != 1 {
		t.Errorf("%+v", f)
	}
	if n := w.Count("notifications"); n != 1 {
		t.Errorf("%d mails", n)
	}
}

// A mail that waits an hour for its next try is sent at once. This is also true for a notice, which then cannot be sent
// again. A mail that is being sent is not changed.
func TestWaitingMailIsSentAtOnceIfItIsResent(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{
		Faults: []outside.MailFault{{At: outside.RCPT, Times: 2, Reply: "450 4.2.0 greylisted"}},
		Times:  func(x *delivery.Times) { x.Spread = func(time.Duration) time.Duration { return time.Hour } },
	})
	notice := mailer.NoticeID(w.Users.Publish("ada", &usersv1.HumanPasswordChanged{Notice: "passwordchanged"}))
	waiting := []string{w.Users.Ask("ada"), notice}
	w.Until("(select count(*) from notifications where state = 4) = 2")
	for _, id := range waiting {
		resent(w, "ORG_USER_MANAGER", id, id)
		if n := w.Settled(id); testworld.Story(n) != "RETRYING SENT: SENT" {
			t.Errorf("%v", n)
		}
	}
	_, err := resend(w, "ORG_OWNER", notice)
	testkit.Refused(t, err, "NOTICE_SENT_ONCE")
	held, release := w.Users.Block()
	sending := w.Users.Ask("ada")
	<-held
	resent(w, "ORG_USER_MANAGER", sending, sending)
	release()
	if n := w.Settled(sending); testworld.Story(n) != "SENT: SENT" || w.Count("notifications where fence > 2") != 0 {
		t.Errorf("%v", n)
	}
	w.Accepted(3)
}
