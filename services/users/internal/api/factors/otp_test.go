package factors_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/users/internal/testworld"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestOTP(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	before := o.User(o.UserID).Details
	f := o.Factors()[0]
	if f.State != usersv1.AuthFactorState_AUTH_FACTOR_STATE_NOT_READY || f.GetOtp() == nil ||
		f.Details.ResourceOwner != o.OrgID {
		t.Errorf("added: %v", f)
	}
	row := o.Stored()
	_, err := o.Add(false)
	testkit.Refused(t, err, "OTP_NOT_VERIFIED", "_verify", "DELETE", `{"replace":true}`)
	if o.Stored() != row {
		t.Error("a refused call changed the app")
	}
	replaced, err := o.Add(true)
	if err != nil || replaced.Secret == o.Key || replaced.Url != "otpauth://totp/Herald:mini?algorithm=SHA1&digits=6&"+
		"issuer=Herald&period=30&secret="+replaced.Secret {
		t.Fatalf("replaced: %v, %v", replaced, err)
	}
	_, err = o.Verify(testworld.Shown(t, o.Key, o.Ground.Now()))
	testkit.Refused(t, err, "CODE_WRONG")
	if fault.From(err).Code != fault.Invalid {
		t.Errorf("a wrong code is %v", err)
	}
	code := testworld.Shown(t, replaced.Secret, o.Ground.Now())
	verified, err := o.Verify(code[:3] + " " + code[3:])
	if err != nil || len(verified.RecoveryCodes) != 10 {
		t.Fatalf("verified: %v, %v", verified, err)
	}
	f = o.Factors()[0]
	if f.State != usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY || f.GetOtp().RecoveryCodesLeft != 10 ||
		f.Details.Sequence != verified.Details.Sequence ||
		!f.Details.ChangeDate.AsTime().Equal(verified.Details.ChangeDate.AsTime()) {
		t.Errorf("verified: %v, after %v", f, verified.Details)
	}
	if after := o.User(o.UserID).Details; after.Sequence != before.Sequence {
		t.Errorf("the user changed with the app: %v, %v", before, after)
	}

	row = o.Stored()
	_, err = o.Verify(code)
	testkit.Refused(t, err, "OTP_ALREADY_VERIFIED")
	for _, replace := range []bool{false, true} {
		_, err = o.Add(replace)
		testkit.Refused(t, err, "OTP_ALREADY_READY")
		if fault.From(err).Code != fault.Exists {
			t.Errorf("a second app is %v", err)
		}
	}
	if o.Stored() != row {
		t.Error("a refused call changed the app")
	}
	changes, err := o.Gateway.SearchMyChanges(o.Ctx(), &usersv1.SearchMyChangesRequest{})
	want := []string{"otp.verified by ", "otp.code_refused by ", "otp.added by ", "otp.added by "}
	for i := range want {
		want[i] += o.UserID
	}
	if got := testworld.EventTypes(changes); err != nil || !slices.Equal(got[:4], want) {
		t.Errorf("%v, %v", got, err)
	}
}

// Texts that are no codes are refused.
func TestOTPWithoutCode(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	row := o.Stored()
	for _, code := range []string{"", strings.Repeat("1", 65)} {
		_, err := o.Verify(code)
		testkit.Refused(t, err, "INVALID_ARGUMENT")
	}
	if o.Stored() != row {
		t.Error("what cannot be a code was counted")
	}
	other := o.Person(o.Admin, "maxi")
	theirs := o.Login(o.Admin, other, "")
	added, err := o.Gateway.AddMyOtp(theirs, &usersv1.AddMyOtpRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"null", "[]", "０００００１", testworld.Shown(t, added.Secret, o.Ground.Now())} {
		_, err := o.Verify(code)
		testkit.Refused(t, err, "CODE_WRONG")
	}
}

func TestOTPAtOnce(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	o.Me = o.Caller(o.Admin, o.Person(o.Admin, "maxi"), "")
	var key atomic.Pointer[string]
	testkit.Once(t, 50, func(int) error {
		r, err := o.Add(false)
		if err == nil {
			key.Store(&r.Secret)
		}
		return err
	}, "OTP_NOT_VERIFIED")
	code := testworld.Shown(t, *key.Load(), o.Ground.Now())
	testkit.Once(t, 50, func(int) error { _, err := o.Verify(code); return err },
		"OTP_ALREADY_VERIFIED")
}

