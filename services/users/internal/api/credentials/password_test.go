package credentials_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

func TestSetPassword(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	w.Request("passwordreset", id)
	code := w.Mail(id).Code
	r, err := w.Gateway.SetPassword(w.Admin, &usersv1.SetPasswordRequest{
		UserId: id, Password: "correct horse", PasswordChangeRequired: true,
	})
	if err != nil || r.Details.Sequence != w.User(id).Details.Sequence {
		t.Fatalf("%v, %v", r, err)
	}
	if !w.IsPassword(id, "correct horse") || w.Rows("users where id = $1 and password_change_required", id) != 1 {
		t.Error("the password is another one, or need not be changed")
	}
	if _, data := w.Happened(id, "password_changed", `"password"`); strings.Contains(data, "horse") ||
		strings.Contains(data, "argon") {
		t.Errorf("event %s", data)
	}
	w.Unwritten(func() {
		_, err := w.CompleteKind("passwordreset", id, code, "another horse")
		testkit.Refused(t, err, "CODE_WRONG")
	})
	if err := w.SetPassword(id, "another horse", false); err != nil ||
		w.Rows("users where id = $1 and not password_change_required", id) != 1 {
		t.Error(err)
	}
}

// Only the mailed code allows to choose a first password, whatever happened to the user before.
func TestSetPasswordOfWaitingUser(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	r := testworld.Minimal("verified")
	r.Email.IsEmailVerified = true
	got := w.Import(w.Admin, r)
	for _, id := range []string{got.UserId, w.Initial("unverified")} {
		refuses := func() {
			t.Helper()
			w.Unwritten(func() {
				testkit.Refused(t, w.SetPassword(id, "correct horse", false), "USER_NOT_INITIALIZED",
					"_resend_initialization")
			})
		}
		refuses()
		for _, move := range []string{"deactivated", "reactivated", "locked", "unlocked"} {
			w.Must(w.Moves()[move](w.Admin, id))
			refuses()
		}
		if w.State(id) != usersv1.UserState_USER_STATE_INITIAL {
			t.Errorf("state %v", w.State(id))
		}
	}
}

func TestSetPasswordRefuses(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, machine := w.Person(w.Admin, "mini"), w.Person(w.Admin, "machine")
	w.SetColumns(machine, "type = 2")
	w.Unwritten(func() {
		for typed, fault := range map[string]string{
			"": "PASSWORD_REQUIRED", "1234567": "PASSWORD_TOO_SHORT", strings.Repeat("a", 129): "PASSWORD_TOO_LONG",
			strings.Repeat("a", 1<<20): "PASSWORD_TOO_LONG", "password1": "PASSWORD_TOO_COMMON",
		} {
			testkit.Refused(t, w.SetPassword(id, typed, false), fault)
		}
		testkit.Refused(t, w.SetPassword(machine, "correct horse", false), "USER_NOT_HUMAN")
	})
}

// A change of one's own password needs a login of the last ten minutes. A token is not enough.
func TestOwnPassword(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	set := func(ctx context.Context) error {
		_, err := w.Gateway.SetPassword(ctx, &usersv1.SetPasswordRequest{UserId: w.AdminID, Password: "correct horse"})
		return err
	}
	c, err := w.Resolve(w.AdminToken, "")
	if err != nil {
		t.Fatal(err)
	}
	w.Unwritten(func() {
		testkit.Refused(t, set(w.As(c)), "FRESH_LOGIN_REQUIRED")
		c.AuthenticatedAt = time.Now().Add(-11 * time.Minute)
		testkit.Refused(t, set(w.As(c)), "FRESH_LOGIN_REQUIRED")
	})
	c.AuthenticatedAt = time.Now().Add(-9 * time.Minute)
	if err := set(w.As(c)); err != nil || !w.IsPassword(w.AdminID, "correct horse") {
		t.Error(err)
	}
}

