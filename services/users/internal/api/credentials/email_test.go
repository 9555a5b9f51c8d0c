package credentials_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestUpdateEmail(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	changed := w.UpdateEmail(id, " new@example.com ", false)
	event, data := w.Happened(id, "email_changed", `"verifyemail"`, `"email.email"`, `"USER_STATE_ACTIVE"`)
	if changed.NotificationId != event || strings.Contains(data, "example.com") {
		t.Errorf("mail %s; event %s %s", changed.NotificationId, event, data)
	}
	want := w.User(id)
	want.Details.Sequence, want.State = changed.Details.Sequence, usersv1.UserState_USER_STATE_ACTIVE
	want.GetHuman().Email = &usersv1.Email{Email: "new@example.com"}
	testkit.Equal(t, w.User(id), want)
	m := w.Mail(id)
	if m.Recipient != "new@example.com" || m.VerifiedEmail != "" || !m.PasswordSet {
		t.Errorf("mail %v", m)
	}
	w.Unwritten(func() {
		if again := w.UpdateEmail(id, "new@example.com", false); !proto.Equal(again.Details, changed.Details) ||
			again.NotificationId != "" {
			t.Errorf("the same again answered %v, before %v", again, changed)
		}
	})

	// Another address ends the code. A password in the request is ignored.
	w.UpdateEmail(id, "newer@example.com", false)
	_, err := w.CompleteKind("verifyemail", id, m.Code, "")
	testkit.Refused(t, err, "CODE_WRONG")
	_, err = w.Notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{
		NotificationId: changed.NotificationId, UserId: id,
	})
	testkit.Refused(t, err, "NOTIFICATION_OBSOLETE")
	hash := w.Hash(id)
	if login, err := w.CompleteKind("verifyemail", id, w.Mail(id).Code, "1"); err != nil || login != "mini" {
		t.Fatalf("%q, %v", login, err)
	}
	if e := w.User(id).GetHuman().Email; e.Email != "newer@example.com" || !e.IsEmailVerified || w.Hash(id) != hash {
		t.Errorf("after the code: %v", e)
	}
	w.Happened(id, "email_verified", `"email.isEmailVerified"`)
}

// If the administrator verifies the address, no mail is sent, and the older code is not valid.
func TestAddressThatAnAdministratorVerifiesGetsNoMail(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Unverified("mini")
	m := w.Mail(id)
	if r := w.UpdateEmail(id, "mini@example.com", true); r.NotificationId != "" ||
		w.Rows("codes where user_id = $1", id) != 0 {
		t.Errorf("verified with mail %q", r.NotificationId)
	}
	_, err := w.CompleteKind("verifyemail", id, m.Code, "")
	testkit.Refused(t, err, "CODE_WRONG")
}

// A change of the address ends the code of a password reset, which was mailed to the old address.
func TestUpdateEmailEndsPasswordReset(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	for name, c := range map[string]struct {
		address  string
		verified bool
	}{"moved": {"other@example.com", true}, "moved-unverified": {"other@example.com", false},
		"doubted": {"mini@example.com", false}} {
		t.Run(name, func(t *testing.T) {
			id := w.Person(w.Admin, name)
			w.Request("passwordreset", id)
			code := w.Mail(id).Code
			w.UpdateEmail(id, c.address, c.verified)
			w.Unwritten(func() {
				_, err := w.CompleteKind("passwordreset", id, code, "correct horse")
				testkit.Refused(t, err, "CODE_WRONG")
			})
		})
	}
}