// Of fifty guesses five are compared, one after another or at once.
func TestOTPGuesses(t *testing.T) {
	t.Parallel()
	for name, guess := range map[string]func(o *testworld.Otp){
		"at once": func(o *testworld.Otp) {
			var evaluated atomic.Int64
			testkit.Race(t, 50, func(int) error {
				_, err := o.Verify("guess")
				if fault.From(err).ID == "CODE_WRONG" {
					evaluated.Add(1)
				}
				return err
			}, "CODE_WRONG", "OTP_LOCKED")
			if n := evaluated.Load(); n != 5 {
				t.Errorf("%d guesses were looked at", n)
			}
		},
		"one by one": func(o *testworld.Otp) {
			for range 5 {
				_, err := o.Verify("guess")
				testkit.Refused(t, err, "CODE_WRONG")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testworld.NewOTP(t)
			guess(o)
			_, err := o.Verify(testworld.Shown(t, o.Key, o.Ground.Now()))
			testkit.Refused(t, err, "OTP_LOCKED")
			if f := fault.From(err); f.Code != fault.Exhausted || f.RetryAfter < 14*time.Minute ||
				f.RetryAfter > 15*time.Minute {
				t.Errorf("try again after %s", f.RetryAfter)
			}
			wrong, locks := o.Rows("events where name = 'code_refused'"), o.Rows("events where name = 'locked'")
			if wrong != 4 || locks != 1 {
				t.Errorf("%d events of wrong codes, %d of locks", wrong, locks)
			}
			o.Advance(15 * time.Minute)
			if _, err := o.Verify(testworld.Shown(t, o.Key, o.Ground.Now())); err != nil {
				t.Errorf("after 15 minutes: %v", err)
			}
		})
	}
}

func TestRecoveryCodesAndRemoval(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	regenerate := func(ctx context.Context) (*usersv1.RegenerateMyRecoveryCodesResponse, error) {
		return o.Gateway.RegenerateMyRecoveryCodes(ctx, &usersv1.RegenerateMyRecoveryCodesRequest{})
	}
	remove := func(ctx context.Context) error {
		_, err := o.Gateway.RemoveMyOtp(ctx, &usersv1.RemoveMyOtpRequest{})
		return err
	}
	_, err := regenerate(o.Fresh())
	testkit.Refused(t, err, "OTP_NOT_READY")
	verified, err := o.Verify(testworld.Shown(t, o.Key, o.Ground.Now()))
	if err != nil {
		t.Fatal(err)
	}
	row := o.Stored()
	_, err = regenerate(o.Ctx())
	testkit.Refused(t, err, "FRESH_LOGIN_REQUIRED")
	testkit.Refused(t, remove(o.Ctx()), "FRESH_LOGIN_REQUIRED")
	if o.Stored() != row {
		t.Error("a refused call changed the app")
	}
	again, err := regenerate(o.Fresh())
	if err != nil || len(again.RecoveryCodes) != 10 || slices.ContainsFunc(again.RecoveryCodes,
		func(c string) bool { return slices.Contains(verified.RecoveryCodes, c) }) {
		t.Errorf("%v after %v, %v", again, verified, err)
	}
	if err := remove(o.Fresh()); err != nil || o.Stored() != "" || len(o.Factors()) != 0 {
		t.Errorf("removed: %v", err)
	}
	o.Happened(o.UserID, "removed")
	testkit.Refused(t, remove(o.Fresh()), "OTP_NOT_FOUND")
	_, err = regenerate(o.Fresh())
	testkit.Refused(t, err, "OTP_NOT_FOUND")
	_, err = o.Verify("123456")
	testkit.Refused(t, err, "OTP_NOT_FOUND")
	if _, err := o.Add(false); err != nil {
		t.Errorf("another app after it: %v", err)
	}
}

// An administrator can remove a user's app, unless the user has more permissions.
func TestOTPOfOthers(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	remove := func(ctx context.Context, userID string) error {
		_, err := o.Gateway.RemoveOtp(ctx, &usersv1.RemoveOtpRequest{UserId: userID})
		return err
	}
	search := func(ctx context.Context, userID string) (int, error) {
		r, err := o.Gateway.SearchAuthFactors(ctx, &usersv1.SearchAuthFactorsRequest{UserId: userID})
		return len(r.GetResult()), err
	}
	viewer := o.Person(o.Admin, "viewer")
	o.AddMember(o.Admin, viewer, "ORG_OWNER_VIEWER")
	owner := o.Person(o.Admin, "owner")
	o.AddMember(o.Admin, owner, "ORG_OWNER")
	o.Must(o.Gateway.AddMyOtp(o.Admin, &usersv1.AddMyOtpRequest{}))
	if n, err := search(o.Login(o.Admin, viewer, ""), o.UserID); n != 1 || err != nil {
		t.Errorf("the viewer finds %d, %v", n, err)
	}
	_, err := search(o.Login(o.Admin, o.UserID, ""), viewer)
	testkit.Refused(t, err, "PERMISSION_DENIED")
	_, err = search(o.Admin, "nobody")
	testkit.Refused(t, err, "USER_NOT_FOUND")

	testkit.Refused(t, remove(o.Login(o.Admin, viewer, ""), o.UserID), "PERMISSION_DENIED")
	testkit.Refused(t, remove(o.Login(o.Admin, owner, ""), o.AdminID), "ESCALATION", "iam.")
	testkit.Refused(t, remove(o.Admin, o.AdminID), "FRESH_LOGIN_REQUIRED")
	testkit.Refused(t, remove(o.Admin, "nobody"), "OTP_NOT_FOUND")
	testkit.Refused(t, remove(o.Admin, viewer), "OTP_NOT_FOUND")
	if err := remove(o.Login(o.Admin, owner, ""), o.UserID); err != nil || len(o.Factors()) != 0 {
		t.Errorf("removed: %v", err)
	}
}