func TestPasswordReset(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	w.SetColumns(id, "password_change_required = true")
	r, err := w.Gateway.RequestPasswordReset(w.Admin, &usersv1.RequestPasswordResetRequest{UserId: id})
	if err != nil {
		t.Fatal(err)
	}
	if event, _ := w.Happened(id, "password_reset_requested", `"passwordreset"`); r.NotificationId != event {
		t.Errorf("%v; event %s", r, event)
	}
	if w.Hash(id) != testworld.SomeHash {
		t.Error("the password is gone before the code is used")
	}
	m := w.Mail(id)
	if m.Recipient != "mini@example.com" || m.VerifiedEmail != m.Recipient {
		t.Errorf("mail %v", m)
	}
	w.Unwritten(func() {
		for typed, fault := range map[string]string{
			"": "PASSWORD_REQUIRED", "1234567": "PASSWORD_TOO_SHORT", "password1": "PASSWORD_TOO_COMMON",
		} {
			for range 5 { // none counts as a guess
				_, err := w.CompleteKind("passwordreset", id, m.Code, typed)
				testkit.Refused(t, err, fault)
			}
		}
	})
	if login, err := w.CompleteKind("passwordreset", id, m.Code, "correct horse"); err != nil || login != "mini" {
		t.Fatalf("%q, %v", login, err)
	}
	if !w.IsPassword(id, "correct horse") ||
		w.Rows("users where id = $1 and not password_change_required and state = 1", id) != 1 {
		t.Error("the password is another one, or must be changed")
	}
	w.Happened(id, "password_changed", `"passwordChangeRequired"`)

	// A mailed code sets no password if the address is not verified, or the user inactive or
	// locked.
	w.Request("passwordreset", id)
	code := w.Mail(id).Code
	for _, set := range []string{"state = 2", "state = 3", "state = 1, email_verified = false"} {
		w.SetColumns(id, set)
		w.Unwritten(func() {
			_, err := w.CompleteKind("passwordreset", id, code, "another horse")
			testkit.Refused(t, err, "CODE_WRONG")
		})
	}
}

func TestRequestPasswordResetRefuses(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	machine, inactive := w.Person(w.Admin, "machine"), w.Person(w.Admin, "inactive")
	w.SetColumns(machine, "type = 2")
	w.SetColumns(inactive, "state = 2")
	waiting, unverified := w.Initial("waiting"), w.Unverified("unverified")
	w.Unwritten(func() {
		for userID, c := range map[string][2]string{
			waiting: {"USER_NOT_INITIALIZED", "_resend_initialization"}, unverified: {"EMAIL_NOT_VERIFIED",
				"_resend_verification"},
			machine: {"USER_NOT_HUMAN", ""}, inactive: {"USER_NOT_ACTIVE", ""},
		} {
			_, err := w.Gateway.RequestPasswordReset(w.Admin, &usersv1.RequestPasswordResetRequest{UserId: userID})
			testkit.Refused(t, err, c[0], c[1])
		}
	})
}

// Of many uses of a code at once one succeeds, for each kind.
func TestCodeIsUsedOnceAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	reset := w.Person(w.Admin, "reset")
	w.Request("passwordreset", reset)
	for kind, id := range map[string]string{"verifyemail": w.Unverified("unverified"), "passwordreset": reset} {
		code := w.Mail(id).Code
		testkit.Once(t, 5, func(int) error {
			_, err := w.CompleteKind(kind, id, code, "correct horse")
			return err
		}, "CODE_WRONG")
	}
}

// acts are the administrator's calls that change a user's e-mail or password or mail a code.
func acts(w *testworld.World) map[string]func(ctx context.Context, userID string) error {
	return map[string]func(ctx context.Context, userID string) error{
		"ResendInitialization": func(ctx context.Context, id string) error {
			_, err := w.Gateway.ResendInitialization(ctx, &usersv1.ResendInitializationRequest{UserId: id,
				Email: "mine@example.com"})
			return err
		},
		"UpdateEmail": func(ctx context.Context, id string) error {
			_, err := w.Gateway.UpdateEmail(ctx, &usersv1.UpdateEmailRequest{
				UserId: id, Email: "mine@example.com", IsEmailVerified: true,
			})
			return err
		},
		"ResendEmailVerification": func(ctx context.Context, id string) error {
			_, err := w.Gateway.ResendEmailVerification(ctx, &usersv1.ResendEmailVerificationRequest{UserId: id})
			return err
		},
		"SetPassword": func(ctx context.Context, id string) error {
			_, err := w.Gateway.SetPassword(ctx, &usersv1.SetPasswordRequest{UserId: id, Password: "correct horse"})
			return err
		},
		"RequestPasswordReset": func(ctx context.Context, id string) error {
			_, err := w.Gateway.RequestPasswordReset(ctx, &usersv1.RequestPasswordResetRequest{UserId: id})
			return err
		},
	}
}

