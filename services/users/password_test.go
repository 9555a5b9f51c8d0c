package users_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/users/internal/password"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
)

// hash returns the stored hash of a user's password.
func (w *world) hash(userID string) (encoded string) {
	w.Helper()
	if err := w.service.DB.QueryRow(w.Context(), `select password_hash from users where id = $1`, userID).
		Scan(&encoded); err != nil {
		w.Fatal(err)
	}
	return encoded
}

func (w *world) isPassword(userID, typed string) bool {
	w.Helper()
	hash, err := password.Parse(w.hash(userID))
	if err != nil {
		w.Fatal(err)
	}
	ok, _, err := password.NewHasher(1, 1).Verify(w.Context(), hash, typed)
	if err != nil {
		w.Fatal(err)
	}
	return ok
}

func (w *world) setPassword(userID, typed string, mustChange bool) error {
	_, err := w.gateway.SetPassword(w.admin, &usersv1.SetPasswordRequest{
		UserId: userID, Password: typed, PasswordChangeRequired: mustChange,
	})
	return err
}

func TestSetPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	w.request("passwordreset", id)
	code := w.mail(id).Code
	r, err := w.gateway.SetPassword(w.admin, &usersv1.SetPasswordRequest{
		UserId: id, Password: "correct horse", PasswordChangeRequired: true,
	})
	if err != nil || r.Details.Sequence != w.user(id).Details.Sequence {
		t.Fatalf("%v, %v", r, err)
	}
	if !w.isPassword(id, "correct horse") || w.rows("users where id = $1 and password_change_required", id) != 1 {
		t.Error("the password is another one, or need not be changed")
	}
	if _, name, data := w.last(id); name != "password_changed" || !strings.Contains(data, `"password"`) ||
		strings.Contains(data, "horse") || strings.Contains(data, "argon") {
		t.Errorf("event %s %s", name, data)
	}
	w.unwritten(func() {
		_, err := w.completeKind("passwordreset", id, code, "another horse")
		refused(t, err, "CODE_WRONG")
	})
	if err := w.setPassword(id, "another horse", false); err != nil ||
		w.rows("users where id = $1 and not password_change_required", id) != 1 {
		t.Error(err)
	}
}

// Nobody but who has the mailed code chooses a first password, whatever was done to the user before.
func TestSetPasswordOfWaitingUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := minimal("verified")
	r.Email.IsEmailVerified = true
	got, err := w.gateway.ImportHumanUser(w.admin, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{got.UserId, w.initial("unverified")} {
		refuses := func() {
			t.Helper()
			w.unwritten(func() {
				refused(t, w.setPassword(id, "correct horse", false), "USER_NOT_INITIALIZED", "_resend_initialization")
			})
		}
		refuses()
		for _, move := range []string{"deactivated", "reactivated", "locked", "unlocked"} {
			if _, err := w.moves()[move](w.admin, id); err != nil {
				t.Fatal(err)
			}
			refuses()
		}
		if w.state(id) != usersv1.UserState_USER_STATE_INITIAL {
			t.Errorf("state %v", w.state(id))
		}
	}
}

func TestSetPasswordRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, machine := w.person(w.admin, "mini"), w.person(w.admin, "machine")
	w.setColumns(machine, "type = 2")
	w.unwritten(func() {
		for typed, fault := range map[string]string{
			"": "PASSWORD_REQUIRED", "1234567": "PASSWORD_TOO_SHORT", strings.Repeat("a", 129): "PASSWORD_TOO_LONG",
			strings.Repeat("a", 1<<20): "PASSWORD_TOO_LONG", "password1": "PASSWORD_TOO_COMMON",
		} {
			refused(t, w.setPassword(id, typed, false), fault)
		}
		refused(t, w.setPassword(machine, "correct horse", false), "USER_NOT_HUMAN")
	})
}

// A change of one's own password needs a login of the last ten minutes. A token is not enough.
func TestOwnPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set := func(ctx context.Context) error {
		_, err := w.gateway.SetPassword(ctx, &usersv1.SetPasswordRequest{UserId: w.adminID, Password: "correct horse"})
		return err
	}
	c, err := w.resolve(w.adminToken, "")
	if err != nil {
		t.Fatal(err)
	}
	w.unwritten(func() {
		refused(t, set(w.as(c)), "FRESH_LOGIN_REQUIRED")
		c.AuthenticatedAt = time.Now().Add(-11 * time.Minute)
		refused(t, set(w.as(c)), "FRESH_LOGIN_REQUIRED")
	})
	c.AuthenticatedAt = time.Now().Add(-9 * time.Minute)
	if err := set(w.as(c)); err != nil || !w.isPassword(w.adminID, "correct horse") {
		t.Error(err)
	}
}

func TestPasswordReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	w.setColumns(id, "password_change_required = true")
	r, err := w.gateway.RequestPasswordReset(w.admin, &usersv1.RequestPasswordResetRequest{UserId: id})
	if err != nil {
		t.Fatal(err)
	}
	if event, name, data := w.last(id); r.NotificationId != event || name != "password_reset_requested" ||
		!strings.Contains(data, `"passwordreset"`) {
		t.Errorf("%v; event %s %s %s", r, event, name, data)
	}
	if w.hash(id) != someHash {
		t.Error("the password is gone before the code is used")
	}
	m := w.mail(id)
	if m.Recipient != "mini@example.com" || m.VerifiedEmail != m.Recipient {
		t.Errorf("mail %v", m)
	}
	w.unwritten(func() {
		for typed, fault := range map[string]string{
			"": "PASSWORD_REQUIRED", "1234567": "PASSWORD_TOO_SHORT", "password1": "PASSWORD_TOO_COMMON",
		} {
			for range 5 { // none counts as a guess
				_, err := w.completeKind("passwordreset", id, m.Code, typed)
				refused(t, err, fault)
			}
		}
	})
	if login, err := w.completeKind("passwordreset", id, m.Code, "correct horse"); err != nil || login != "mini" {
		t.Fatalf("%q, %v", login, err)
	}
	if !w.isPassword(id, "correct horse") ||
		w.rows("users where id = $1 and not password_change_required and state = 1", id) != 1 {
		t.Error("the password is another one, or must be changed")
	}
	if _, name, data := w.last(id); name != "password_changed" || !strings.Contains(data, `"passwordChangeRequired"`) {
		t.Errorf("event %s %s", name, data)
	}

	// A mailed code sets no password if the address is not verified, or the user inactive or
	// locked.
	w.request("passwordreset", id)
	code := w.mail(id).Code
	for _, set := range []string{"state = 2", "state = 3", "state = 1, email_verified = false"} {
		w.setColumns(id, set)
		w.unwritten(func() {
			_, err := w.completeKind("passwordreset", id, code, "another horse")
			refused(t, err, "CODE_WRONG")
		})
	}
}

func TestRequestPasswordResetRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	machine, inactive := w.person(w.admin, "machine"), w.person(w.admin, "inactive")
	w.setColumns(machine, "type = 2")
	w.setColumns(inactive, "state = 2")
	waiting, unverified := w.initial("waiting"), w.unverified("unverified")
	w.unwritten(func() {
		for userID, c := range map[string][2]string{
			waiting: {"USER_NOT_INITIALIZED", "_resend_initialization"}, unverified: {"EMAIL_NOT_VERIFIED",
				"_resend_verification"},
			machine: {"USER_NOT_HUMAN", ""}, inactive: {"USER_NOT_ACTIVE", ""},
		} {
			_, err := w.gateway.RequestPasswordReset(w.admin, &usersv1.RequestPasswordResetRequest{UserId: userID})
			refused(t, err, c[0], c[1])
		}
	})
}

func TestPasswordResetGuessesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	w.request("passwordreset", id)
	right := w.mail(id).Code
	if evaluated := guesses(func(int) error {
		_, err := w.completeKind("passwordreset", id, "AAAAAAAA", "correct horse")
		return err
	}); evaluated != 10 {
		t.Errorf("%d of 50 guesses were looked at, want 10", evaluated)
	}
	_, err := w.completeKind("passwordreset", id, right, "correct horse")
	refused(t, err, "CODE_LOCKED")
	if w.hash(id) != someHash {
		t.Error("the password was changed")
	}
}

// Of many uses of a code at once one succeeds, for each kind.
func TestCodesTwiceAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reset := w.person(w.admin, "reset")
	w.request("passwordreset", reset)
	for kind, id := range map[string]string{"verifyemail": w.unverified("unverified"), "passwordreset": reset} {
		code := w.mail(id).Code
		var wait sync.WaitGroup
		var done atomic.Int64
		for range 5 {
			wait.Go(func() {
				if _, err := w.completeKind(kind, id, code, "correct horse"); err == nil {
					done.Add(1)
				} else {
					refused(t, err, "CODE_WRONG")
				}
			})
		}
		wait.Wait()
		if done.Load() != 1 {
			t.Errorf("%d of 5 equal forms of %s were taken", done.Load(), kind)
		}
	}
}

// acts are the administrator's calls that change a user's e-mail or password or mail a code.
func (w *world) acts() map[string]func(ctx context.Context, userID string) error {
	return map[string]func(ctx context.Context, userID string) error{
		"ResendInitialization": func(ctx context.Context, id string) error {
			_, err := w.gateway.ResendInitialization(ctx, &usersv1.ResendInitializationRequest{UserId: id,
				Email: "mine@example.com"})
			return err
		},
		"UpdateEmail": func(ctx context.Context, id string) error {
			_, err := w.gateway.UpdateEmail(ctx, &usersv1.UpdateEmailRequest{
				UserId: id, Email: "mine@example.com", IsEmailVerified: true,
			})
			return err
		},
		"ResendEmailVerification": func(ctx context.Context, id string) error {
			_, err := w.gateway.ResendEmailVerification(ctx, &usersv1.ResendEmailVerificationRequest{UserId: id})
			return err
		},
		"SetPassword": func(ctx context.Context, id string) error {
			_, err := w.gateway.SetPassword(ctx, &usersv1.SetPasswordRequest{UserId: id, Password: "correct horse"})
			return err
		},
		"RequestPasswordReset": func(ctx context.Context, id string) error {
			_, err := w.gateway.RequestPasswordReset(ctx, &usersv1.RequestPasswordResetRequest{UserId: id})
			return err
		},
	}
}

