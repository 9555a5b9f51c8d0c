package users_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func (w *world) updateEmail(userID, address string, verified bool) *usersv1.UpdateEmailResponse {
	w.Helper()
	r, err := w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{
		UserId: userID, Email: address, IsEmailVerified: verified,
	})
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// unverified creates an active user whose e-mail address is not verified and returns the id.
func (w *world) unverified(name string) string {
	w.Helper()
	id := w.person(w.admin, name)
	w.updateEmail(id, name+"@example.com", false)
	return id
}

func (w *world) user(userID string) *usersv1.User {
	w.Helper()
	r, err := w.gateway.GetUser(w.admin, &usersv1.GetUserRequest{UserId: userID})
	if err != nil {
		w.Fatal(err)
	}
	return r.User
}

// last returns a user's newest event.
func (w *world) last(userID string) (id, name, data string) {
	w.Helper()
	if err := w.service.DB.QueryRow(w.Context(), `select id, name, data::text from events where aggregate_id = $1 `+
		`order by position desc limit 1`, userID).Scan(&id, &name, &data); err != nil {
		w.Fatal(err)
	}
	return id, name, data
}

func TestUpdateEmail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	changed := w.updateEmail(id, " new@example.com ", false)
	event, name, data := w.last(id)
	if changed.NotificationId != event || name != "email_changed" || strings.Contains(data, "example.com") ||
		!strings.Contains(data, `"verifyemail"`) || !strings.Contains(data, `"email.email"`) ||
		!strings.Contains(data, `"USER_STATE_ACTIVE"`) {
		t.Errorf("mail %s; event %s %s %s", changed.NotificationId, event, name, data)
	}
	u := w.user(id)
	if e := u.GetHuman().Email; e.Email != "new@example.com" || e.IsEmailVerified ||
		u.State != usersv1.UserState_USER_STATE_ACTIVE || u.Details.Sequence != changed.Details.Sequence {
		t.Errorf("user %v after %v", u, changed)
	}
	m := w.mail(id)
	if m.Recipient != "new@example.com" || m.VerifiedEmail != "" || !m.PasswordSet {
		t.Errorf("mail %v", m)
	}
	w.unwritten(func() {
		if again := w.updateEmail(id, "new@example.com", false); !proto.Equal(again.Details, changed.Details) ||
			again.NotificationId != "" {
			t.Errorf("the same again answered %v, before %v", again, changed)
		}
	})

	// Another address ends the code. A password in the request is ignored.
	w.updateEmail(id, "newer@example.com", false)
	_, err := w.completeKind("verifyemail", id, m.Code, "")
	refused(t, err, "CODE_WRONG")
	_, err = w.notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{
		NotificationId: changed.NotificationId, UserId: id,
	})
	refused(t, err, "NOTIFICATION_OBSOLETE")
	hash := w.hash(id)
	if login, err := w.completeKind("verifyemail", id, w.mail(id).Code, "1"); err != nil || login != "mini" {
		t.Fatalf("%q, %v", login, err)
	}
	if e := w.user(id).GetHuman().Email; e.Email != "newer@example.com" || !e.IsEmailVerified || w.hash(id) != hash {
		t.Errorf("after the code: %v", e)
	}
	if _, name, data := w.last(id); name != "email_verified" || !strings.Contains(data, `"email.isEmailVerified"`) {
		t.Errorf("event %s %s", name, data)
	}

	// If the administrator verifies the address, no mail is sent, and the older code is not valid.
	w.updateEmail(id, "newest@example.com", false)
	m = w.mail(id)
	if r := w.updateEmail(id, "newest@example.com", true); r.NotificationId != "" ||
		w.rows("codes where user_id = $1", id) != 0 {
		t.Errorf("verified with mail %q", r.NotificationId)
	}
	_, err = w.completeKind("verifyemail", id, m.Code, "")
	refused(t, err, "CODE_WRONG")
}

