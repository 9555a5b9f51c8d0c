package users_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/users/internal/domain"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func (w *world) changeEmail(ctx context.Context, userID, address string, verified bool) error {
	_, err := w.gateway.UpdateEmail(ctx, &usersv1.UpdateEmailRequest{
		UserId: userID, Email: address, IsEmailVerified: verified,
	})
	return err
}

func (w *world) changeMyEmail(me context.Context, address string) error {
	_, err := w.gateway.UpdateMyEmail(me, &usersv1.UpdateMyEmailRequest{Email: address})
	return err
}

// Who is logged in has ten mails with a code sent to a person within a day, whatever the address and the call. What
// sends no code is not refused, nor what strangers ask for.
func TestMailsToAPersonAreCounted(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := startWorld(t, g)
	id, other := w.person(w.admin, "mini"), w.person(w.admin, "maxi")
	for i := range domain.CodesADay - 1 {
		if err := w.changeMyEmail(w.fresh(id, ""), fmt.Sprintf("victim%d@example.com", i)); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	if _, err := w.gateway.ResendEmailVerification(w.admin, &usersv1.ResendEmailVerificationRequest{
		UserId: id}); err != nil {
		t.Fatal(err)
	}
	me := w.fresh(id, "")
	w.unwritten(func() {
		refused(t, w.changeMyEmail(me, "victim@example.com"), "TOO_MANY_MAILS")
		refused(t, w.changeEmail(w.admin, id, "victim@example.com", false), "TOO_MANY_MAILS")
		_, err := w.gateway.ResendEmailVerification(w.admin, &usersv1.ResendEmailVerificationRequest{UserId: id})
		refused(t, err, "TOO_MANY_MAILS")
		_, err = w.gateway.ResendMyEmailVerification(me, &usersv1.ResendMyEmailVerificationRequest{})
		refused(t, err, "TOO_MANY_MAILS")
	})
	if err := w.changeMyEmail(w.fresh(other, ""), "victim@example.com"); err != nil {
		t.Errorf("another person: %v", err)
	}
	ahead.Add(int64(domain.CodePause + time.Second))
	code := w.mail(id).Code
	w.request("verifyemail", id)
	if w.mail(id).Code == code {
		t.Error("a stranger's request is refused")
	}
	if err := w.changeEmail(w.admin, id, "mini@example.com", true); err != nil {
		t.Errorf("a verified address: %v", err)
	}
	ahead.Add(int64(24 * time.Hour))
	w.signIn()
	if err := w.changeMyEmail(w.fresh(id, ""), "new@example.com"); err != nil {
		t.Errorf("a day later: %v", err)
	}
}

// An address gets ten mails with a code from an organization within a day, whomever they are for, in whatever case it
// is written, and also after the users are gone. Mails from another organization are counted apart, so that nobody can
// keep others from using an address.
func TestMailsToAnAddressAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	written := []string{"victim@example.com", "Victim@Example.com"}
	for i := range domain.CodesADay {
		id := w.person(w.admin, fmt.Sprint("mini", i))
		if err := w.changeEmail(w.admin, id, written[i%2], false); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		if _, err := w.gateway.RemoveUser(w.admin, &usersv1.RemoveUserRequest{UserId: id}); err != nil {
			t.Fatal(err)
		}
	}
	id, waiting := w.person(w.admin, "mini"), w.initial("waiting")
	w.unwritten(func() {
		refused(t, w.changeEmail(w.admin, id, "victim@example.com", false), "TOO_MANY_MAILS")
		_, err := w.gateway.ResendInitialization(w.admin, &usersv1.ResendInitializationRequest{
			UserId: waiting, Email: "victim@example.com"})
		refused(t, err, "TOO_MANY_MAILS")
	})
	_, elsewhere := w.org("Acme")
	if err := w.changeEmail(elsewhere, w.person(elsewhere, "acme"), "victim@example.com", false); err != nil {
		t.Errorf("in another organization: %v", err)
	}
}

// Of fifty changes at once ten send a mail.
func TestMailsAtOnceAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := make([]string, 50)
	for i := range ids {
		ids[i] = w.person(w.admin, fmt.Sprint("mini", i))
	}
	var wait sync.WaitGroup
	var sent atomic.Int64
	for _, id := range ids {
		wait.Go(func() {
			if err := w.changeEmail(w.admin, id, "victim@example.com", false); err == nil {
				sent.Add(1)
			} else {
				refused(t, err, "TOO_MANY_MAILS")
			}
		})
	}
	wait.Wait()
	if sent.Load() != domain.CodesADay {
		t.Errorf("%d of 50 changes sent a mail, want %d", sent.Load(), domain.CodesADay)
	}
}

// The notices of changes are counted apart from codes, and by the person only: nobody can keep others from changing
// a password by mails to their address.
func TestNoticesAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unverified, other := w.person(w.admin, "mini"), w.person(w.admin, "maxi")
	for _, id := range []string{unverified, other} { // they have the same address
		w.setColumns(id, "email_verified = false")
	}
	password := func(id string) error { return w.setPassword(id, "correct horse", false) }
	for i := range domain.CodesADay {
		if err := password(unverified); err != nil {
			t.Fatalf("password %d: %v", i, err)
		}
	}
	w.unwritten(func() {
		refused(t, password(unverified), "TOO_MANY_MAILS")
		refused(t, w.changeEmail(w.admin, unverified, "new@example.com", true), "TOO_MANY_MAILS")
	})
	if err := password(other); err != nil {
		t.Errorf("another person: %v", err)
	}
	w.setColumns(unverified, "email_verified = true")
	if err := password(unverified); err != nil {
		t.Errorf("of a verified address: %v", err)
	}
	if _, err := w.gateway.RequestPasswordReset(w.admin,
		&usersv1.RequestPasswordResetRequest{UserId: unverified}); err != nil {
		t.Errorf("a code: %v", err)
	}
	if _, err := w.completeKind("passwordreset", unverified, w.mail(unverified).Code, "battery staple"); err != nil {
		t.Errorf("a new password by mail: %v", err)
	}
	for i := range domain.CodesADay {
		if err := w.changeEmail(w.admin, other, fmt.Sprintf("victim%d@example.com", i%2), true); err != nil && i < 9 {
			t.Fatalf("address %d: %v", i, err)
		}
	}
	refused(t, w.changeEmail(w.admin, other, "victim@example.com", true), "TOO_MANY_MAILS")
}

// Adding and removing an authenticator app again and again sends no more notices either.
func TestNoticesOfAppsAreCounted(t *testing.T) {
	t.Parallel()
	o := newOTP(t)
	o.setColumns(o.userID, "email_verified = false")
	for i := range domain.CodesADay {
		if _, err := o.verify(shown(t, o.key, o.ground.Now())); err != nil {
			t.Fatalf("app %d: %v", i, err)
		}
		if _, err := o.gateway.RemoveMyOtp(o.fresh(), &usersv1.RemoveMyOtpRequest{}); err != nil {
			t.Fatal(err)
		}
		added, err := o.add(false)
		if err != nil {
			t.Fatal(err)
		}
		o.key = added.Secret
	}
	_, err := o.verify(shown(t, o.key, o.ground.Now()))
	refused(t, err, "TOO_MANY_MAILS")
	o.ahead.Add(int64(24*time.Hour + time.Minute))
	if _, err := o.verify(shown(t, o.key, o.ground.Now())); err != nil {
		t.Errorf("a day later: %v", err)
	}
}
