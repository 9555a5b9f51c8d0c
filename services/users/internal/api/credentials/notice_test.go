package credentials_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// noticed returns the newest notice to a user and its kind, as the service notification gets them.
func noticed(w *testworld.World, userID string) (kind string, m *usersv1.PrepareMailResponse) {
	w.Helper()
	kinds, ids := w.Asked(w.OrgID, userID)
	for i, id := range ids {
		if !strings.HasSuffix(id, "-notice") {
			continue
		}
		m, err := w.Notify.PrepareMail(w.Context(), &usersv1.PrepareMailRequest{NotificationId: id, UserId: userID})
		if err != nil {
			w.Fatal(err)
		}
		return kinds[i], m
	}
	return "", nil
}

// expectNotice fails the test unless the newest notice to Mini Mouse, an imported user, is of that kind and has the
// recipient, the login name and the maker of want.
func expectNotice(w *testworld.World, userID, kind string, want *usersv1.PrepareMailResponse) {
	w.Helper()
	got, m := noticed(w, userID)
	if got != kind || m.ChangeDate == nil {
		w.Fatalf("a notice %s: %v, want %s", got, m, kind)
	}
	want.FirstName, want.LastName, want.DisplayName, want.PasswordSet = "Mini", "Mouse", "Mini Mouse", true
	want.OrgId, want.OrgName, want.CreationDate, want.ChangeDate = w.OrgID, "Herald", m.CreationDate, m.ChangeDate
	testkit.Equal(w, m, want)
}

// The former address gets a notice of a new address. The current address gets a notice of a new password. The notice
// shows who made the change, and has neither a code nor another address. Only a notice to a verified address has the
// login name.
func TestNotices(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	me := w.Fresh(id, "")
	expect := func(what, kind, recipient string, own bool, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		want := &usersv1.PrepareMailResponse{Recipient: recipient, UserName: "mini", ChangedByReader: own}
		if recipient == "third@example.com" {
			want.UserName = recipient
		}
		expectNotice(w, id, kind, want)
		event := strings.Replace(kind, "changed", "_changed", 1)
		if _, data := w.Happened(id, event, `"notice": "`+kind+`"`); strings.Contains(data, "@") {
			t.Errorf("%s: event %s", what, data)
		}
	}
	_, err := w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{
		UserId: id, Email: "second@example.com", IsEmailVerified: true})
	expect("an administrator changes the address", "emailchanged", "mini@example.com", false, err)
	_, err = w.Gateway.UpdateMyEmail(me, &usersv1.UpdateMyEmailRequest{Email: "third@example.com"})
	w.Must(nil, err)
	_, err = w.Gateway.VerifyMyEmail(me, &usersv1.VerifyMyEmailRequest{Code: w.Mail(id).Code})
	w.Must(nil, err)
	expectNotice(w, id, "emailchanged", &usersv1.PrepareMailResponse{
		Recipient: "second@example.com", UserName: "mini", ChangedByReader: true,
	})
	w.Happened(id, "email_verified", `"notice": "emailchanged"`)
	w.SetColumns(id, "email_verified = false")
	_, err = w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{
		UserId: id, Email: "fourth@example.com", IsEmailVerified: true})
	expect("an address that was not verified", "emailchanged", "third@example.com", false, err)
	expect("an administrator sets a password", "passwordchanged", "fourth@example.com", false,
		w.SetPassword(id, "correct horse", false))
	_, err = w.Gateway.UpdateMyPassword(me, &usersv1.UpdateMyPasswordRequest{OldPassword: "correct horse",
		NewPassword: "battery staple"})
	expect("the user replaces it", "passwordchanged", "fourth@example.com", true, err)
	w.Request("passwordreset", id)
	_, err = w.CompleteKind("passwordreset", id, w.Mail(id).Code, "correct horse")
	expect("the user resets it by mail", "passwordchanged", "fourth@example.com", true, err)
	w.SetColumns(id, "email = 'third@example.com', email_verified = false")
	expect("the address is not verified", "passwordchanged", "third@example.com", false,
		w.SetPassword(id, "battery staple", false))
	w.SetColumns(id, "email = 'fourth@example.com', email_verified = true")

	before := w.Rows("notices")
	w.UpdateEmail(id, "fourth@example.com", false) // the address stays
	waiting := w.Initial("maxi")
	w.UpdateEmail(waiting, "mistyped@example.com", false)
	w.Must(w.Complete(waiting, w.Mail(waiting).Code, "correct horse"))
	if n := w.Rows("notices"); n != before {
		t.Errorf("%d notices of what is no change of an account in use", n-before)
	}
}