func TestUpdateEmailOfWaitingUser(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	newcomer := func(name, password string, verified bool) (string, string) {
		t.Helper()
		r := testworld.Minimal(name)
		r.Password, r.Email.IsEmailVerified = password, verified
		got := w.Import(w.Admin, r)
		return got.UserId, w.Mail(got.UserId).Code
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
			r := w.UpdateEmail(id, c.address, c.verified)
			if active := w.State(id) == usersv1.UserState_USER_STATE_ACTIVE; active != c.active ||
				(r.NotificationId != "") != c.mail {
				t.Errorf("active %t, mail %q", active, r.NotificationId)
			}
			if e := w.User(id).GetHuman().Email; e.Email != c.address || e.IsEmailVerified != c.verified {
				t.Errorf("e-mail %v", e)
			}
			switch {
			case c.active:
				w.Happened(id, "email_changed", `"state"`)
				if n := w.Rows("codes where user_id = $1", id); n != 0 {
					t.Errorf("%d codes", n)
				}
			case c.mail:
				m := w.Mail(id)
				if m.Recipient != c.address {
					t.Errorf("the mail goes to %s", m.Recipient)
				}
				_, err := w.Complete(id, code, "correct horse")
				testkit.Refused(t, err, "CODE_WRONG")
				code = m.Code
			}
			_, err := w.Complete(id, code, "correct horse")
			if c.active {
				testkit.Refused(t, err, "CODE_WRONG")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// A change of one's own address needs a login of the last ten minutes on either path. A token is
// not enough.
func TestOwnEmail(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	w.AddMember(w.Admin, id, "ORG_OWNER")
	for _, fresh := range []bool{false, true} {
		mini := w.Login(w.Admin, id, "")
		if fresh {
			mini = w.Fresh(id, "")
		}
		_, mine := w.Gateway.UpdateMyEmail(mini, &usersv1.UpdateMyEmailRequest{Email: "new@example.com"})
		_, managed := w.Gateway.UpdateEmail(mini, &usersv1.UpdateEmailRequest{UserId: id, Email: "new@example.com"})
		for _, err := range []error{mine, managed} {
			if fresh && err != nil {
				t.Error(err)
			} else if !fresh {
				testkit.Refused(t, err, "FRESH_LOGIN_REQUIRED")
			}
		}
	}
}

// The permission to change users is enough for the address of a user who waits for the first mail, if it is not set as
// verified. Of an active user it changes none, because its reader could verify it and then reset the password.
func TestManagersChangeEmailsOfWaitingUsers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	manager, id, waiting := w.Person(w.Admin, "manager"), w.Person(w.Admin, "mini"), w.Initial("waiting")
	w.AddMember(w.Admin, manager, "ORG_USER_MANAGER")
	as := w.Login(w.Admin, manager, "")
	change := func(address string, verified bool) error {
		_, err := w.Gateway.UpdateEmail(as, &usersv1.UpdateEmailRequest{
			UserId: id, Email: address, IsEmailVerified: verified,
		})
		return err
	}
	resend := func(address string) error {
		_, err := w.Gateway.ResendInitialization(as, &usersv1.ResendInitializationRequest{
			UserId: waiting, Email: address,
		})
		return err
	}
	w.UpdateEmail(id, "mini@example.com", true)
	w.Unwritten(func() {
		if err := change("mini@example.com", true); err != nil {
			t.Errorf("the same again: %v", err)
		}
		for _, err := range []error{
			change("mine@example.com", false), change("mine@example.com", true), change("mini@example.com", false),
		} {
			testkit.Refused(t, err, "PERMISSION_DENIED", "user.credential.write", w.OrgID)
		}
	})
	w.UpdateEmail(id, "mini@example.com", false)
	w.Unwritten(func() {
		for _, err := range []error{change("mine@example.com", false), change("mini@example.com", true)} {
			testkit.Refused(t, err, "PERMISSION_DENIED", "user.credential.write", w.OrgID)
		}
	})
	if err := resend("new@example.com"); err != nil {
		t.Error(err)
	}
	id = waiting
	w.Unwritten(func() {
		testkit.Refused(t, change("new@example.com", true), "PERMISSION_DENIED", "user.credential.write", w.OrgID)
	})
	w.Must(nil, change("newer@example.com", false))
	w.UpdateEmail(waiting, "waiting@example.com", true)
	w.Must(nil, change("newest@example.com", false))
}

func TestUpdateEmailRefuses(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, machine, inactive := w.Person(w.Admin, "mini"), w.Person(w.Admin, "machine"), w.Person(w.Admin, "inactive")
	w.SetColumns(machine, "type = 2")
	w.SetColumns(inactive, "state = 2")
	mini, asMachine := w.Fresh(id, ""), w.Fresh(machine, "")
	w.Unwritten(func() {
		for address, fault := range map[string]string{
			"": "EMAIL_INVALID", "mini": "EMAIL_INVALID", "Mini <mini@example.com>": "EMAIL_INVALID",
			"a@b.ch,c@d.ch": "EMAIL_INVALID", strings.Repeat("a", 250) + "@b.ch": "EMAIL_INVALID",
			"a@b.ch\r\nBcc: c@d.ch": "INVALID_ARGUMENT",
		} {
			_, err := w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{UserId: id, Email: address})
			testkit.Refused(t, err, fault, "email:")
			_, err = w.Gateway.UpdateMyEmail(mini, &usersv1.UpdateMyEmailRequest{Email: address})
			testkit.Refused(t, err, fault, "email:")
			if address != "" {
				_, err = w.Gateway.ResendInitialization(w.Admin, &usersv1.ResendInitializationRequest{UserId: id,
					Email: address})
				testkit.Refused(t, err, fault, "email:")
			}
		}
		_, err := w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{UserId: machine, Email: "new@example.com"})
		testkit.Refused(t, err, "USER_NOT_HUMAN")
		_, err = w.Gateway.UpdateMyEmail(asMachine, &usersv1.UpdateMyEmailRequest{Email: "new@example.com"})
		testkit.Refused(t, err, "USER_NOT_HUMAN")
		_, err = w.Gateway.ResendMyEmailVerification(asMachine, &usersv1.ResendMyEmailVerificationRequest{})
		testkit.Refused(t, err, "USER_NOT_HUMAN")
		_, err = w.Gateway.VerifyMyEmail(asMachine, &usersv1.VerifyMyEmailRequest{Code: "AAAAAAAA"})
		testkit.Refused(t, err, "USER_NOT_HUMAN")
		_, err = w.Gateway.UpdateEmail(mini, &usersv1.UpdateEmailRequest{
			UserId: id, Email: "new@example.com", IsEmailVerified: true,
		})
		testkit.Refused(t, err, "PERMISSION_DENIED", "user.write")
	})
	if r := w.UpdateEmail(inactive, "new@example.com", false); r.NotificationId != "" {
		t.Error("a mail goes to a user who can do nothing with its code")
	}
}