// Callers cannot change the e-mail, password or code of a user who has more permissions. A user of another organization
// is not found, whatever permissions the user has.
func TestMailEscalation(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	_, inB := w.Org("B")
	ownerA, manager, above, ownerB := w.Person(inA, "owner-a"), w.Person(inA, "manager"), w.Person(inA, "above"),
		w.Person(inB, "owner-b")
	w.AddMember(inA, ownerA, "ORG_OWNER")
	w.AddMember(inA, manager, "ORG_USER_MANAGER")
	w.AddIamMember(above, "IAM_USER_MANAGER") // of the instance, but lives in A
	w.AddMember(inB, ownerB, "ORG_OWNER")
	asA, asManager := w.Login(inA, ownerA, ""), w.Login(inA, manager, "")
	w.Unwritten(func() {
		for name, act := range acts(w) {
			testkit.Refused(t, act(asA, above), "ESCALATION", "user.delete", "the whole instance")
			if strings.Contains(name, "Password") {
				testkit.Refused(t, act(asManager, above), "PERMISSION_DENIED", "user.credential.write")
			} else {
				testkit.Refused(t, act(asManager, ownerA), "ESCALATION", "org.delete", orgA)
			}
		}
	})
	for name, act := range acts(w) { // the same calls succeed for other users
		plain := w.Person(inA, "plain-"+name)
		w.AddMember(inB, plain, "ORG_OWNER") // roles elsewhere do not shield
		if err := act(asA, plain); err != nil && !strings.Contains(err.Error(), "USER_NOT_INITIAL") &&
			!strings.Contains(err.Error(), "EMAIL_ALREADY_VERIFIED") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No table contains a code or a password, and no event a personal value.
func TestMailsLeakNothing(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	w.UpdateEmail(id, "canary@example.com", false)
	secrets := []string{w.Mail(id).Code, "canary horse", "horse canary"}
	w.Must(w.CompleteKind("verifyemail", id, secrets[0], ""))
	w.Must(w.Gateway.RequestPasswordReset(w.Admin, &usersv1.RequestPasswordResetRequest{UserId: id}))
	secrets = append(secrets, w.Mail(id).Code)
	w.Must(w.CompleteKind("passwordreset", id, secrets[3], secrets[1]))
	w.Must(nil, w.SetPassword(id, secrets[2], false))
	for _, table := range []string{"users", "codes", "password_tries", "events"} {
		var text string
		w.Must(nil, w.Service.DB.QueryRow(t.Context(), "select coalesce(string_agg(x::text, E'\\n'), '') from "+table+
			" x").Scan(&text))
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

// A password that must be changed cannot be chosen again, in whatever way the user chooses the next one.
func TestRequiredChangeRefusesTheSamePassword(t *testing.T) {
	t.Parallel()
	const required, same = "given hörse", "given ho\u0308rse"
	w := testworld.New(t)
	id := w.Somebody("ada", "ada@example.com", "correct horse")
	generation := uint64(1)
	for way, choose := range map[string]func(typed string) error{
		"at the login": func(typed string) error {
			_, err := w.Auth.ChooseNextPassword(t.Context(), &usersv1.ChooseNextPasswordRequest{
				UserId: id, Generation: generation, Password: typed,
			})
			return err
		},
		"by the own account": func(typed string) error {
			c := w.Caller(w.Admin, id, "")
			c.AuthenticatedAt = w.Ground.Now()
			_, err := w.Gateway.UpdateMyPassword(w.As(c), &usersv1.UpdateMyPasswordRequest{
				OldPassword: required, NewPassword: typed,
			})
			return err
		},
		"by a mail": func(typed string) error {
			w.SetColumns(id, "mails_requested_at = '{}'")
			w.Request("passwordreset", id)
			_, err := w.CompleteKind("passwordreset", id, w.Mail(id).Code, typed)
			return err
		},
	} {
		t.Run(way, func(t *testing.T) {
			w.Must(nil, w.SetPassword(id, required, true))
			generation++
			testkit.Refused(t, choose(same), "PASSWORD_UNCHANGED")
			if err := choose("another horse"); err != nil || !w.IsPassword(id, "another horse") {
				t.Error(err)
			}
			generation++
		})
	}
}

// GetMyUser returns whether the caller has a password. A user who logs in only with a linked account has none.
func TestMyUserReportsPassword(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	for _, hash := range []string{testworld.SomeHash, ""} {
		w.SetColumns(id, "password_hash = '"+hash+"'")
		me, err := w.Gateway.GetMyUser(w.Login(w.Admin, id, ""), &usersv1.GetMyUserRequest{})
		if err != nil || me.HasPassword != (hash != "") || me.User.GetId() != id {
			t.Errorf("with the hash %q: %v, %v", hash, me, err)
		}
	}
}
