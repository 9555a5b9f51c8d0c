package internals_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/services/users/internal/testworld"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	ada := w.Somebody("Ada", "ada@example.com", "correct horse")
	for _, name := range []string{"Ada", "ada", " ADA ", "ada@example.com", "Ada@EXAMPLE.com", "Ａｄａ"} {
		got, err := w.Check(name, "correct horse")
		if err != nil || got.UserId != ada || got.OrgId != w.OrgID || !got.OrgActive || got.NeedsFactor ||
			got.ChangeRequired || got.State != usersv1.UserState_USER_STATE_ACTIVE || got.Generation != 1 ||
			got.OrgGeneration != 1 || got.Credential != "password" {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	subject := &usersv1.ResolveSubjectRequest{UserId: ada, Credential: "password"}
	if got := w.Subject(subject).Credential; got != "password" {
		t.Errorf("the user's credential is %q", got)
	}
	machine := w.Machine(w.Admin, "ci")
	if subject.UserId = machine; w.Subject(subject).Credential != "" {
		t.Error("a machine has a password")
	}
	w.SetColumns(machine, "email_folded = 'ci@example.com'")
	for _, wrong := range [][2]string{
		{"ada", "Correct horse"}, {"ada", ""}, {"ada", strings.Repeat("a", 5000)}, {"nobody", "correct horse"},
		{"", ""}, {"ci", ""}, {"ci@example.com", ""}, {"ada%", "correct horse"},
		{strings.Repeat("a", 2000), "correct horse"},
	} {
		_, err := w.Check(wrong[0], wrong[1])
		testkit.Refused(t, err, "LOGIN_WRONG")
	}
	if n := w.Rows("password_tries where user_id <> $1", ada); n != 0 {
		t.Errorf("guesses at nobody's names have %d rows", n)
	}
}

// An e-mail address that is somebody's login name is that user's, and one that two users have is nobody's.
func TestLoginByEmail(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	one := w.Somebody("one", "both@example.com", "correct horse")
	if got, err := w.Check("both@example.com", "correct horse"); err != nil || got.UserId != one {
		t.Errorf("alone: %v, %v", got, err)
	}
	_, in := w.Org("Other")
	r := testworld.Minimal("two")
	r.Email, r.Password = &usersv1.Email{Email: "both@example.com", IsEmailVerified: true}, "correct horse"
	w.Must(w.Gateway.ImportHumanUser(in, r))
	_, err := w.Check("both@example.com", "correct horse")
	testkit.Refused(t, err, "LOGIN_WRONG")
	named := w.Somebody("both@example.com", "third@example.com", "third horse")
	if got, err := w.Check("both@example.com", "third horse"); err != nil || got.UserId != named {
		t.Errorf("as a login name: %v, %v", got, err)
	}
	w.Must(w.Gateway.RemoveMyOrg(in, &usersv1.RemoveMyOrgRequest{}))
	_, err = w.Check("two", "correct horse")
	testkit.Refused(t, err, "LOGIN_WRONG")
}

// With the right password the answer has the reason why the login is not complete.
func TestCheckPasswordReturnsState(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Somebody("ada", "ada@example.com", "correct horse")
	w.Must(nil, w.SetPassword(id, "second horse", true))
	got, err := w.Check("ada", "second horse")
	if err != nil || !got.ChangeRequired || got.Generation != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	w.Must(w.Moves()["locked"](w.Admin, id))
	if got, err := w.Check("ada", "second horse"); err != nil || got.State != usersv1.UserState_USER_STATE_LOCKED {
		t.Errorf("%v, %v", got, err)
	}
	r := testworld.Minimal("new")
	r.Password = "first horse!"
	w.Must(w.Gateway.ImportHumanUser(w.Admin, r))
	if got, err := w.Check("new", "first horse!"); err != nil || got.State != usersv1.UserState_USER_STATE_INITIAL {
		t.Errorf("%v, %v", got, err)
	}
	org, in := w.Org("Closed")
	r = testworld.Minimal("closed")
	r.Email, r.Password = &usersv1.Email{Email: "c@example.com", IsEmailVerified: true}, "correct horse"
	w.Must(w.Gateway.ImportHumanUser(in, r))
	w.Must(w.Gateway.DeactivateMyOrg(in, &usersv1.DeactivateMyOrgRequest{}))
	if got, err := w.Check("closed", "correct horse"); err != nil || got.OrgActive || got.OrgId != org ||
		got.OrgGeneration != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

// Of 200 guesses by any name, one after another and at once, ten are compared. Then even the right password is
// refused, for a known user and for nobody alike, and each further wrong one makes the pause longer.
func TestGuessesAtPasswords(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	w.Somebody("ada", "ada@example.com", "correct horse")
	for _, names := range [][]string{
		{"ada", "ADA", "ada@example.com", "Ada@Example.com"}, {"nobody", "NOBODY", "Nobody"},
	} {
		testworld.Guesses(t, "LOGIN_WRONG", "PASSWORD_LOCKED", func(i int) error {
			_, err := w.Check(names[i%len(names)], fmt.Sprint("wrong ", i))
			return err
		})
		_, err := w.Check(names[0], "correct horse")
		testkit.Refused(t, err, "PASSWORD_LOCKED")
	}
	for _, pause := range []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour, time.Hour} {
		for _, name := range []string{"ada", "nobody"} {
			_, err := w.Check(name, "wrong")
			testkit.Refused(t, err, "PASSWORD_LOCKED")
			if wait := fault.From(err).RetryAfter; wait > pause || wait < pause-time.Minute {
				t.Errorf("%s waits %v of %v", name, wait, pause)
			}
		}
		w.Advance(pause)
		for _, name := range []string{"ada", "nobody"} {
			_, err := w.Check(name, "wrong")
			testkit.Refused(t, err, "LOGIN_WRONG")
		}
	}
	w.Advance(time.Hour)
	if _, err := w.Check("ada", "correct horse"); err != nil {
		t.Errorf("the right password after the pause: %v", err)
	}
	if _, err := w.Check("ada", "wrong"); fault.From(err).ID != "LOGIN_WRONG" {
		t.Errorf("after a login guesses count from the beginning: %v", err)
	}
}

// A login replaces an older hash by one of today, and ends nothing.
func TestLoginRenewsHash(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	r := testworld.Minimal("old")
	r.Email.IsEmailVerified = true
	r.HashedPassword = &usersv1.HashedPassword{Value: "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"}
	got := w.Import(w.Admin, r)
	old, before := w.Hash(got.UserId), w.User(got.UserId).Details.Sequence
	if _, err := w.Check("old", "wrong"); err == nil || w.Hash(got.UserId) != old {
		t.Errorf("a wrong password: %v", err)
	}
	in, err := w.Check("old", "U*U")
	if err != nil {
		t.Fatal(err)
	}
	renewed := w.Hash(got.UserId)
	if !strings.HasPrefix(renewed, "$argon2id$v=19$m=19456,t=2,p=1$") || !w.IsPassword(got.UserId, "U*U") {
		t.Errorf("the hash is %s", renewed)
	}
	again, err := w.Check("old", "U*U")
	if err != nil || again.Generation != in.Generation || w.User(got.UserId).Details.Sequence != before ||
		w.Hash(got.UserId) != renewed {
		t.Errorf("the second login: %v, %v", again, err)
	}
}

func TestCheckFactor(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	o.Must(nil, o.SetPassword(o.UserID, "correct horse", false))
	in, err := o.Check("mini", "correct horse")
	if err != nil || in.NeedsFactor {
		t.Fatalf("with an app that is not verified: %v, %v", in, err)
	}
	factor := func(code string) (*usersv1.CheckFactorResponse, error) {
		return o.Auth.CheckFactor(t.Context(), &usersv1.CheckFactorRequest{
			UserId: o.UserID, Generation: in.Generation, Code: code,
		})
	}
	_, err = factor(testworld.Shown(t, o.Key, o.Ground.Now()))
	testkit.Refused(t, err, "LOGIN_OVER")
	verify := &usersv1.VerifyMyOtpRequest{Code: testworld.Shown(t, o.Key, o.Ground.Now())}
	verified, err := o.Gateway.VerifyMyOtp(o.As(o.Me), verify)
	if err != nil {
		t.Fatal(err)
	}
	if in, err = o.Check("mini", "correct horse"); err != nil || !in.NeedsFactor {
		t.Fatalf("with an app: %v, %v", in, err)
	}
	_, err = factor(testworld.Shown(t, o.Key, o.Ground.Now()))
	testkit.Refused(t, err, "CODE_WRONG") // its step was used by the verification
	o.Advance(30 * time.Second)
	code := testworld.Shown(t, o.Key, o.Ground.Now())
	testkit.Once(t, 4, func(int) error { _, err := factor(code); return err }, "CODE_WRONG")
	_, err = factor("000000")
	testkit.Refused(t, err, "CODE_WRONG") // the fifth
	o.Advance(30 * time.Second)
	_, err = factor(testworld.Shown(t, o.Key, o.Ground.Now()))
	testkit.Refused(t, err, "OTP_LOCKED")
	o.Advance(16 * time.Minute)
	got, err := factor(verified.RecoveryCodes[3])
	if err != nil || !got.RecoveryCode {
		t.Errorf("a recovery code: %v, %v", got, err)
	}
	o.Happened(o.UserID, "accepted", "ecoveryCode")
	_, err = factor(verified.RecoveryCodes[3])
	testkit.Refused(t, err, "CODE_WRONG")
	for _, empty := range []string{"", " ", "null", "[]"} {
		_, err := factor(empty)
		if id := fault.From(err).ID; id != "CODE_WRONG" && id != "OTP_LOCKED" {
			t.Errorf("%q: %v", empty, err)
		}
	}
	o.SignIn()
	o.Must(nil, o.SetPassword(o.UserID, "another horse", false))
	_, err = factor(verified.RecoveryCodes[4])
	testkit.Refused(t, err, "LOGIN_OVER")
}

// A password that an administrator chose is replaced at the login, once.
func TestChooseNextPassword(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Somebody("ada", "ada@example.com", "correct horse")
	choose := func(generation uint64, typed string) error {
		_, err := w.Auth.ChooseNextPassword(t.Context(), &usersv1.ChooseNextPasswordRequest{
			UserId: id, Generation: generation, Password: typed,
		})
		return err
	}
	testkit.Refused(t, choose(1, "another horse"), "LOGIN_OVER")
	w.Must(nil, w.SetPassword(id, "required horse", true))
	testkit.Refused(t, choose(1, "another horse"), "LOGIN_OVER")
	testkit.Refused(t, choose(2, "short"), "PASSWORD_TOO_SHORT")
	testkit.Refused(t, choose(2, ""), "PASSWORD_REQUIRED")
	testkit.Refused(t, choose(2, "required horse"), "PASSWORD_UNCHANGED")
	if err := choose(2, "another horse"); err != nil || !w.IsPassword(id, "another horse") {
		t.Error(err)
	}
	testkit.Refused(t, choose(2, "third horse"), "LOGIN_OVER")
	testkit.Refused(t, choose(3, "third horse"), "LOGIN_OVER")
}

// A password that a person chose at the login stays when the person gets a role, unless the one before would end.
func TestChosenPasswordEndsWithTheMakersOfTheOneBefore(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Somebody("ada", "ada@example.com", "correct horse")
	w.Must(nil, w.SetPassword(id, "required horse", true))
	w.Must(w.Auth.ChooseNextPassword(t.Context(), &usersv1.ChooseNextPasswordRequest{
		UserId: id, Generation: 2, Password: "another horse",
	}))
	w.Must(w.Gateway.AddOrgMember(w.Admin, &usersv1.AddMemberRequest{UserId: id, Roles: []string{"ORG_USER_MANAGER"}}))
	if !w.IsPassword(id, "another horse") {
		t.Error("the chosen password has ended, although the maker of the one before has all permissions")
	}
}

// Every change of a password ends the logins with the old one.
func TestPasswordChangeEndsLogins(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Somebody("ada", "ada@example.com", "correct horse")
	generation := func() uint64 { return w.Subject(&usersv1.ResolveSubjectRequest{UserId: id}).Generation }
	if err := w.SetPassword(id, "second horse", false); err != nil || generation() != 2 {
		t.Errorf("set by an administrator: %d, %v", generation(), err)
	}
	w.Request("passwordreset", id)
	if _, err := w.CompleteKind("passwordreset", id, w.Mail(id).Code, "third horse"); err != nil || generation() != 3 {
		t.Errorf("reset by mail: %d, %v", generation(), err)
	}
	c := w.Caller(w.Admin, id, "")
	c.AuthenticatedAt = w.Ground.Now()
	if _, err := w.Gateway.UpdateMyPassword(w.As(c), &usersv1.UpdateMyPasswordRequest{
		OldPassword: "third horse", NewPassword: "fourth horse",
	}); err != nil || generation() != 4 {
		t.Errorf("changed by the user: %d, %v", generation(), err)
	}
}