func TestResendEmailVerification(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, verified, waiting, machine, inactive := w.Unverified("mini"), w.Person(w.Admin, "verified"),
		w.Initial("waiting"), w.Unverified("machine"), w.Unverified("inactive")
	w.SetColumns(machine, "type = 2")
	w.SetColumns(inactive, "state = 2")
	old := w.Mail(id).Code
	r, err := w.Gateway.ResendEmailVerification(w.Admin, &usersv1.ResendEmailVerificationRequest{UserId: id})
	if err != nil {
		t.Fatal(err)
	}
	event, _ := w.Happened(id, "email_verification_requested", `"verifyemail"`)
	if r.NotificationId != event || r.Details.Sequence != w.User(id).Details.Sequence {
		t.Errorf("%v; event %s", r, event)
	}
	_, err = w.CompleteKind("verifyemail", id, old, "")
	testkit.Refused(t, err, "CODE_WRONG")
	w.Must(w.CompleteKind("verifyemail", id, w.Mail(id).Code, ""))
	w.Unwritten(func() {
		for userID, fault := range map[string]string{verified: "EMAIL_ALREADY_VERIFIED", id: "EMAIL_ALREADY_VERIFIED",
			machine: "USER_NOT_HUMAN", inactive: "USER_NOT_ACTIVE"} {
			_, err := w.Gateway.ResendEmailVerification(w.Admin,
				&usersv1.ResendEmailVerificationRequest{UserId: userID})
			testkit.Refused(t, err, fault)
		}
		_, err := w.Gateway.ResendEmailVerification(w.Admin, &usersv1.ResendEmailVerificationRequest{UserId: waiting})
		testkit.Refused(t, err, "USER_NOT_INITIALIZED", "_resend_initialization")
		_, err = w.Gateway.ResendMyEmailVerification(w.Admin, &usersv1.ResendMyEmailVerificationRequest{})
		testkit.Refused(t, err, "EMAIL_ALREADY_VERIFIED")
	})
}

