package users_test

import (
	"slices"
	"strings"
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
)

// noticed returns the newest notice to a user and its kind, as the service notification gets them.
func (w *world) noticed(userID string) (kind string, m *usersv1.PrepareMailResponse) {
	w.Helper()
	kinds, ids := w.asked(w.orgID, userID)
	for i, id := range ids {
		if !strings.HasSuffix(id, "-notice") {
			continue
		}
		m, err := w.notify.PrepareMail(w.Context(), &usersv1.PrepareMailRequest{NotificationId: id, UserId: userID})
		if err != nil {
			w.Fatal(err)
		}
		return kinds[i], m
	}
	return "", nil
}

// The address that was gets a notice of another one, and the address that is of another password. The notice
// says who made the change, and has neither a code nor another address. It tells the login name to a verified address
// only.
func TestNotices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	me := w.fresh(id, "")
	expect := func(what, kind, recipient string, own bool, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, m := w.noticed(id)
		if m == nil || got != kind || m.Recipient != recipient || m.ChangedByReader != own || m.Code != "" ||
			m.Expiry != nil || m.VerifiedEmail != "" || m.OrgName != "Herald" || m.ChangeDate == nil ||
			m.UserName != map[bool]string{true: "mini", false: recipient}[recipient != "third@example.com"] {
			t.Errorf("%s: a notice %s: %v", what, got, m)
		}
		event, _, data := w.last(id)
		if !strings.Contains(data, `"notice": "`+kind+`"`) || strings.Contains(data, "@") {
			t.Errorf("%s: event %s %s", what, event, data)
		}
	}
	_, err := w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{
		UserId: id, Email: "second@example.com", IsEmailVerified: true})
	expect("an administrator changes the address", "emailchanged", "mini@example.com", false, err)
	_, err = w.gateway.UpdateMyEmail(me, &usersv1.UpdateMyEmailRequest{Email: "third@example.com"})
	expect("the user changes it", "emailchanged", "second@example.com", true, err)
	_, err = w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{
		UserId: id, Email: "fourth@example.com", IsEmailVerified: true})
	expect("an address that was not verified", "emailchanged", "third@example.com", false, err)
	expect("an administrator sets a password", "passwordchanged", "fourth@example.com", false,
		w.setPassword(id, "correct horse", false))
	_, err = w.gateway.UpdateMyPassword(me, &usersv1.UpdateMyPasswordRequest{OldPassword: "correct horse",
		NewPassword: "battery staple"})
	expect("the user replaces it", "passwordchanged", "fourth@example.com", true, err)
	w.request("passwordreset", id)
	_, err = w.completeKind("passwordreset", id, w.mail(id).Code, "correct horse")
	expect("the user resets it by mail", "passwordchanged", "fourth@example.com", true, err)
	w.setColumns(id, "email = 'third@example.com', email_verified = false")
	expect("the address is not verified", "passwordchanged", "third@example.com", false,
		w.setPassword(id, "battery staple", false))
	w.setColumns(id, "email = 'fourth@example.com', email_verified = true")

	before := w.rows("notices")
	w.updateEmail(id, "fourth@example.com", false) // the address stays
	waiting := w.initial("maxi")
	w.updateEmail(waiting, "mistyped@example.com", false)
	if _, err := w.complete(waiting, w.mail(waiting).Code, "correct horse"); err != nil {
		t.Error(err)
	}
	if n := w.rows("notices"); n != before {
		t.Errorf("%d notices of what is no change of an account in use", n-before)
	}
}

// The notice of a removed user is obsolete, and nothing of it is left.
func TestNoticeOfRemovedUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	w.updateEmail(id, "new@example.com", true)
	_, ids := w.asked(w.orgID, id)
	at := slices.IndexFunc(ids, func(id string) bool { return strings.HasSuffix(id, "-notice") })
	if at < 0 {
		t.Fatalf("no notice among %v", ids)
	}
	if _, err := w.gateway.RemoveUser(w.admin, &usersv1.RemoveUserRequest{UserId: id}); err != nil {
		t.Fatal(err)
	}
	_, err := w.notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{NotificationId: ids[at], UserId: id})
	refused(t, err, "NOTIFICATION_OBSOLETE")
	if n := w.rows("notices"); n != 0 {
		t.Errorf("%d notices are left", n)
	}
}
