package users_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// mail prepares a user's newest mail, as the service notification does.
func (w *world) mail(userID string) *usersv1.PrepareMailResponse {
	w.Helper()
	var id string
	if err := w.service.DB.QueryRow(w.Context(), `select id from events
		where aggregate_id = $1 and (data->>'initMail' = 'INIT_MAIL_QUEUED' or data->>'mail' <> '') 
		order by position desc limit 1`, userID).Scan(&id); err != nil {
		w.Fatal(err)
	}
	m, err := w.notify.PrepareMail(w.Context(), &usersv1.PrepareMailRequest{NotificationId: id, UserId: userID})
	if err != nil {
		w.Fatal(err)
	}
	return m
}

func (w *world) initial(name string) string {
	w.Helper()
	r, err := w.gateway.ImportHumanUser(w.admin, minimal(name))
	if err != nil {
		w.Fatal(err)
	}
	return r.UserId
}

// complete uses the code of an initialize-user mail, as its page does.
func (w *world) complete(userID, code, password string) (string, error) {
	return w.completeKind("init", userID, code, password)
}

func (w *world) completeKind(kind, userID, code, password string) (string, error) {
	r, err := w.auth.CompleteCode(w.Context(), &usersv1.CompleteCodeRequest{
		Kind: kind, UserId: userID, Code: code, Password: password,
	})
	return r.GetLoginName(), err
}

func (w *world) request(kind, userID string) {
	w.Helper()
	if _, err := w.auth.RequestCode(w.Context(), &usersv1.RequestCodeRequest{Kind: kind, UserId: userID}); err != nil {
		w.Error(err)
	}
}

// unwritten calls run and fails the test if it changes users, codes or events. Counted guesses do not
// matter.
func (w *world) unwritten(run func()) {
	w.Helper()
	digest := func() (text string) {
		w.Helper()
		if err := w.service.DB.QueryRow(w.Context(),
			`select md5(concat((select string_agg(u::text, '|' order by id) from users u),
			(select string_agg((to_jsonb(c) - 'tries')::text, '|' order by user_id, purpose) from codes c),
			(select max(position) from events)))`).Scan(&text); err != nil {
			w.Fatal(err)
		}
		return text
	}
	before := digest()
	run()
	if digest() != before {
		w.Error("something was written")
	}
}

// setColumns sets columns of a user in the database, also to values that no method sets.
func (w *world) setColumns(userID, set string) {
	w.Helper()
	if _, err := w.service.DB.Exec(w.Context(), "update users set "+set+" where id = $1", userID); err != nil {
		w.Fatal(err)
	}
}

func (w *world) state(userID string) usersv1.UserState {
	w.Helper()
	r, err := w.gateway.GetUser(w.admin, &usersv1.GetUserRequest{UserId: userID})
	if err != nil {
		w.Fatal(err)
	}
	return r.User.State
}

func TestInitialization(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.initial("mini")
	m := w.mail(id)
	if again := w.mail(id); !proto.Equal(m, again) {
		t.Errorf("the second asking answered %v, the first %v", again, m)
	}
	if m.Recipient != "mini@example.com" || m.PasswordSet || m.VerifiedEmail != "" || m.OrgName != "Herald" {
		t.Errorf("mail %v", m)
	}
	if left := time.Until(m.Expiry.AsTime()); left < 71*time.Hour || left > 72*time.Hour {
		t.Errorf("the code lives for %s", left)
	}
	check, err := w.auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: "init", UserId: id, Code: m.Code})
	if err != nil || check.Expired || w.state(id) != usersv1.UserState_USER_STATE_INITIAL {
		t.Errorf("opening the link: %v, %v", check, err)
	}
	_, err = w.complete(id, m.Code, "")
	refused(t, err, "PASSWORD_REQUIRED")
	_, err = w.complete(id, m.Code, "1234567")
	refused(t, err, "PASSWORD_TOO_SHORT")
	typed := strings.ToLower(m.Code[:4] + "-" + m.Code[4:] + " ")
	name, err := w.complete(id, typed, "correct horse")
	if err != nil || name != "mini" {
		t.Fatalf("complete: %q, %v", name, err)
	}
	u, err := w.gateway.GetUser(w.admin, &usersv1.GetUserRequest{UserId: id})
	if err != nil || u.User.State != usersv1.UserState_USER_STATE_ACTIVE || !u.User.GetHuman().Email.IsEmailVerified {
		t.Errorf("after it: %v, %v", u, err)
	}
	_, err = w.complete(id, m.Code, "correct horse")
	refused(t, err, "CODE_WRONG")
	_, err = w.gateway.ResendInitialization(w.admin, &usersv1.ResendInitializationRequest{UserId: id})
	refused(t, err, "USER_NOT_INITIAL")
	w.login(w.admin, id, "")
}