// A change of the address ends the code of a password reset, which was mailed to the old address.
func TestUpdateEmailEndsPasswordReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		address  string
		verified bool
	}{"moved": {"other@example.com", true}, "moved-unverified": {"other@example.com", false},
		"doubted": {"mini@example.com", false}} {
		id := w.person(w.admin, name)
		w.request("passwordreset", id)
		code := w.mail(id).Code
		w.updateEmail(id, c.address, c.verified)
		w.unwritten(func() {
			_, err := w.completeKind("passwordreset", id, code, "correct horse")
			refused(t, err, "CODE_WRONG")
		})
	}
}

func TestUpdateEmailOfWaitingUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	newcomer := func(name, password string, verified bool) (string, string) {
		t.Helper()
		r := minimal(name)
		r.Password, r.Email.IsEmailVerified = password, verified
		got, err := w.gateway.ImportHumanUser(w.admin, r)
		if err != nil {
			t.Fatal(err)
		}
		return got.UserId, w.mail(got.UserId).Code
	}
	for name, c := range map[string]struct {
		password     string
		was          bool
		address      string
		verified     bool
		active, mail bool // afterwards
	}{
		"another address":                           {"", false, "new@example.com", false, false, true},
		"another, verified, without password":       {"", false, "new@example.com", true, false, true},
		"another, with password":                    {"correct horse", false, "new@example.com", false, false, true},
		"another, verified, with password":          {"correct horse", false, "new@example.com", true, true, false},
		"the same, verified, with password":         {"correct horse", false, "mini@example.com", true, true, false},
		"the same, verified, without password":      {"", false, "mini@example.com", true, false, false},
		"the same, verified no more, w/o password":  {"", true, "mini@example.com", false, false, false},
		"another, verified no more, w/out password": {"", true, "new@example.com", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			id, code := newcomer(name, c.password, c.was)
			r := w.updateEmail(id, c.address, c.verified)
			if active := w.state(id) == usersv1.UserState_USER_STATE_ACTIVE; active != c.active ||
				(r.NotificationId != "") != c.mail {
				t.Errorf("active %t, mail %q", active, r.NotificationId)
			}
			if e := w.user(id).GetHuman().Email; e.Email != c.address || e.IsEmailVerified != c.verified {
				t.Errorf("e-mail %v", e)
			}
			switch {
			case c.active:
				if _, _, data := w.last(id); !strings.Contains(data, `"state"`) ||
					w.rows("codes where user_id = $1", id) != 0 {
					t.Errorf("event %s", data)
				}
			case c.mail:
				m := w.mail(id)
				if m.Recipient != c.address {
					t.Errorf("the mail goes to %s", m.Recipient)
				}
				_, err := w.complete(id, code, "correct horse")
				refused(t, err, "CODE_WRONG")
				code = m.Code
			}
			_, err := w.complete(id, code, "correct horse")
			if c.active {
				refused(t, err, "CODE_WRONG")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// fresh returns the context of a user who has just logged in.
func (w *world) fresh(userID, orgID string) context.Context {
	w.Helper()
	c := w.caller(w.admin, userID, orgID)
	c.AuthenticatedAt = w.ground.Now()
	return w.as(c)
}

// A change of one's own address needs a login of the last ten minutes on either path. A token is
// not enough.
func TestOwnEmail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	w.addMember(w.admin, id, "ORG_OWNER")
	for _, fresh := range []bool{false, true} {
		mini := w.login(w.admin, id, "")
		if fresh {
			mini = w.fresh(id, "")
		}
		_, mine := w.gateway.UpdateMyEmail(mini, &usersv1.UpdateMyEmailRequest{Email: "new@example.com"})
		_, managed := w.gateway.UpdateEmail(mini, &usersv1.UpdateEmailRequest{UserId: id, Email: "new@example.com"})
		for _, err := range []error{mine, managed} {
			if fresh && err != nil {
				t.Error(err)
			} else if !fresh {
				refused(t, err, "FRESH_LOGIN_REQUIRED")
			}
		}
	}
}

// The permission to change users is enough for an address that is not verified, and stays so.
func TestManagersChangeUnverifiedEmails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manager, id, waiting := w.person(w.admin, "manager"), w.person(w.admin, "mini"), w.initial("waiting")
	w.addMember(w.admin, manager, "ORG_USER_MANAGER")
	as := w.login(w.admin, manager, "")
	change := func(address string, verified bool) error {
		_, err := w.gateway.UpdateEmail(as, &usersv1.UpdateEmailRequest{
			UserId: id, Email: address, IsEmailVerified: verified,
		})
		return err
	}
	resend := func(address string) error {
		_, err := w.gateway.ResendInitialization(as, &usersv1.ResendInitializationRequest{
			UserId: waiting, Email: address,
		})
		return err
	}
	w.updateEmail(id, "mini@example.com", true)
	w.updateEmail(waiting, "waiting@example.com", true)
	w.unwritten(func() {
		if err := change("mini@example.com", true); err != nil {
			t.Errorf("the same again: %v", err)
		}
		for _, err := range []error{
			change("mine@example.com", false), change("mine@example.com", true), change("mini@example.com", false),
			resend("mine@example.com"),
		} {
			refused(t, err, "PERMISSION_DENIED", "user.credential.write", w.orgID)
		}
	})
	w.updateEmail(id, "mini@example.com", false)
	w.updateEmail(waiting, "waiting@example.com", false)
	if err := change("new@example.com", false); err != nil {
		t.Error(err)
	}
	if err := resend("new@example.com"); err != nil {
		t.Error(err)
	}
	w.unwritten(func() {
		refused(t, change("new@example.com", true), "PERMISSION_DENIED", "user.credential.write", w.orgID)
	})
}

func TestUpdateEmailRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, machine, inactive := w.person(w.admin, "mini"), w.person(w.admin, "machine"), w.person(w.admin, "inactive")
	w.setColumns(machine, "type = 2")
	w.setColumns(inactive, "state = 2")
	mini, asMachine := w.fresh(id, ""), w.fresh(machine, "")
	w.unwritten(func() {
		for address, fault := range map[string]string{
			"": "EMAIL_INVALID", "mini": "EMAIL_INVALID", "Mini <mini@example.com>": "EMAIL_INVALID",
			"a@b.ch,c@d.ch": "EMAIL_INVALID", strings.Repeat("a", 250) + "@b.ch": "EMAIL_INVALID",
			"a@b.ch\r\nBcc: c@d.ch": "INVALID_ARGUMENT",
		} {
			_, err := w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{UserId: id, Email: address})
			refused(t, err, fault, "email:")
			_, err = w.gateway.UpdateMyEmail(mini, &usersv1.UpdateMyEmailRequest{Email: address})
			refused(t, err, fault, "email:")
			if address != "" {
				_, err = w.gateway.ResendInitialization(w.admin, &usersv1.ResendInitializationRequest{UserId: id,
					Email: address})
				refused(t, err, fault, "email:")
			}
		}
		_, err := w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{UserId: machine, Email: "new@example.com"})
		refused(t, err, "USER_NOT_HUMAN")
		_, err = w.gateway.UpdateMyEmail(asMachine, &usersv1.UpdateMyEmailRequest{Email: "new@example.com"})
		refused(t, err, "USER_NOT_HUMAN")
		_, err = w.gateway.ResendMyEmailVerification(asMachine, &usersv1.ResendMyEmailVerificationRequest{})
		refused(t, err, "USER_NOT_HUMAN")
		_, err = w.gateway.VerifyMyEmail(asMachine, &usersv1.VerifyMyEmailRequest{Code: "AAAAAAAA"})
		refused(t, err, "USER_NOT_HUMAN")
		_, err = w.gateway.UpdateEmail(mini, &usersv1.UpdateEmailRequest{
			UserId: id, Email: "new@example.com", IsEmailVerified: true,
		})
		refused(t, err, "PERMISSION_DENIED", "user.write")
	})
	if r := w.updateEmail(inactive, "new@example.com", false); r.NotificationId != "" {
		t.Error("a mail goes to a user who can do nothing with its code")
	}
}