// Hostile case 19a: callers cannot change the e-mail, password or code of a user who has more
// permissions. A user of another organization is not found, whatever permissions the user has.
func TestMailEscalation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orgA, inA := w.org("A")
	_, inB := w.org("B")
	ownerA, manager, above, ownerB := w.person(inA, "owner-a"), w.person(inA, "manager"), w.person(inA, "above"),
		w.person(inB, "owner-b")
	w.addMember(inA, ownerA, "ORG_OWNER")
	w.addMember(inA, manager, "ORG_USER_MANAGER")
	w.addIamMember(above, "IAM_USER_MANAGER") // of the instance, but lives in A
	w.addMember(inB, ownerB, "ORG_OWNER")
	asA, asManager := w.login(inA, ownerA, ""), w.login(inA, manager, "")
	w.unwritten(func() {
		for name, act := range w.acts() {
			refused(t, act(asA, above), "ESCALATION", "user.delete", "the whole instance")
			if strings.Contains(name, "Password") {
				refused(t, act(asManager, above), "PERMISSION_DENIED", "user.credential.write")
			} else {
				refused(t, act(asManager, ownerA), "ESCALATION", "org.delete", orgA)
			}
		}
	})
	for name, act := range w.acts() { // the same calls succeed for other users
		plain := w.person(inA, "plain-"+name)
		w.addMember(inB, plain, "ORG_OWNER") // roles elsewhere do not shield
		if err := act(asA, plain); err != nil && !strings.Contains(err.Error(), "USER_NOT_INITIAL") &&
			!strings.Contains(err.Error(), "EMAIL_ALREADY_VERIFIED") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No table contains a code or a password, and no event a personal value.
func TestMailsLeakNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	w.updateEmail(id, "canary@example.com", false)
	secrets := []string{w.mail(id).Code, "canary horse", "horse canary"}
	if _, err := w.completeKind("verifyemail", id, secrets[0], ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.gateway.RequestPasswordReset(w.admin, &usersv1.RequestPasswordResetRequest{UserId: id}); err != nil {
		t.Fatal(err)
	}
	secrets = append(secrets, w.mail(id).Code)
	if _, err := w.completeKind("passwordreset", id, secrets[3], secrets[1]); err != nil {
		t.Fatal(err)
	}
	if err := w.setPassword(id, secrets[2], false); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"users", "codes", "password_tries", "events"} {
		var text string
		if err := w.service.DB.QueryRow(t.Context(), "select coalesce(string_agg(x::text, E'\\n'), '') from "+table+
			" x").Scan(&text); err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if strings.Contains(text, s) || strings.Contains(text, string(secret.Hash(s))) {
				t.Errorf("table %s holds a secret", table)
			}
		}
		if table == "events" && (strings.Contains(text, "canary") || strings.Contains(text, "$argon2") ||
			strings.Contains(text, "example.com")) {
			t.Error("events hold something personal")
		}
	}
}

// A password that must be changed is changed, in whichever way its user chooses the next one.
func TestRequiredChangeChanges(t *testing.T) {
	t.Parallel()
	const given, same = "given hörse", "given ho\u0308rse"
	w := newWorld(t)
	id := w.somebody("ada", "ada@example.com", "correct horse")
	generation := uint64(1)
	for way, choose := range map[string]func(typed string) error{
		"at the login": func(typed string) error {
			_, err := w.auth.ChooseNextPassword(t.Context(), &usersv1.ChooseNextPasswordRequest{
				UserId: id, Generation: generation, Password: typed,
			})
			return err
		},
		"by the own account": func(typed string) error {
			c := w.caller(w.admin, id, "")
			c.AuthenticatedAt = w.ground.Now()
			_, err := w.gateway.UpdateMyPassword(w.as(c), &usersv1.UpdateMyPasswordRequest{
				OldPassword: given, NewPassword: typed,
			})
			return err
		},
		"by a mail": func(typed string) error {
			w.setColumns(id, "mails_requested_at = '{}'")
			w.request("passwordreset", id)
			_, err := w.completeKind("passwordreset", id, w.mail(id).Code, typed)
			return err
		},
	} {
		if err := w.setPassword(id, given, true); err != nil {
			t.Fatal(err)
		}
		generation++
		refused(t, choose(same), "PASSWORD_UNCHANGED")
		if err := choose("another horse"); err != nil || !w.isPassword(id, "another horse") {
			t.Errorf("%s: %v", way, err)
		}
		generation++
	}
}

// Who logs in with an account elsewhere alone reads that there is no password to change.
func TestMyUserHasPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	for _, hash := range []string{someHash, ""} {
		w.setColumns(id, "password_hash = '"+hash+"'")
		me, err := w.gateway.GetMyUser(w.login(w.admin, id, ""), &usersv1.GetMyUserRequest{})
		if err != nil || me.HasPassword != (hash != "") || me.User.GetId() != id {
			t.Errorf("with the hash %q: %v, %v", hash, me, err)
		}
	}
}
