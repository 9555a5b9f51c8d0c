package internals_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestInitialization(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Initial("mini")
	m := w.Mail(id)
	if again := w.Mail(id); !proto.Equal(m, again) {
		t.Errorf("the second asking answered %v, the first %v", again, m)
	}
	if m.Recipient != "mini@example.com" || m.PasswordSet || m.VerifiedEmail != "" || m.OrgName != "Herald" {
		t.Errorf("mail %v", m)
	}
	if left := time.Until(m.Expiry.AsTime()); left < 71*time.Hour || left > 72*time.Hour {
		t.Errorf("the code lives for %s", left)
	}
	check, err := w.Auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: "init", UserId: id, Code: m.Code})
	if err != nil || check.Expired || w.State(id) != usersv1.UserState_USER_STATE_INITIAL {
		t.Errorf("opening the link: %v, %v", check, err)
	}
	_, err = w.Complete(id, m.Code, "")
	testkit.Refused(t, err, "PASSWORD_REQUIRED")
	_, err = w.Complete(id, m.Code, "1234567")
	testkit.Refused(t, err, "PASSWORD_TOO_SHORT")
	typed := strings.ToLower(m.Code[:4] + "-" + m.Code[4:] + " ")
	name, err := w.Complete(id, typed, "correct horse")
	if err != nil || name != "mini" {
		t.Fatalf("complete: %q, %v", name, err)
	}
	if u := w.User(id); u.State != usersv1.UserState_USER_STATE_ACTIVE || !u.GetHuman().Email.IsEmailVerified {
		t.Errorf("after it: %v", u)
	}
	_, err = w.Complete(id, m.Code, "correct horse")
	testkit.Refused(t, err, "CODE_WRONG")
	_, err = w.Gateway.ResendInitialization(w.Admin, &usersv1.ResendInitializationRequest{UserId: id})
	testkit.Refused(t, err, "USER_NOT_INITIAL")
	w.Login(w.Admin, id, "")
}

// A user who was imported with a password can initialize without choosing one.
func TestInitializationWithPassword(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	r := testworld.Minimal("mini")
	r.HashedPassword = testworld.Hashed(testworld.SomeHash)
	got := w.Import(w.Admin, r)
	m := w.Mail(got.UserId)
	if !m.PasswordSet {
		t.Error("the mail does not know of the password")
	}
	w.Must(w.Complete(got.UserId, m.Code, ""))
}

func TestInitializationSucceedsOnceAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Initial("mini")
	code := w.Mail(id).Code
	testkit.Once(t, 5, func(int) error {
		_, err := w.Complete(id, code, "correct horse")
		return err
	}, "CODE_WRONG", "OVERLOADED")
	if n := w.Rows("events where name = 'initialized'"); n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestInitializationExpires(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Initial("mini")
	code := w.Mail(id).Code
	w.Advance(72*time.Hour - time.Minute)
	if r, err := w.Auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: "init", UserId: id,
		Code: code}); err != nil || r.Expired {
		t.Errorf("within 72 hours: %v, %v", r, err)
	}
	w.Advance(2 * time.Minute)
	for guess, expired := range map[string]bool{code: true, "AAAAAAAA": false} {
		r, err := w.Auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: "init", UserId: id, Code: guess})
		if err != nil || r.Expired != expired {
			t.Errorf("after 72 hours: %v, %v", r, err)
		}
	}
	_, err := w.Complete(id, code, "correct horse")
	testkit.Refused(t, err, "CODE_EXPIRED")

	w.Request("init", id)
	w.Request("init", id) // within a minute: no second mail
	w.Request("init", "nobody")
	w.Request("init", w.AdminID)
	if n := w.Rows("events where name = 'initialization_requested'"); n != 1 {
		t.Errorf("%d mails requested, want 1", n)
	}
	if n := w.Rows("events where name = 'initialization_requested' and organization_id = $1", w.OrgID); n != 1 {
		t.Error("the event does not name the user's organization")
	}
	w.Must(w.Complete(id, w.Mail(id).Code, "correct horse"))
}

