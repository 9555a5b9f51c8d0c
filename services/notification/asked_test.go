package notification

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/fault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
)

// asked returns a mail as users lists it before its event comes.
func asked(kind string) *usersv1.AskedMail {
	return &usersv1.AskedMail{NotificationId: resource.NewID(), Kind: kind, Time: timestamppb.Now()}
}

// ids returns the ids of a list in its order.
func ids(list []*notificationv1.Notification) (all []string) {
	for _, n := range list {
		all = append(all, n.Id)
	}
	return all
}

// A mail that users lists is in the list and sent before its event comes. The event then changes
// nothing.
func TestListBeforeTheEvent(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	first, second, third := asked("init"), asked("verifyemail"), asked("passwordreset")
	second.Time, third.Time = timestamppb.New(first.Time.AsTime().Add(time.Second)),
		timestamppb.New(first.Time.AsTime().Add(2*time.Second))
	w.people.tells(third, second, first)
	list := w.list(t.Context())
	if !slices.Equal(ids(list), []string{third.NotificationId, second.NotificationId, first.NotificationId}) ||
		list[0].Kind != "passwordreset" || list[1].Kind != "verifyemail" || list[2].Kind != "init" {
		t.Fatalf("listed at once: %v", list)
	}
	for _, n := range list {
		if n := w.settled(n.Id); story(n) != "SENT: SENT" {
			t.Errorf("%v", n)
		}
	}
	before := w.dump("(select * from notifications order by id)")
	w.people.happenAs(first.NotificationId, "ada", &usersv1.HumanImported{InitMail: usersv1.InitMail_INIT_MAIL_QUEUED})
	w.people.happenAs(second.NotificationId, "ada", &usersv1.HumanEmailVerificationRequested{Mail: "verifyemail"})
	w.people.happenAs(third.NotificationId, "ada", &usersv1.HumanPasswordResetRequested{Mail: "passwordreset"})
	last := w.people.ask("ada") // its event comes after theirs
	w.settled(last)
	w.accepted(4)
	if after := w.dump("(select * from notifications where id <> '" + last + "' order by id)"); after != before {
		t.Errorf("the events changed\n%s\nto\n%s", before, after)
	}
}

// Several lists at the same time, and the event, lead to one mail.
func TestListsAtOnce(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	mails := []*usersv1.AskedMail{asked("init"), asked("verifyemail"), asked("passwordreset")}
	w.people.tells(mails...)
	var listing sync.WaitGroup
	for range 20 {
		listing.Go(func() {
			if list := w.list(t.Context()); len(list) != len(mails) {
				t.Errorf("listed %v", list)
			}
		})
	}
	for _, m := range mails {
		w.people.happenAs(m.NotificationId, "ada", &usersv1.HumanEmailChanged{Mail: m.Kind})
	}
	listing.Wait()
	w.settled(w.people.ask("ada"))
	for _, m := range mails {
		w.settled(m.NotificationId)
	}
	w.accepted(len(mails) + 1)
	if n := w.count("notifications"); n != len(mails)+1 {
		t.Errorf("%d mails:\n%s", n, w.dump("notifications"))
	}
}

// A mail can be sent again before its event has come.
func TestResendBeforeTheEvent(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	m := asked("init")
	w.people.tells(m)
	if got, err := w.resend("o1", "ORG_OWNER", "ada", m.NotificationId); err != nil || got != m.NotificationId {
		t.Fatalf("%s, %v", got, err)
	}
	w.settled(m.NotificationId)
	w.accepted(1)
}

// Without users the list could lack a mail that the caller knows of, so listing fails.
func TestListWithoutUsers(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	known := w.people.ask("ada")
	w.settled(known)
	for _, refusal := range []error{fault.ErrUnavailable, fault.ErrOverloaded} {
		w.people.mu.Lock()
		w.people.asked = func() ([]*usersv1.AskedMail, error) { return nil, refusal }
		w.people.mu.Unlock()
		_, err := w.gateway.ListNotifications(w.as(t.Context(), "o1", "ORG_OWNER"),
			&notificationv1.ListNotificationsRequest{UserId: "ada"})
		w.refused(err, fault.From(refusal).ID, fault.From(refusal).Code)
	}
	w.people.tells(asked("test"))
	_, err := w.gateway.ListNotifications(w.as(t.Context(), "o1", "ORG_OWNER"),
		&notificationv1.ListNotificationsRequest{UserId: "ada"})
	w.refused(err, "INTERNAL", fault.Internal)
	if n := w.count("notifications"); n != 1 || !strings.Contains(w.logs.String(), `there is no mail of kind`) {
		t.Errorf("%d mails\n%s", n, w.logs.String())
	}
}