// A user who was imported with a password can initialize without choosing one.
func TestInitializationWithPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := minimal("mini")
	r.HashedPassword = hashed(someHash)
	got, err := w.gateway.ImportHumanUser(w.admin, r)
	if err != nil {
		t.Fatal(err)
	}
	m := w.mail(got.UserId)
	if !m.PasswordSet {
		t.Error("the mail does not know of the password")
	}
	if _, err := w.complete(got.UserId, m.Code, ""); err != nil {
		t.Error(err)
	}
}

func TestInitializationTwiceAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.initial("mini")
	code := w.mail(id).Code
	var wait sync.WaitGroup
	var done atomic.Int64
	for range 5 {
		wait.Go(func() {
			if _, err := w.complete(id, code, "correct horse"); err == nil {
				done.Add(1)
			}
		})
	}
	wait.Wait()
	if done.Load() != 1 || w.rows("events where name = 'initialized'") != 1 {
		t.Errorf("%d of 5 equal forms were taken", done.Load())
	}
}

func TestInitializationExpires(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := startWorld(t, g)
	id := w.initial("mini")
	code := w.mail(id).Code
	later := func(d time.Duration) { ahead.Add(int64(d)) }
	later(72*time.Hour - time.Minute)
	if r, err := w.auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: "init", UserId: id,
		Code: code}); err != nil || r.Expired {
		t.Errorf("within 72 hours: %v, %v", r, err)
	}
	later(2 * time.Minute)
	for guess, expired := range map[string]bool{code: true, "AAAAAAAA": false} {
		r, err := w.auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: "init", UserId: id, Code: guess})
		if err != nil || r.Expired != expired {
			t.Errorf("after 72 hours: %v, %v", r, err)
		}
	}
	_, err := w.complete(id, code, "correct horse")
	refused(t, err, "CODE_EXPIRED")

	w.request("init", id)
	w.request("init", id) // within a minute: no second mail
	w.request("init", "nobody")
	w.request("init", w.adminID)
	if n := w.rows("events where name = 'initialization_requested'"); n != 1 {
		t.Errorf("%d mails asked for, want 1", n)
	}
	if n := w.rows("events where name = 'initialization_requested' and organization_id = $1", w.orgID); n != 1 {
		t.Error("the event does not name the user's organization")
	}
	if _, err = w.complete(id, w.mail(id).Code, "correct horse"); err != nil {
		t.Error(err)
	}
}

// A mail is obsolete when its code was used or replaced.
func TestObsoleteMail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.initial("mini")
	var first string
	if err := w.service.DB.QueryRow(t.Context(), `select notification_id from codes where user_id = $1`, id).
		Scan(&first); err != nil {
		t.Fatal(err)
	}
	if _, err := w.gateway.ResendInitialization(w.admin, &usersv1.ResendInitializationRequest{UserId: id,
		Email: "new@example.com"}); err != nil {
		t.Fatal(err)
	}
	_, err := w.notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{NotificationId: first, UserId: id})
	refused(t, err, "NOTIFICATION_OBSOLETE")
	m := w.mail(id)
	if m.Recipient != "new@example.com" {
		t.Errorf("recipient %s", m.Recipient)
	}
	if _, err := w.complete(id, m.Code, "correct horse"); err != nil {
		t.Fatal(err)
	}
	_, err = w.notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{NotificationId: first, UserId: id})
	refused(t, err, "NOTIFICATION_OBSOLETE")
}

// A code works only for its own kind of mail. Unknown kinds are refused.
func TestKindsOfCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	waiting := w.initial("waiting")
	unverified := w.unverified("unverified")
	reset := w.person(w.admin, "reset")
	w.request("passwordreset", reset)
	ids := map[string]string{"init": waiting, "verifyemail": unverified, "passwordreset": reset}
	codes := map[string]string{}
	for kind, id := range ids {
		codes[kind] = w.mail(id).Code
	}
	w.unwritten(func() {
		for kind, id := range ids {
			for _, other := range []string{"init", "verifyemail", "passwordreset", "", "Init", "phone", "' or 1=1",
				"\x00", strings.Repeat("i", 10000)} {
				if other == kind {
					continue
				}
				_, err := w.completeKind(other, id, codes[kind], "correct horse")
				refused(t, err, "CODE_WRONG")
				if r, err := w.auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: other, UserId: id,
					Code: codes[kind]}); err != nil || r.Expired {
					t.Errorf("%s as %q: %v, %v", kind, other, r, err)
				}
				w.request(other, id)
			}
		}
	})
	for kind, id := range ids {
		_, err := w.completeKind(kind, id, codes["passwordreset"]+"A", "correct horse")
		refused(t, err, "CODE_WRONG")
		if name, err := w.completeKind(kind, id, codes[kind], "correct horse"); err != nil || name == "" {
			t.Errorf("%s: %q, %v", kind, name, err)
		}
		_, err = w.completeKind(kind, id, codes[kind], "correct horse")
		refused(t, err, "CODE_WRONG") // was used
	}
	for name, id := range map[string]string{
		"initialized": waiting, "email_verified": unverified, "password_changed": reset,
	} {
		if n := w.rows("events where name = $1 and aggregate_id = $2 and actor = 'auth' and organization_id = $3",
			name, id, w.orgID); n != 1 {
			t.Errorf("%d events %s", n, name)
		}
	}
}