// A mail is obsolete when its code was used or replaced.
func TestObsoleteMail(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Initial("mini")
	var first string
	w.Must(nil, w.Service.DB.QueryRow(t.Context(), `select notification_id from codes where user_id = $1`, id).
		Scan(&first))
	w.Must(w.Gateway.ResendInitialization(w.Admin, &usersv1.ResendInitializationRequest{UserId: id,
		Email: "new@example.com"}))
	_, err := w.Notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{NotificationId: first, UserId: id})
	testkit.Refused(t, err, "NOTIFICATION_OBSOLETE")
	m := w.Mail(id)
	if m.Recipient != "new@example.com" {
		t.Errorf("recipient %s", m.Recipient)
	}
	w.Must(w.Complete(id, m.Code, "correct horse"))
	_, err = w.Notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{NotificationId: first, UserId: id})
	testkit.Refused(t, err, "NOTIFICATION_OBSOLETE")
}

// A code works only for its own kind of mail. Unknown kinds are refused.
func TestKindsOfCodes(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	waiting := w.Initial("waiting")
	unverified := w.Unverified("unverified")
	reset := w.Person(w.Admin, "reset")
	w.Request("passwordreset", reset)
	ids := map[string]string{"init": waiting, "verifyemail": unverified, "passwordreset": reset}
	codes := map[string]string{}
	for kind, id := range ids {
		codes[kind] = w.Mail(id).Code
	}
	w.Unwritten(func() {
		for kind, id := range ids {
			for _, other := range []string{"init", "verifyemail", "passwordreset", "", "Init", "phone", "' or 1=1",
				"\x00", strings.Repeat("i", 10000)} {
				if other == kind {
					continue
				}
				_, err := w.CompleteKind(other, id, codes[kind], "correct horse")
				testkit.Refused(t, err, "CODE_WRONG")
				if r, err := w.Auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: other, UserId: id,
					Code: codes[kind]}); err != nil || r.Expired {
					t.Errorf("%s as %q: %v, %v", kind, other, r, err)
				}
				w.Request(other, id)
			}
		}
	})
	for kind, id := range ids {
		_, err := w.CompleteKind(kind, id, codes["passwordreset"]+"A", "correct horse")
		testkit.Refused(t, err, "CODE_WRONG")
		if name, err := w.CompleteKind(kind, id, codes[kind], "correct horse"); err != nil || name == "" {
			t.Errorf("%s: %q, %v", kind, name, err)
		}
		_, err = w.CompleteKind(kind, id, codes[kind], "correct horse")
		testkit.Refused(t, err, "CODE_WRONG") // was used
	}
	for name, id := range map[string]string{
		"initialized": waiting, "email_verified": unverified, "password_changed": reset,
	} {
		if n := w.Rows("events where name = $1 and aggregate_id = $2 and actor = 'auth' and organization_id = $3",
			name, id, w.OrgID); n != 1 {
			t.Errorf("%d events %s", n, name)
		}
	}
}