// A person gets a notice of an authenticator app that logins ask for, of its removal, and of each recovery code that is
// used.
func TestNoticesOfFactors(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	events := map[string]string{"otpadded": "verified", "recoverycodeused": "accepted", "otpremoved": "removed"}
	expect := func(what, kind string, own bool, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		expectNotice(o.World, o.UserID, kind, &usersv1.PrepareMailResponse{
			Recipient: "mini@example.com", UserName: "mini", ChangedByReader: own,
		})
		o.Happened(o.UserID, events[kind], `"notice": "`+kind+`"`)
	}
	if kind, _ := noticed(o.World, o.UserID); kind != "" {
		t.Errorf("an app that no login asks for: a notice %s", kind)
	}
	verified, err := o.Verify(testworld.Shown(t, o.Key, o.Ground.Now()))
	expect("the user verifies the app", "otpadded", true, err)
	o.Must(nil, o.SetPassword(o.UserID, "correct horse", false))
	in, err := o.Check("mini", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	factor := func(code string) error {
		_, err := o.Auth.CheckFactor(t.Context(), &usersv1.CheckFactorRequest{
			UserId: in.UserId, Generation: in.Generation, Code: code,
		})
		return err
	}
	o.Advance(30 * time.Second)
	before := o.Rows("notices")
	if err := factor(testworld.Shown(t, o.Key, o.Ground.Now())); err != nil || o.Rows("notices") != before {
		t.Errorf("a login with the app: %d notices after %d, %v", o.Rows("notices"), before, err)
	}
	expect("a login with a recovery code", "recoverycodeused", true, factor(verified.RecoveryCodes[3]))
	before = o.Rows("notices")
	if err := factor(verified.RecoveryCodes[3]); err == nil || o.Rows("notices") != before {
		t.Errorf("the code again: %d notices after %d, %v", o.Rows("notices"), before, err)
	}
	_, err = o.Gateway.RemoveOtp(o.Admin, &usersv1.RemoveOtpRequest{UserId: o.UserID})
	expect("an administrator removes the app", "otpremoved", false, err)
	before = o.Rows("notices")
	o.Me = o.Caller(o.Admin, o.UserID, "")
	for range 2 {
		o.Must(o.Add(false))
		o.Must(o.Gateway.RemoveMyOtp(o.Fresh(), &usersv1.RemoveMyOtpRequest{}))
	}
	if n := o.Rows("notices"); n != before {
		t.Errorf("%d notices of an app that no login asked for", n-before)
	}
	added, err := o.Add(false)
	if err != nil {
		t.Fatal(err)
	}
	o.Key = added.Secret
	o.Advance(30 * time.Second)
	o.Must(o.Verify(testworld.Shown(t, o.Key, o.Ground.Now())))
	_, err = o.Gateway.RemoveMyOtp(o.Fresh(), &usersv1.RemoveMyOtpRequest{})
	expect("the user removes the app", "otpremoved", true, err)
}

// A person gets a notice of a new personal access token, whoever made it, at an address that was verified.
func TestNoticesOfTokens(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	expect := func(what string, own bool, made *usersv1.AddPersonalAccessTokenResponse, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		expectNotice(w, id, "patadded", &usersv1.PrepareMailResponse{
			Recipient: "mini@example.com", UserName: "mini", ChangedByReader: own,
		})
		w.Happened(made.TokenId, "added", `"notice": "patadded"`)
	}
	made, err := w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
	expect("an administrator makes a token", false, made, err)
	made, err = w.Gateway.AddMyPersonalAccessToken(w.Fresh(id, ""), &usersv1.AddMyPersonalAccessTokenRequest{})
	expect("the user makes one", true, made, err)
	before := w.Rows("notices")
	w.SetColumns(id, "email_verified = false")
	w.Must(w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id}))
	robot := w.Machine(w.Admin, "robot")
	w.Must(w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{UserId: robot}))
	if n := w.Rows("notices"); n != before {
		t.Errorf("%d notices to an address that may be a stranger's, or to a machine", n-before)
	}
}

// The notice of a removed user is obsolete, and nothing of it is left.
func TestNoticeOfRemovedUser(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	w.UpdateEmail(id, "new@example.com", true)
	_, ids := w.Asked(w.OrgID, id)
	at := slices.IndexFunc(ids, func(id string) bool { return strings.HasSuffix(id, "-notice") })
	if at < 0 {
		t.Fatalf("no notice among %v", ids)
	}
	w.Must(w.Gateway.RemoveUser(w.Admin, &usersv1.RemoveUserRequest{UserId: id}))
	_, err := w.Notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{NotificationId: ids[at], UserId: id})
	testkit.Refused(t, err, "NOTIFICATION_OBSOLETE")
	if n := w.Rows("notices"); n != 0 {
		t.Errorf("%d notices are left", n)
	}
}
