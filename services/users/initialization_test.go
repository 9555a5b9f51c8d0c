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

// mail does what the notifier does for a user's newest mail.
func (w *world) mail(userID string) *usersv1.PrepareMailResponse {
	w.Helper()
	var id string
	if err := w.service.DB.QueryRow(w.Context(), `select id from events where aggregate_id = $1 and data->>'initMail' = 'INIT_MAIL_QUEUED' order by position desc limit 1`, userID).Scan(&id); err != nil {
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

func (w *world) complete(userID, code, password string) (string, error) {
	r, err := w.auth.CompleteCode(w.Context(), &usersv1.CompleteCodeRequest{Kind: "init", UserId: userID, Code: code, Password: password})
	return r.GetLoginName(), err
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
	refused(t, err, "CODE_INVALID")
	_, err = w.gateway.ResendInitialization(w.admin, &usersv1.ResendInitializationRequest{UserId: id})
	refused(t, err, "USER_NOT_INITIAL")
	w.login(w.admin, id, "")
}

// A user who came with a password is not asked for one.
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

// Hostile case 1: whatever is wrong with a code, the answer is the same, and the
// eleventh guess is not looked at.
func TestInitializationGuesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, other := w.initial("mini"), w.initial("maxi")
	right, foreign := w.mail(id).Code, w.mail(other).Code
	for i, guess := range []string{"", foreign, "AAAAAAAA", strings.Repeat("A", 10000), right + "A", right[:7], "' or 1=1", "\x00", "ÄÖÜ", "AAAA2222"} {
		_, err := w.complete(id, guess, "correct horse")
		refused(t, err, "CODE_INVALID")
		if t.Failed() {
			t.Fatalf("guess %d", i)
		}
	}
	_, err := w.complete(id, right, "correct horse")
	refused(t, err, "CODE_LOCKED")
	if w.state(id) != usersv1.UserState_USER_STATE_INITIAL {
		t.Error("the right code after ten wrong ones was taken")
	}
	for range 10 {
		_, err = w.complete("nobody", "AAAAAAAA", "correct horse")
		refused(t, err, "CODE_INVALID")
	}
	_, err = w.complete("nobody", "AAAAAAAA", "correct horse")
	refused(t, err, "CODE_LOCKED") // as for somebody

	if _, err := w.gateway.ResendInitialization(w.admin, &usersv1.ResendInitializationRequest{UserId: id}); err != nil {
		t.Fatal(err)
	}
	_, err = w.complete(id, right, "correct horse")
	refused(t, err, "CODE_INVALID") // superseded
	if _, err = w.complete(id, w.mail(id).Code, "correct horse"); err != nil {
		t.Errorf("the new mail's code: %v", err)
	}
}

func TestInitializationGuessesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.initial("mini")
	var wait sync.WaitGroup
	var evaluated atomic.Int64
	for range 50 {
		wait.Go(func() {
			if _, err := w.complete(id, "AAAAAAAA", "correct horse"); err != nil && !strings.Contains(err.Error(), "LOCKED") {
				evaluated.Add(1)
			}
		})
	}
	wait.Wait()
	if evaluated.Load() != 10 {
		t.Errorf("%d of 50 guesses were looked at, want 10", evaluated.Load())
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
	if r, err := w.auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: "init", UserId: id, Code: code}); err != nil || r.Expired {
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

	request := func(userID string) {
		t.Helper()
		if _, err := w.auth.RequestCode(t.Context(), &usersv1.RequestCodeRequest{Kind: "init", UserId: userID}); err != nil {
			t.Error(err)
		}
	}
	request(id)
	request(id) // within a minute: no second mail
	request("nobody")
	request(w.adminID)
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

// A mail whose code was used or replaced is not wanted any more.
func TestObsoleteMail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.initial("mini")
	var first string
	if err := w.service.DB.QueryRow(t.Context(), `select notification_id from codes where user_id = $1`, id).Scan(&first); err != nil {
		t.Fatal(err)
	}
	if _, err := w.gateway.ResendInitialization(w.admin, &usersv1.ResendInitializationRequest{UserId: id, Email: "new@example.com"}); err != nil {
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