func TestOTPOfMachine(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	robot, err := o.Gateway.CreateMachineUser(o.Admin, &usersv1.CreateMachineUserRequest{UserName: "r", Name: "Robot"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.Gateway.AddMyOtp(o.Login(o.Admin, robot.UserId, ""), &usersv1.AddMyOtpRequest{})
	testkit.Refused(t, err, "USER_NOT_HUMAN")
	if fault.From(err).Code != fault.Precondition {
		t.Errorf("a machine's app is %v", err)
	}
}

// An imported app needs no verification and can get recovery codes.
func TestImportedOTP(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	r := testworld.Minimal("maxi")
	r.Email.IsEmailVerified, r.HashedPassword = true, testworld.Hashed(testworld.SomeHash)
	r.OtpCode = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
	got, err := o.Gateway.ImportHumanUser(o.Admin, r)
	if err != nil {
		t.Fatal(err)
	}
	o.Me = o.Caller(o.Admin, got.UserId, "")
	if f := o.Factors(); len(f) != 1 || f[0].State != usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY ||
		f[0].Details.Sequence != got.Details.Sequence {
		t.Errorf("%v after %v", f, got.Details)
	}
	_, err = o.Add(true)
	testkit.Refused(t, err, "OTP_ALREADY_READY")
	again, err := o.Gateway.RegenerateMyRecoveryCodes(o.Fresh(), &usersv1.RegenerateMyRecoveryCodesRequest{})
	if err != nil || len(again.RecoveryCodes) != 10 {
		t.Errorf("%v, %v", again, err)
	}
}

// The app of a removed user is removed, with an event.
func TestOTPGoesWithItsUser(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	o.Must(o.Verify(testworld.Shown(t, o.Key, o.Ground.Now())))
	o.Must(o.Gateway.RemoveUser(o.Admin, &usersv1.RemoveUserRequest{UserId: o.UserID}))
	if n := o.Rows(`events e join events c on c.id = e.data->>'cause' where e.aggregate = 'otp' and e.name = 'removed'
		and e.aggregate_id = $1 and c.aggregate_id = $1`, o.UserID); n != 1 || o.Stored() != "" {
		t.Errorf("%d events, app %q", n, o.Stored())
	}
}

// The secret, recovery codes and entered codes are in no table, event, message or log.
func TestOTPLeaksNothing(t *testing.T) {
	t.Parallel()
	var log testkit.Lines
	w := testworld.NewOn(t, testkit.Logged(t, testkit.Ground(t), slog.LevelDebug, &log))
	events, err := testkit.Connect(t, w.Ground, "subscriber").SubscribeSync("events.users.otp.>")
	if err != nil {
		t.Fatal(err)
	}
	me := w.Login(w.Admin, w.Person(w.Admin, "mini"), "")
	added, err := w.Gateway.AddMyOtp(me, &usersv1.AddMyOtpRequest{})
	if err != nil {
		t.Fatal(err)
	}
	const canary = "CANARY"
	_, err = w.Gateway.VerifyMyOtp(me, &usersv1.VerifyMyOtpRequest{Code: canary})
	testkit.Refused(t, err, "CODE_WRONG")
	verified, err := w.Gateway.VerifyMyOtp(me, &usersv1.VerifyMyOtpRequest{
		Code: testworld.Shown(t, added.Secret, w.Ground.Now()),
	})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, name := range []string{"added", "code_refused", "verified"} {
		m, err := events.NextMsg(30 * time.Second)
		if err != nil || !strings.Contains(m.Subject, ".otp."+name+".") {
			t.Fatalf("%v, %v, want %s", m, err, name)
		}
		texts["message "+name] = fmt.Sprint(m.Subject, m.Header, string(m.Data))
	}
	for _, table := range []string{"users", "otp_factors", "codes", "password_tries", "events", "outbox"} {
		var dump string
		w.Must(nil, w.Service.DB.QueryRow(t.Context(),
			`select coalesce(string_agg(x::text, E'\n'), '') from `+table+" x").Scan(&dump))
		texts["table "+table] = dump
	}
	texts["log"] = log.String()
	for _, secret := range append([]string{canary, added.Secret}, verified.RecoveryCodes...) {
		bare := strings.ReplaceAll(secret, "-", "")
		for place, text := range texts {
			for _, form := range []string{secret, bare, hex.EncodeToString([]byte(bare))} {
				if strings.Contains(text, form) {
					t.Errorf("%s: %q stands in %s", place, form, text)
				}
			}
		}
	}
}
