package notification

import (
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// When a user is removed, the user's mails are removed too, both waiting and sent ones, because they contain an
// address.
func TestMailsOfARemovedUser(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{faults: []outside.MailFault{{At: outside.RCPT, Reply: "450 4.2.1 later"}}})
	gone, stays := w.people.ask("ada"), w.people.ask("bob")
	w.until("(select count(*) = 2 from notifications where id in ($1, $2) and state in (3, 4))", gone, stays)
	w.people.happen("ada", &usersv1.UserRemoved{})
	testkit.Until(t, w.db, "notifications", "not exists (select from notifications where user_id = 'ada')")
	if n := w.count("notifications where id = '" + stays + "'"); n != 1 {
		t.Error("another user's mail is gone too")
	}
	if n := w.count("attempts where notification_id = '" + gone + "'"); n != 0 {
		t.Errorf("%d attempts are left", n)
	}
}
