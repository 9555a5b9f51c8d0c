package api_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/notification/internal/testworld"
	"herald/shared/fault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/testkit"
)

// asked returns a mail as users lists it before its event comes.
func asked(kind string) *usersv1.AskedMail {
	return &usersv1.AskedMail{NotificationId: resource.NewID(), Kind: kind, Time: timestamppb.Now()}
}

// listed returns the ids and kinds of a list.
func listed(list []*notificationv1.Notification) (all []string) {
	for _, n := range list {
		all = append(all, n.Id+" "+n.Kind)
	}
	return all
}

func TestListIsPaged(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	first, second := w.Users.Ask("ada"), w.Users.Ask("ada")
	w.Settled(first)
	w.Settled(second)
	page, err := w.ListNotifications(w.As("ORG_USER_MANAGER"), &notificationv1.ListNotificationsRequest{
		UserId: "ada", Query: &heraldv1.ListQuery{Limit: 1, Offset: 1, Asc: true},
	})
	if err != nil || page.Details.TotalResult != 2 || page.Details.ViewTimestamp == nil {
		t.Errorf("%v, %v", page, err)
	}
	if got, want := listed(page.GetResult()), []string{second + " init"}; !slices.Equal(got, want) {
		t.Errorf("the second page has %q, want %q", got, want)
	}
	if got, want := listed(w.List()), []string{second + " init", first + " init"}; !slices.Equal(got, want) {
		t.Errorf("in the default order: %q, want %q", got, want)
	}
	_, err = w.ListNotifications(w.As("ORG_OWNER"), &notificationv1.ListNotificationsRequest{
		UserId: "ada", Query: &heraldv1.ListQuery{Limit: 51},
	})
	testkit.Refused(t, err, "LIMIT_EXCEEDED")
	_, err = w.ListNotifications(w.As("ORG_OWNER"), &notificationv1.ListNotificationsRequest{UserId: "nobody"})
	testkit.Refused(t, err, "USER_NOT_FOUND")
}

// A mail that users lists is in the list and sent before its event comes. The event then changes
// nothing.
func TestListHasMailsWhoseEventsHaveNotCome(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	first, second, third := asked("init"), asked("verifyemail"), asked("passwordreset")
	second.Time, third.Time = timestamppb.New(first.Time.AsTime().Add(time.Second)),
		timestamppb.New(first.Time.AsTime().Add(2*time.Second))
	w.Users.Asked(nil, third, second, first)
	list := w.List()
	want := []string{third.NotificationId + " passwordreset", second.NotificationId + " verifyemail",
		first.NotificationId + " init"}
	if got := listed(list); !slices.Equal(got, want) {
		t.Fatalf("listed %q, want %q", got, want)
	}
	for _, n := range list {
		if n := w.Settled(n.Id); testworld.Story(n) != "SENT: SENT" {
			t.Errorf("%v", n)
		}
	}
	before := w.Dump("(select * from notifications order by id)")
	w.Users.PublishAs(first.NotificationId, "ada", &usersv1.HumanImported{InitMail: usersv1.InitMail_INIT_MAIL_QUEUED})
	w.Users.PublishAs(second.NotificationId, "ada", &usersv1.HumanEmailVerificationRequested{Mail: "verifyemail"})
	w.Users.PublishAs(third.NotificationId, "ada", &usersv1.HumanPasswordResetRequested{Mail: "passwordreset"})
	last := w.Users.Ask("ada") // its event comes after theirs
	w.Settled(last)
	w.Accepted(4)
	if after := w.Dump("(select * from notifications where id <> '" + last + "' order by id)"); after != before {
		t.Errorf("the events changed\n%s\nto\n%s", before, after)
	}
}

// Several lists at the same time, and the event, lead to one mail.
func TestListsAtOnceQueueAMailOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	mails := []*usersv1.AskedMail{asked("init"), asked("verifyemail"), asked("passwordreset")}
	w.Users.Asked(nil, mails...)
	var listing sync.WaitGroup
	for range 20 {
		listing.Go(func() {
			if list := w.List(); len(list) != len(mails) {
				t.Errorf("listed %v", list)
			}
		})
	}
	for _, m := range mails {
		w.Users.PublishAs(m.NotificationId, "ada", &usersv1.HumanEmailChanged{Mail: m.Kind})
	}
	listing.Wait()
	w.Settled(w.Users.Ask("ada"))
	w.Finished()
	w.SentOnce(len(mails) + 1)
}

// Without users the list could lack a mail that the caller knows of, so listing fails.
func TestListFailsWithoutUsers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	w.Settled(w.Users.Ask("ada"))
	for _, refusal := range []error{fault.ErrUnavailable, fault.ErrOverloaded} {
		w.Users.Asked(refusal)
		_, err := w.ListNotifications(w.As("ORG_OWNER"), &notificationv1.ListNotificationsRequest{UserId: "ada"})
		testkit.Refused(t, err, fault.From(refusal).ID)
	}
	w.Users.Asked(nil, asked("test"))
	_, err := w.ListNotifications(w.As("ORG_OWNER"), &notificationv1.ListNotificationsRequest{UserId: "ada"})
	testkit.Refused(t, err, "INTERNAL")
	w.Logs.Wait(t, "there is no mail of kind")
	if n := w.Count("notifications"); n != 1 {
		t.Errorf("%d mails", n)
	}
}