func TestResendEmailVerification(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, verified, waiting, machine, inactive := w.unverified("mini"), w.person(w.admin, "verified"),
		w.initial("waiting"), w.unverified("machine"), w.unverified("inactive")
	w.setColumns(machine, "type = 2")
	w.setColumns(inactive, "state = 2")
	old := w.mail(id).Code
	r, err := w.gateway.ResendEmailVerification(w.admin, &usersv1.ResendEmailVerificationRequest{UserId: id})
	if err != nil {
		t.Fatal(err)
	}
	if event, name, data := w.last(id); r.NotificationId != event || name != "email_verification_requested" ||
		!strings.Contains(data, `"verifyemail"`) ||
		r.Details.Sequence != w.user(id).Details.Sequence {
		t.Errorf("%v; event %s %s %s", r, event, name, data)
	}
	_, err = w.completeKind("verifyemail", id, old, "")
	refused(t, err, "CODE_WRONG")
	if _, err := w.completeKind("verifyemail", id, w.mail(id).Code, ""); err != nil {
		t.Error(err)
	}
	w.unwritten(func() {
		for userID, fault := range map[string]string{verified: "EMAIL_ALREADY_VERIFIED", id: "EMAIL_ALREADY_VERIFIED",
			machine: "USER_NOT_HUMAN", inactive: "USER_NOT_ACTIVE"} {
			_, err := w.gateway.ResendEmailVerification(w.admin,
				&usersv1.ResendEmailVerificationRequest{UserId: userID})
			refused(t, err, fault)
		}
		_, err := w.gateway.ResendEmailVerification(w.admin, &usersv1.ResendEmailVerificationRequest{UserId: waiting})
		refused(t, err, "USER_NOT_INITIALIZED", "_resend_initialization")
		_, err = w.gateway.ResendMyEmailVerification(w.admin, &usersv1.ResendMyEmailVerificationRequest{})
		refused(t, err, "EMAIL_ALREADY_VERIFIED")
	})
}