// Anybody can request a code for any user. Only users who wait for such a mail get one, at most one
// a minute, also if there are many requests at once.
func TestRequestCode(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	ids := map[string]string{
		"INITIAL": w.Initial("waiting"), "unverified": w.Unverified("unverified"), "verified": w.Person(w.Admin,
			"verified"),
		"inactive": w.Person(w.Admin, "inactive"), "locked": w.Person(w.Admin, "locked"),
		"machine": w.Person(w.Admin, "machine"), "nobody": "nobody",
	}
	w.SetColumns(ids["inactive"], "state = 2")
	w.SetColumns(ids["locked"], "state = 3, email_verified = false")
	w.SetColumns(ids["machine"], "type = 2")
	w.Unwritten(func() { // the administrator's mail is less than a minute old
		w.Request("init", ids["INITIAL"])
		w.Request("verifyemail", ids["unverified"])
	})
	w.Advance(2 * time.Minute)
	sent := map[string]string{
		"init INITIAL": "initialization_requested", "verifyemail unverified": "email_verification_requested",
		"passwordreset verified": "password_reset_requested",
	}
	for who, id := range ids {
		for _, kind := range []string{"init", "verifyemail", "passwordreset"} {
			before := w.Rows("events")
			var wait sync.WaitGroup
			for range 20 {
				wait.Go(func() { w.Request(kind, id) })
			}
			wait.Wait()
			name := sent[kind+" "+who]
			if n := w.Rows("events") - before; name == "" && n != 0 || name != "" && n != 1 {
				t.Errorf("%s of %s: %d mails", kind, who, n)
			}
			if name != "" && w.Rows("events e join codes c on c.notification_id = e.id where e.aggregate_id = $1 and "+
				"e.name = $2 and c.purpose = $3", id, name, kind) != 1 {
				t.Errorf("%s of %s: no event %s with a code", kind, who, name)
			}
		}
	}
	first := w.Mail(ids["verified"])
	w.Advance(61 * time.Second)
	w.Request("passwordreset", ids["verified"])
	if second := w.Mail(ids["verified"]); second.Code == first.Code {
		t.Error("after a minute there is no new mail")
	}
}

// A user gets ten mails a day that were requested without a login, whoever requests them.
func TestTenMailsADayAreSentWithoutALogin(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, other := w.Person(w.Admin, "mini"), w.Person(w.Admin, "maxi")
	mails := func(userID string) int {
		return w.Rows("events where name = 'password_reset_requested' and aggregate_id = $1", userID)
	}
	for minute := range 24*60 - 10 {
		w.Advance(time.Minute + time.Microsecond)
		if minute < 30 || minute%60 == 0 { // all minutes would take too long
			w.Request("passwordreset", id)
		}
	}
	if n := mails(id); n != 10 {
		t.Errorf("%d mails within a day, want 10", n)
	}
	w.Request("passwordreset", other)
	if n := mails(other); n != 1 {
		t.Errorf("%d mails to somebody else, want 1", n)
	}
	w.Advance(11 * time.Minute) // the first mail is a day old
	w.Request("passwordreset", id)
	w.Advance(time.Minute) // the second is
	w.Request("passwordreset", id)
	if n := mails(id); n != 12 {
		t.Errorf("%d mails after a day, want 12", n)
	}
}

// The lifetime of a code begins when it is first sent. Each kind has its own lifetime.
func TestLifetimes(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	for kind, c := range map[string]struct {
		id       string
		lifetime time.Duration
	}{
		"verifyemail":   {w.Unverified("unverified"), 72 * time.Hour},
		"passwordreset": {w.Person(w.Admin, "reset"), time.Hour},
	} {
		w.Advance(2 * time.Minute)
		w.Request(kind, c.id)
		w.Advance(100 * time.Hour) // the mail server was away
		m := w.Mail(c.id)
		if left := m.Expiry.AsTime().Sub(w.Ground.Now()); left > c.lifetime || left < c.lifetime-time.Minute {
			t.Errorf("%s lives for %s", kind, left)
		}
		check := func(code string, expired bool) {
			t.Helper()
			r, err := w.Auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: kind, UserId: c.id, Code: code})
			if err != nil || r.Expired != expired {
				t.Errorf("%s: expired %t, %v", kind, r.GetExpired(), err)
			}
		}
		w.Advance(c.lifetime - time.Minute)
		check(m.Code, false)
		w.Advance(2 * time.Minute)
		check(m.Code, true)
		check("AAAAAAAA", false)
		w.Unwritten(func() {
			_, err := w.CompleteKind(kind, c.id, m.Code, "correct horse")
			testkit.Refused(t, err, "CODE_EXPIRED")
		})
	}
}
