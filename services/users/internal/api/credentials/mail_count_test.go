package credentials_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func changeEmail(ctx context.Context, w *testworld.World, userID, address string, verified bool) error {
	_, err := w.Gateway.UpdateEmail(ctx, &usersv1.UpdateEmailRequest{
		UserId: userID, Email: address, IsEmailVerified: verified,
	})
	return err
}

func changeMyEmail(me context.Context, w *testworld.World, address string) error {
	_, err := w.Gateway.UpdateMyEmail(me, &usersv1.UpdateMyEmailRequest{Email: address})
	return err
}

// A logged-in person can have ten mails with a code sent within a day, whatever the address and the call. Requests of
// strangers are not refused.
func TestMailsToAPersonAreCounted(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, other := w.Person(w.Admin, "mini"), w.Person(w.Admin, "maxi")
	for i := range domain.CodesADay - 1 {
		if err := changeMyEmail(w.Fresh(id, ""), w, fmt.Sprintf("victim%d@example.com", i)); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	me := w.Fresh(id, "")
	w.Must(w.Gateway.ResendMyEmailVerification(me, &usersv1.ResendMyEmailVerificationRequest{}))
	w.Unwritten(func() {
		testkit.Refused(t, changeMyEmail(me, w, "victim@example.com"), "TOO_MANY_MAILS")
		_, err := w.Gateway.ResendMyEmailVerification(me, &usersv1.ResendMyEmailVerificationRequest{})
		testkit.Refused(t, err, "TOO_MANY_MAILS")
	})
	if err := changeMyEmail(w.Fresh(other, ""), w, "victim@example.com"); err != nil {
		t.Errorf("another person: %v", err)
	}
	w.Advance(domain.CodePause + time.Second)
	code := w.Mail(id).Code
	w.Request("verifyemail", id)
	if w.Mail(id).Code == code {
		t.Error("a stranger's request is refused")
	}
	w.Advance(24 * time.Hour)
	w.SignIn()
	if err := changeMyEmail(w.Fresh(id, ""), w, "new@example.com"); err != nil {
		t.Errorf("a day later: %v", err)
	}
}

// Mails of a manager are neither refused nor counted, however many mails the person, or a hijacker of the account, has
// had sent.
func TestMailsOfManagersAreNotCounted(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	recovered := func() {
		t.Helper()
		for _, verified := range []bool{false, true} {
			if err := changeEmail(w.Admin, w, id, "mini@example.com", verified); err != nil {
				t.Errorf("the address, verified %v: %v", verified, err)
			}
			if verified {
				continue
			}
			if _, err := w.Gateway.ResendEmailVerification(w.Admin, &usersv1.ResendEmailVerificationRequest{
				UserId: id}); err != nil {
				t.Errorf("the mail again: %v", err)
			}
			if err := w.SetPassword(id, "correct horse", false); err != nil {
				t.Errorf("the password: %v", err)
			}
		}
		if _, err := w.Gateway.RequestPasswordReset(w.Admin,
			&usersv1.RequestPasswordResetRequest{UserId: id}); err != nil {
			t.Errorf("a mail for another password: %v", err)
		}
	}
	for range domain.CodesADay + 1 {
		recovered()
	}
	for i := range domain.CodesADay {
		if err := changeMyEmail(w.Fresh(id, ""), w, fmt.Sprintf("victim%d@example.com", i)); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	testkit.Refused(t, changeMyEmail(w.Fresh(id, ""), w, "victim@example.com"), "TOO_MANY_MAILS")
	recovered()
}

// An address gets ten mails with a code from an organization within a day, whomever they are for, in whatever case it
// is written, and also after the users are gone. Mails from another organization are counted apart, so that nobody can
// keep others from using an address.
func TestMailsToAnAddressAreCounted(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	written := []string{"victim@example.com", "Victim@Example.com"}
	for i := range domain.CodesADay {
		id := w.Person(w.Admin, fmt.Sprint("mini", i))
		if err := changeMyEmail(w.Fresh(id, ""), w, written[i%2]); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		w.Must(w.Gateway.RemoveUser(w.Admin, &usersv1.RemoveUserRequest{UserId: id}))
	}
	id, waiting := w.Person(w.Admin, "mini"), w.Initial("waiting")
	me := w.Fresh(id, "")
	w.Unwritten(func() { testkit.Refused(t, changeMyEmail(me, w, "victim@example.com"), "TOO_MANY_MAILS") })
	if err := changeEmail(w.Admin, w, id, "victim@example.com", false); err != nil {
		t.Errorf("by a manager: %v", err)
	}
	if _, err := w.Gateway.ResendInitialization(w.Admin, &usersv1.ResendInitializationRequest{
		UserId: waiting, Email: "victim@example.com"}); err != nil {
		t.Errorf("a first mail: %v", err)
	}
	_, elsewhere := w.Org("Acme")
	c := w.Caller(elsewhere, w.Person(elsewhere, "acme"), "")
	c.AuthenticatedAt = w.Ground.Now()
	if err := changeMyEmail(w.As(c), w, "victim@example.com"); err != nil {
		t.Errorf("in another organization: %v", err)
	}
}

// Of fifty changes at once ten send a mail.
func TestMailsAtOnceAreCounted(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	people := make([]context.Context, 50)
	for i := range people {
		people[i] = w.Fresh(w.Person(w.Admin, fmt.Sprint("mini", i)), "")
	}
	if sent := testkit.Race(t, len(people), func(i int) error {
		return changeMyEmail(people[i], w, "victim@example.com")
	}, "TOO_MANY_MAILS"); sent != domain.CodesADay {
		t.Errorf("%d of 50 changes sent a mail, want %d", sent, domain.CodesADay)
	}
}

// The notices of changes are counted apart from codes, and by the person only: nobody can keep others from changing
// a password by mails to their address.
func TestNoticesAreCounted(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	unverified, other := w.Person(w.Admin, "mini"), w.Person(w.Admin, "maxi")
	for _, id := range []string{unverified, other} { // they have the same address
		w.SetColumns(id, "email_verified = false")
		w.Must(nil, w.SetPassword(id, "correct horse", false))
	}
	password := func(me context.Context) error {
		_, err := w.Gateway.UpdateMyPassword(me, &usersv1.UpdateMyPasswordRequest{
			OldPassword: "correct horse", NewPassword: "correct horse"})
		return err
	}
	for i := range domain.CodesADay {
		if err := password(w.Fresh(unverified, "")); err != nil {
			t.Fatalf("password %d: %v", i, err)
		}
	}
	me := w.Fresh(unverified, "")
	w.Unwritten(func() {
		testkit.Refused(t, password(me), "TOO_MANY_MAILS")
		testkit.Refused(t, changeMyEmail(me, w, "new@example.com"), "TOO_MANY_MAILS")
	})
	if err := w.SetPassword(unverified, "correct horse", false); err != nil {
		t.Errorf("by a manager: %v", err)
	}
	if err := password(w.Fresh(other, "")); err != nil {
		t.Errorf("another person: %v", err)
	}
	w.SetColumns(unverified, "email_verified = true")
	if err := password(w.Fresh(unverified, "")); err != nil {
		t.Errorf("of a verified address: %v", err)
	}
	if _, err := w.Gateway.RequestPasswordReset(w.Admin,
		&usersv1.RequestPasswordResetRequest{UserId: unverified}); err != nil {
		t.Errorf("a code: %v", err)
	}
	if _, err := w.CompleteKind("passwordreset", unverified, w.Mail(unverified).Code, "battery staple"); err != nil {
		t.Errorf("a new password by mail: %v", err)
	}
	w.AddMember(w.Admin, other, "ORG_OWNER") // an owner may set the own address as verified, without a code
	for i := range domain.CodesADay - 1 {
		address := fmt.Sprintf("victim%d@example.com", i%2)
		if err := changeEmail(w.Fresh(other, ""), w, other, address, true); err != nil {
			t.Fatalf("address %d: %v", i, err)
		}
	}
	testkit.Refused(t, changeEmail(w.Fresh(other, ""), w, other, "victim@example.com", true), "TOO_MANY_MAILS")
}

// Adding and removing an authenticator app again and again sends no more notices either.
func TestNoticesOfAppsAreCounted(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	o.SetColumns(o.UserID, "email_verified = false")
	for i := range domain.CodesADay {
		if _, err := o.Verify(testworld.Shown(t, o.Key, o.Ground.Now())); err != nil {
			t.Fatalf("app %d: %v", i, err)
		}
		o.Must(o.Gateway.RemoveMyOtp(o.Fresh(), &usersv1.RemoveMyOtpRequest{}))
		added, err := o.Add(false)
		if err != nil {
			t.Fatal(err)
		}
		o.Key = added.Secret
	}
	_, err := o.Verify(testworld.Shown(t, o.Key, o.Ground.Now()))
	testkit.Refused(t, err, "TOO_MANY_MAILS")
	o.Advance(24*time.Hour + time.Minute)
	if _, err := o.Verify(testworld.Shown(t, o.Key, o.Ground.Now())); err != nil {
		t.Errorf("a day later: %v", err)
	}
}