// Callers cannot set their own new address as verified.
func TestMyEmail(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	orgA, inA := w.Org("A")
	w.AddMember(inA, id, "ORG_OWNER_VIEWER")
	c := w.Caller(w.Admin, id, orgA) // the organization acted on does not matter
	c.AuthenticatedAt = w.Ground.Now()
	mini := w.As(c)
	verify := func(code string) error {
		_, err := w.Gateway.VerifyMyEmail(mini, &usersv1.VerifyMyEmailRequest{Code: code})
		return err
	}
	w.Unwritten(func() {
		testkit.Refused(t, verify("AAAAAAAA"), "EMAIL_ALREADY_VERIFIED")
		r, err := w.Gateway.UpdateMyEmail(mini, &usersv1.UpdateMyEmailRequest{Email: "mini@example.com"})
		if err != nil || r.NotificationId != "" || r.Details.Sequence != w.User(id).Details.Sequence {
			t.Errorf("the same address: %v, %v", r, err)
		}
	})
	r, err := w.Gateway.UpdateMyEmail(mini, &usersv1.UpdateMyEmailRequest{Email: "new@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if h := w.User(id).GetHuman(); h.Email.Email != "mini@example.com" || !h.Email.IsEmailVerified ||
		h.PendingEmail != "new@example.com" || r.Details.ResourceOwner != w.OrgID {
		t.Errorf("person %v; %v", h, r)
	}
	if event, _ := w.Happened(id, "email_changed"); event != r.NotificationId {
		t.Errorf("event %s; %v", event, r)
	}
	first := w.Mail(id)
	if first.Recipient != "new@example.com" {
		t.Errorf("the mail goes to %s", first.Recipient)
	}
	again, err := w.Gateway.ResendMyEmailVerification(mini, &usersv1.ResendMyEmailVerificationRequest{})
	if event, _ := w.Happened(id, "email_verification_requested"); err != nil || event != again.NotificationId {
		t.Errorf("event %s; %v, %v", event, again, err)
	}
	second := w.Mail(id)
	w.Unwritten(func() {
		for _, wrong := range []string{
			first.Code, "", "AAAAAAAA", second.Code + "A", strings.Repeat("A", 10000), "\x00",
		} {
			testkit.Refused(t, verify(wrong), "CODE_WRONG")
		}
		w.Advance(72*time.Hour + time.Minute)
		w.SignIn()
		mini = w.As(c)
		testkit.Refused(t, verify(second.Code), "CODE_EXPIRED")
	})
	w.Must(w.Gateway.ResendMyEmailVerification(mini, &usersv1.ResendMyEmailVerificationRequest{}))
	code := w.Mail(id).Code
	done, err := w.Gateway.VerifyMyEmail(mini,
		&usersv1.VerifyMyEmailRequest{Code: strings.ToLower(code[:4]) + " - " + code[4:]})
	if u := w.User(id); err != nil || !u.GetHuman().Email.IsEmailVerified || u.GetHuman().PendingEmail != "" ||
		u.GetHuman().Email.Email != "new@example.com" || u.Details.Sequence != done.Details.Sequence {
		t.Errorf("%v, %v; user %v", done, err, u)
	}
	if n := w.Rows("users where id = $1 and $1 = any (email_makers)", id); n != 1 {
		t.Error("the user has not chosen the address")
	}
	if n := w.Rows("events where name = 'email_verified' and actor = $1", id); n != 1 {
		t.Errorf("%d events", n)
	}
	testkit.Refused(t, verify(code), "EMAIL_ALREADY_VERIFIED")
}

// A pending address is forgotten when the user keeps the one that is there, or an administrator sets another. Its code
// is then worth nothing. Meanwhile a new password is mailed to the address that is there, and the page of the mail
// verifies the pending one too.
func TestPendingEmail(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	mini := w.Fresh(id, "")
	choose := func(address string) {
		t.Helper()
		w.Must(w.Gateway.UpdateMyEmail(mini, &usersv1.UpdateMyEmailRequest{Email: address}))
	}
	has := func(email, pending string) {
		t.Helper()
		if h := w.User(id).GetHuman(); h.Email.Email != email || !h.Email.IsEmailVerified || h.PendingEmail != pending {
			t.Errorf("the person has %v, want %s and %q", h, email, pending)
		}
	}
	complete := func(code string) error {
		_, err := w.CompleteKind("verifyemail", id, code, "")
		return err
	}
	choose("new@example.com")
	code := w.Mail(id).Code
	choose("mini@example.com")
	has("mini@example.com", "")
	testkit.Refused(t, complete(code), "CODE_WRONG")
	choose("new@example.com")
	code = w.Mail(id).Code
	w.UpdateEmail(id, "set@example.com", true)
	has("set@example.com", "")
	testkit.Refused(t, complete(code), "CODE_WRONG")
	choose("new@example.com")
	code = w.Mail(id).Code
	w.Request("passwordreset", id)
	reset := w.Mail(id)
	if reset.Recipient != "set@example.com" {
		t.Errorf("a new password is mailed to %s", reset.Recipient)
	}
	w.Must(nil, complete(code))
	has("new@example.com", "")
	_, err := w.CompleteKind("passwordreset", id, reset.Code, "correct horse")
	testkit.Refused(t, err, "CODE_WRONG") // it is in the mailbox that was
}

// Of fifty guesses at once, half of them through the mail's page, ten are compared. Then even the
// right code is refused.
func TestVerifyMyEmailGuessesAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Unverified("mini")
	mini := w.Login(w.Admin, id, "")
	right := w.Mail(id).Code
	w.Unwritten(func() {
		testworld.Guesses(t, "CODE_WRONG", "CODE_LOCKED", func(i int) error {
			if i%2 == 0 {
				_, err := w.CompleteKind("verifyemail", id, "AAAAAAAA", "")
				return err
			}
			_, err := w.Gateway.VerifyMyEmail(mini, &usersv1.VerifyMyEmailRequest{Code: "AAAAAAAA"})
			return err
		})
		_, err := w.Gateway.VerifyMyEmail(mini, &usersv1.VerifyMyEmailRequest{Code: right})
		testkit.Refused(t, err, "CODE_LOCKED")
	})
	w.Must(w.Gateway.ResendMyEmailVerification(mini, &usersv1.ResendMyEmailVerificationRequest{}))
	if _, err := w.Gateway.VerifyMyEmail(mini, &usersv1.VerifyMyEmailRequest{Code: w.Mail(id).Code}); err != nil {
		t.Errorf("the new mail's code: %v", err)
	}
}

// The code that was mailed to the old address does not verify the new one, in whatever order the
// two calls come.
func TestUpdateEmailAgainstItsCode(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	for round := range 30 {
		id := w.Unverified(fmt.Sprint("mini-", round))
		code, next := w.Mail(id).Code, fmt.Sprintf("new-%d@example.com", round)
		var wait sync.WaitGroup
		start := make(chan struct{})
		wait.Go(func() {
			<-start
			w.Must(w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{UserId: id,
				Email: next}))
		})
		for range 3 {
			wait.Go(func() {
				<-start
				if _, err := w.CompleteKind("verifyemail", id, code, ""); err != nil {
					testkit.Refused(t, err, "CODE_WRONG")
				}
			})
		}
		close(start)
		wait.Wait()
		if e := w.User(id).GetHuman().Email; e.Email != next || e.IsEmailVerified {
			t.Fatalf("round %d: %v", round, e)
		}
		if n := w.Rows("events where aggregate_id = $1 and name = 'email_verified'", id); n > 1 {
			t.Fatalf("round %d: the code was used %d times", round, n)
		}
	}
}