// Hostile case 4: a caller cannot set the own new address as verified.
func TestMyEmail(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := startWorld(t, g)
	id := w.person(w.admin, "mini")
	orgA, inA := w.org("A")
	w.addMember(inA, id, "ORG_OWNER_VIEWER")
	c := w.caller(w.admin, id, orgA) // the organization acted on does not matter
	c.AuthenticatedAt = w.ground.Now()
	mini := w.as(c)
	verify := func(code string) error {
		_, err := w.gateway.VerifyMyEmail(mini, &usersv1.VerifyMyEmailRequest{Code: code})
		return err
	}
	w.unwritten(func() {
		refused(t, verify("AAAAAAAA"), "EMAIL_ALREADY_VERIFIED")
		r, err := w.gateway.UpdateMyEmail(mini, &usersv1.UpdateMyEmailRequest{Email: "mini@example.com"})
		if err != nil || r.NotificationId != "" || r.Details.Sequence != w.user(id).Details.Sequence {
			t.Errorf("the same address: %v, %v", r, err)
		}
	})
	r, err := w.gateway.UpdateMyEmail(mini, &usersv1.UpdateMyEmailRequest{Email: "new@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if e := w.user(id).GetHuman().Email; e.Email != "new@example.com" || e.IsEmailVerified ||
		r.Details.ResourceOwner != w.orgID {
		t.Errorf("e-mail %v; %v", e, r)
	}
	if event, name, _ := w.last(id); event != r.NotificationId || name != "email_changed" {
		t.Errorf("event %s %s; %v", event, name, r)
	}
	first := w.mail(id)
	if first.Recipient != "new@example.com" {
		t.Errorf("the mail goes to %s", first.Recipient)
	}
	again, err := w.gateway.ResendMyEmailVerification(mini, &usersv1.ResendMyEmailVerificationRequest{})
	if event, name, _ := w.last(id); err != nil || event != again.NotificationId ||
		name != "email_verification_requested" {
		t.Errorf("event %s %s; %v, %v", event, name, again, err)
	}
	second := w.mail(id)
	w.unwritten(func() {
		for _, wrong := range []string{
			first.Code, "", "AAAAAAAA", second.Code + "A", strings.Repeat("A", 10000), "\x00",
		} {
			refused(t, verify(wrong), "CODE_WRONG")
		}
		ahead.Store(int64(72*time.Hour + time.Minute))
		w.signIn()
		mini = w.as(c)
		refused(t, verify(second.Code), "CODE_EXPIRED")
	})
	if _, err := w.gateway.ResendMyEmailVerification(mini, &usersv1.ResendMyEmailVerificationRequest{}); err != nil {
		t.Fatal(err)
	}
	code := w.mail(id).Code
	done, err := w.gateway.VerifyMyEmail(mini,
		&usersv1.VerifyMyEmailRequest{Code: strings.ToLower(code[:4]) + " - " + code[4:]})
	if u := w.user(id); err != nil || !u.GetHuman().Email.IsEmailVerified ||
		u.Details.Sequence != done.Details.Sequence {
		t.Errorf("%v, %v; user %v", done, err, u)
	}
	if n := w.rows("events where name = 'email_verified' and actor = $1", id); n != 1 {
		t.Errorf("%d events", n)
	}
	refused(t, verify(code), "EMAIL_ALREADY_VERIFIED")
}

// Of fifty guesses at once, half of them through the mail's page, ten are compared. Then even the
// right code is refused.
func TestVerifyMyEmailGuessesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.unverified("mini")
	mini := w.login(w.admin, id, "")
	right := w.mail(id).Code
	w.unwritten(func() {
		if evaluated := guesses(func(i int) error {
			if i%2 == 0 {
				_, err := w.completeKind("verifyemail", id, "AAAAAAAA", "")
				return err
			}
			_, err := w.gateway.VerifyMyEmail(mini, &usersv1.VerifyMyEmailRequest{Code: "AAAAAAAA"})
			return err
		}); evaluated != 10 {
			t.Errorf("%d of 50 guesses were looked at, want 10", evaluated)
		}
		_, err := w.gateway.VerifyMyEmail(mini, &usersv1.VerifyMyEmailRequest{Code: right})
		refused(t, err, "CODE_LOCKED")
	})
	if _, err := w.gateway.ResendMyEmailVerification(mini, &usersv1.ResendMyEmailVerificationRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.gateway.VerifyMyEmail(mini, &usersv1.VerifyMyEmailRequest{Code: w.mail(id).Code}); err != nil {
		t.Errorf("the new mail's code: %v", err)
	}
}

// guesses makes fifty guesses at once and returns how many were compared.
func guesses(guess func(i int) error) int64 {
	var wait sync.WaitGroup
	var evaluated atomic.Int64
	for i := range 50 {
		wait.Go(func() {
			if err := guess(i); err == nil || !strings.Contains(err.Error(), "CODE_LOCKED") {
				evaluated.Add(1)
			}
		})
	}
	wait.Wait()
	return evaluated.Load()
}

// The code that was mailed to the old address does not verify the new one, in whatever order the
// two calls come.
func TestUpdateEmailAgainstItsCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for round := range 30 {
		id := w.unverified(fmt.Sprint("mini-", round))
		code, next := w.mail(id).Code, fmt.Sprintf("new-%d@example.com", round)
		var wait sync.WaitGroup
		start := make(chan struct{})
		wait.Go(func() {
			<-start
			if _, err := w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{UserId: id,
				Email: next}); err != nil {
				t.Error(err)
			}
		})
		for range 3 {
			wait.Go(func() {
				<-start
				if _, err := w.completeKind("verifyemail", id, code, ""); err != nil {
					refused(t, err, "CODE_WRONG")
				}
			})
		}
		close(start)
		wait.Wait()
		if e := w.user(id).GetHuman().Email; e.Email != next || e.IsEmailVerified {
			t.Fatalf("round %d: %v", round, e)
		}
		if n := w.rows("events where aggregate_id = $1 and name = 'email_verified'", id); n > 1 {
			t.Fatalf("round %d: the code was used %d times", round, n)
		}
	}
}