// Anybody can request a code for any user. Only users who wait for such a mail get one, at most one
// a minute, also if there are many requests at once.
func TestRequestCode(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := startWorld(t, g)
	ids := map[string]string{
		"INITIAL": w.initial("waiting"), "unverified": w.unverified("unverified"), "verified": w.person(w.admin,
			"verified"),
		"inactive": w.person(w.admin, "inactive"), "locked": w.person(w.admin, "locked"),
		"machine": w.person(w.admin, "machine"), "nobody": "nobody",
	}
	w.setColumns(ids["inactive"], "state = 2")
	w.setColumns(ids["locked"], "state = 3, email_verified = false")
	w.setColumns(ids["machine"], "type = 2")
	w.unwritten(func() { // the administrator's mail is less than a minute old
		w.request("init", ids["INITIAL"])
		w.request("verifyemail", ids["unverified"])
	})
	ahead.Add(int64(2 * time.Minute))
	sent := map[string]string{
		"init INITIAL": "initialization_requested", "verifyemail unverified": "email_verification_requested",
		"passwordreset verified": "password_reset_requested",
	}
	for who, id := range ids {
		for _, kind := range []string{"init", "verifyemail", "passwordreset"} {
			before := w.rows("events")
			var wait sync.WaitGroup
			for range 20 {
				wait.Go(func() { w.request(kind, id) })
			}
			wait.Wait()
			name := sent[kind+" "+who]
			if n := w.rows("events") - before; name == "" && n != 0 || name != "" && n != 1 {
				t.Errorf("%s of %s: %d mails", kind, who, n)
			}
			if name != "" && w.rows("events e join codes c on c.notification_id = e.id where e.aggregate_id = $1 and "+
				"e.name = $2 and c.purpose = $3", id, name, kind) != 1 {
				t.Errorf("%s of %s: no event %s with a code", kind, who, name)
			}
		}
	}
	first := w.mail(ids["verified"])
	ahead.Add(int64(61 * time.Second))
	w.request("passwordreset", ids["verified"])
	if second := w.mail(ids["verified"]); second.Code == first.Code {
		t.Error("after a minute there is no new mail")
	}
}

// Hostile case 33: a user gets ten mails a day that were asked for without a login, whoever asks.
func TestRequestCodeInALoop(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := startWorld(t, g)
	id, other := w.person(w.admin, "mini"), w.person(w.admin, "maxi")
	mails := func(userID string) int {
		return w.rows("events where name = 'password_reset_requested' and aggregate_id = $1", userID)
	}
	for minute := range 24*60 - 10 {
		ahead.Add(int64(time.Minute + time.Microsecond))
		if minute < 30 || minute%60 == 0 { // all minutes would take too long
			w.request("passwordreset", id)
		}
	}
	if n := mails(id); n != 10 {
		t.Errorf("%d mails within a day, want 10", n)
	}
	w.request("passwordreset", other)
	if n := mails(other); n != 1 {
		t.Errorf("%d mails to somebody else, want 1", n)
	}
	ahead.Add(int64(11 * time.Minute)) // the first mail is a day old
	w.request("passwordreset", id)
	ahead.Add(int64(time.Minute)) // the second is
	w.request("passwordreset", id)
	if n := mails(id); n != 12 {
		t.Errorf("%d mails after a day, want 12", n)
	}
}

// The lifetime of a code begins when it is first sent. Each kind has its own lifetime.
func TestLifetimes(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := startWorld(t, g)
	for kind, c := range map[string]struct {
		id       string
		lifetime time.Duration
	}{
		"verifyemail":   {w.unverified("unverified"), 72 * time.Hour},
		"passwordreset": {w.person(w.admin, "reset"), time.Hour},
	} {
		ahead.Add(int64(2 * time.Minute))
		w.request(kind, c.id)
		ahead.Add(int64(100 * time.Hour)) // the mail server was away
		m := w.mail(c.id)
		if left := m.Expiry.AsTime().Sub(g.Now()); left > c.lifetime || left < c.lifetime-time.Minute {
			t.Errorf("%s lives for %s", kind, left)
		}
		check := func(code string, expired bool) {
			t.Helper()
			r, err := w.auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: kind, UserId: c.id, Code: code})
			if err != nil || r.Expired != expired {
				t.Errorf("%s: expired %t, %v", kind, r.GetExpired(), err)
			}
		}
		ahead.Add(int64(c.lifetime - time.Minute))
		check(m.Code, false)
		ahead.Add(int64(2 * time.Minute))
		check(m.Code, true)
		check("AAAAAAAA", false)
		w.unwritten(func() {
			_, err := w.completeKind(kind, c.id, m.Code, "correct horse")
			refused(t, err, "CODE_EXPIRED")
		})
	}
}
