package notification

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
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

func (w *world) resend(orgID, role, userID, id string) (string, error) {
	w.Helper()
	r, err := w.gateway.ResendNotification(w.as(w.Context(), orgID, role),
		&notificationv1.ResendNotificationRequest{UserId: userID, NotificationId: id})
	return r.GetNotificationId(), err
}

func (w *world) refused(err error, id string, code fault.Code) {
	w.Helper()
	if f, ok := errors.AsType[*fault.Fault](err); !ok || f.ID != id || f.Code != code {
		w.Errorf("got %v, want %s", err, id)
	}
}

// If a mail has ended, resending it asks users for a new mail in the caller's name. The new mail is in the list before
// its event has come. The event then changes nothing.
func TestResendAnew(t *testing.T) {
	t.Parallel()
	for _, known := range mail.CodedKinds() {
		kind := string(known)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, setup{faults: []outside.MailFault{
				{At: outside.RCPT, Times: 1, Reply: "550 5.1.1 nobody"},
			}})
			fresh := resource.NewID()
			w.people.renew = func(ctx context.Context, asked, userID string) (string, error) {
				if c := caller.From(ctx); asked != kind || userID != "ada" || c.UserID != "boss" ||
					c.OrganizationID != "o1" || c.Service != "" {
					t.Errorf("%s for %s is asked for by %+v", asked, userID, c)
				}
				return fresh, nil
			}
			old := w.people.happen("ada", &usersv1.HumanEmailChanged{Mail: kind})
			if n := w.settled(old); story(n) != "FAILED: FAILED" {
				t.Fatalf("%v", n)
			}
			got, err := w.resend("o1", "ORG_OWNER", "ada", old)
			if err != nil || got != fresh {
				t.Fatalf("%s, %v", got, err)
			}
			if list := w.list(t.Context()); len(list) != 2 || list[0].Id != fresh || list[0].Kind != kind {
				t.Errorf("listed at once: %v", list)
			}
			if n := w.settled(fresh); story(n) != "SENT: SENT" {
				t.Errorf("%v", n)
			}
			w.people.happenAs(fresh, "ada", &usersv1.HumanEmailChanged{Mail: kind})
			w.settled(w.people.ask("ada"))
			w.accepted(2)
		})
	}
}

func TestResendRefused(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	sent := w.people.happen("ada", &usersv1.HumanPasswordResetRequested{Mail: "passwordreset"})
	w.settled(sent)
	// A caller who may write users but not their credentials is refused by users.
	_, err := w.resend("o1", "ORG_USER_MANAGER", "ada", sent)
	w.refused(err, "PERMISSION_DENIED", fault.Denied)
	if f := fault.From(err); f.Permission != "user.credential.write" || f.Organization != "o1" {
		t.Errorf("%+v", f)
	}
	w.people.renew = func(context.Context, string, string) (string, error) {
		return "", fault.New(fault.Precondition, "USER_NOT_INITIAL", "done").On("userId", "is done")
	}
	_, err = w.resend("o1", "ORG_OWNER", "ada", sent)
	w.refused(err, "USER_NOT_INITIAL", fault.Precondition)
	if f := fault.From(err); len(f.Fields) != 1 {
		t.Errorf("%+v", f)
	}
	if n := w.count("notifications"); n != 1 {
		t.Errorf("%d mails", n)
	}
}

// A mail that waits an hour for its next try is sent at once, also a notice; one that is being sent is not changed.
func TestResendWaiting(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{
		faults: []outside.MailFault{{At: outside.RCPT, Times: 2, Reply: "450 4.2.0 greylisted"}},
		times:  func(x *delivery.Times) { x.Spread = func(time.Duration) time.Duration { return time.Hour } },
	})
	notice := mailer.NoticeID(w.people.happen("ada", &usersv1.HumanPasswordChanged{Notice: "passwordchanged"}))
	waiting := []string{w.people.ask("ada"), notice}
	w.until("(select count(*) from notifications where state = 4) = 2")
	for _, id := range waiting {
		if got, err := w.resend("o1", "ORG_USER_MANAGER", "ada", id); err != nil || got != id {
			t.Fatalf("%s, %v", got, err)
		}
		if n := w.settled(id); story(n) != "RETRYING SENT: SENT" {
			t.Errorf("%v", n)
		}
	}
	held, release := w.people.block()
	sending := w.people.ask("ada")
	<-held
	if got, err := w.resend("o1", "ORG_USER_MANAGER", "ada", sending); err != nil || got != sending {
		t.Errorf("%s, %v", got, err)
	}
	release()
	if n := w.settled(sending); story(n) != "SENT: SENT" || w.count("notifications where fence > 2") != 0 {
		t.Errorf("%v", n)
	}
	w.accepted(3)
}

// A waiting mail that fifty callers resend at the same time is sent once.
func TestResendAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	n := domain.Notification{ID: resource.NewID(), OrgID: "o1", UserID: "ada", Kind: mail.Init, CreatedAt: time.Now()}
	if _, err := w.store().Queue(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	var done atomic.Int64
	all := make(chan struct{})
	const calls = 50
	for range calls {
		go func() {
			if _, err := w.store().Hurry(t.Context(), "o1", "ada", n.ID); err != nil {
				t.Error(err)
			}
			if done.Add(1) == calls {
				close(all)
			}
		}()
	}
	testkit.Run(w, w.service)
	w.settled(n.ID)
	<-all
	w.settled(n.ID)
	w.accepted(1)
}
