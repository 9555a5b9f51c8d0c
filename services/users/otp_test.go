package users_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/shared/caller"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// shown returns the code that an app with a secret shows. oathtool is an independent
// implementation.
func shown(t testing.TB, key string, at time.Time) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "oathtool", "--totp", "--base32", "--now",
		at.UTC().Format("2006-01-02 15:04:05 UTC"), key).CombinedOutput()
	if err != nil {
		t.Fatalf("oathtool: %v %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// otp is a world with a person who has an authenticator app.
type otp struct {
	*world
	me     caller.Caller
	userID string
	key    string
	// ahead is added to the world's time.
	ahead *atomic.Int64
}

// newOTP imports a person who then adds an app.
func newOTP(t *testing.T) *otp {
	t.Helper()
	o := &otp{ahead: new(atomic.Int64)}
	g := testkit.Ground(t)
	g.Now = func() time.Time { return time.Now().Add(time.Duration(o.ahead.Load())) }
	o.world = startWorld(t, g)
	o.userID = o.person(o.admin, "mini")
	o.me = o.caller(o.admin, o.userID, "")
	r, err := o.add(false)
	if err != nil {
		t.Fatal(err)
	}
	if d := o.factors()[0].Details; !proto.Equal(d, r.Details) {
		t.Errorf("details %v, added with %v", d, r.Details)
	}
	o.key = r.Secret
	return o
}

func (o *otp) ctx() context.Context { return o.as(o.me) }

// fresh returns the person's context with a login of just now.
func (o *otp) fresh() context.Context {
	c := o.me
	c.AuthenticatedAt = o.ground.Now()
	return o.as(c)
}

func (o *otp) add(replace bool) (*usersv1.AddMyOtpResponse, error) {
	return o.gateway.AddMyOtp(o.ctx(), &usersv1.AddMyOtpRequest{Replace: replace})
}

func (o *otp) verify(code string) (*usersv1.VerifyMyOtpResponse, error) {
	return o.gateway.VerifyMyOtp(o.ctx(), &usersv1.VerifyMyOtpRequest{Code: code})
}

func (o *otp) factors() []*usersv1.AuthFactor {
	o.Helper()
	r, err := o.gateway.SearchMyAuthFactors(o.ctx(), &usersv1.SearchMyAuthFactorsRequest{})
	if err != nil {
		o.Fatal(err)
	}
	if r.Details.TotalResult != uint64(len(r.Result)) {
		o.Errorf("%v", r)
	}
	return r.Result
}

// stored returns the row of the app, to test that a refused call does not change it.
func (o *otp) stored() (row string) {
	o.Helper()
	if err := o.service.DB.QueryRow(o.Context(), `select coalesce(string_agg(f::text, ''), '') from otp_factors f`).
		Scan(&row); err != nil {
		o.Fatal(err)
	}
	return row
}

func TestOTP(t *testing.T) {
	t.Parallel()
	o := newOTP(t)
	before := o.user(o.userID).Details
	f := o.factors()[0]
	if f.State != usersv1.AuthFactorState_AUTH_FACTOR_STATE_NOT_READY || f.GetOtp() == nil ||
		f.Details.ResourceOwner != o.orgID {
		t.Errorf("added: %v", f)
	}
	row := o.stored()
	_, err := o.add(false)
	refused(t, err, "OTP_NOT_VERIFIED", "_verify", "DELETE", `{"replace":true}`)
	if o.stored() != row {
		t.Error("a refused call changed the app")
	}
	replaced, err := o.add(true)
	if err != nil || replaced.Secret == o.key || replaced.Url != "otpauth://totp/Herald:mini?algorithm=SHA1&digits=6&"+
		"issuer=Herald&period=30&secret="+replaced.Secret {
		t.Fatalf("replaced: %v, %v", replaced, err)
	}
	_, err = o.verify(shown(t, o.key, o.ground.Now()))
	refused(t, err, "CODE_WRONG")
	if fault.From(err).Code != fault.Invalid {
		t.Errorf("a wrong code is %v", err)
	}
	code := shown(t, replaced.Secret, o.ground.Now())
	verified, err := o.verify(code[:3] + " " + code[3:])
	if err != nil || len(verified.RecoveryCodes) != 10 {
		t.Fatalf("verified: %v, %v", verified, err)
	}
	f = o.factors()[0]
	if f.State != usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY || f.GetOtp().RecoveryCodesLeft != 10 ||
		f.Details.Sequence != verified.Details.Sequence ||
		!f.Details.ChangeDate.AsTime().Equal(verified.Details.ChangeDate.AsTime()) {
		t.Errorf("verified: %v, after %v", f, verified.Details)
	}
	if after := o.user(o.userID).Details; after.Sequence != before.Sequence {
		t.Errorf("the user changed with the app: %v, %v", before, after)
	}

	row = o.stored()
	_, err = o.verify(code)
	refused(t, err, "OTP_ALREADY_VERIFIED")
	for _, replace := range []bool{false, true} {
		_, err = o.add(replace)
		refused(t, err, "OTP_ALREADY_READY")
		if fault.From(err).Code != fault.Exists {
			t.Errorf("a second app is %v", err)
		}
	}
	if o.stored() != row {
		t.Error("a refused call changed the app")
	}
	changes, err := o.gateway.SearchMyChanges(o.ctx(), &usersv1.SearchMyChangesRequest{})
	want := []string{"otp.verified by ", "otp.code_refused by ", "otp.added by ", "otp.added by "}
	for i := range want {
		want[i] += o.userID
	}
	if got := kinds(changes); err != nil || !slices.Equal(got[:4], want) {
		t.Errorf("%v, %v", got, err)
	}
}

// Hostile case 5: texts that are no codes are refused.
func TestOTPWithoutCode(t *testing.T) {
	t.Parallel()
	o := newOTP(t)
	row := o.stored()
	for _, code := range []string{"", strings.Repeat("1", 65)} {
		_, err := o.verify(code)
		refused(t, err, "INVALID_ARGUMENT")
	}
	if o.stored() != row {
		t.Error("what cannot be a code was counted")
	}
	other := o.person(o.admin, "maxi")
	theirs := o.login(o.admin, other, "")
	added, err := o.gateway.AddMyOtp(theirs, &usersv1.AddMyOtpRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"null", "[]", "０００００１", shown(t, added.Secret, o.ground.Now())} {
		_, err := o.verify(code)
		refused(t, err, "CODE_WRONG")
	}
}

func TestOTPAtOnce(t *testing.T) {
	t.Parallel()
	o := newOTP(t)
	o.me = o.caller(o.admin, o.person(o.admin, "maxi"), "")
	var key atomic.Pointer[string]
	if n := testkit.Race(t, 50, func(int) error {
		r, err := o.add(false)
		if err == nil {
			key.Store(&r.Secret)
		}
		return err
	}, "OTP_NOT_VERIFIED"); n != 1 {
		t.Fatalf("%d of 50 added an app", n)
	}
	code := shown(t, *key.Load(), o.ground.Now())
	if n := testkit.Race(t, 50, func(int) error { _, err := o.verify(code); return err },
		"OTP_ALREADY_VERIFIED"); n != 1 {
		t.Errorf("%d of 50 verified it", n)
	}
}

// Hostile case 10: of fifty guesses five are compared, one after another or at once.
func TestOTPGuesses(t *testing.T) {
	t.Parallel()
	for name, guess := range map[string]func(o *otp){
		"at once": func(o *otp) {
			var evaluated atomic.Int64
			testkit.Race(t, 50, func(int) error {
				_, err := o.verify("guess")
				if fault.From(err).ID == "CODE_WRONG" {
					evaluated.Add(1)
				}
				return err
			}, "CODE_WRONG", "OTP_LOCKED")
			if n := evaluated.Load(); n != 5 {
				t.Errorf("%d guesses were looked at", n)
			}
		},
		"one by one": func(o *otp) {
			for range 5 {
				_, err := o.verify("guess")
				refused(t, err, "CODE_WRONG")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOTP(t)
			guess(o)
			_, err := o.verify(shown(t, o.key, o.ground.Now()))
			refused(t, err, "OTP_LOCKED")
			if f := fault.From(err); f.Code != fault.Exhausted || f.RetryAfter < 14*time.Minute ||
				f.RetryAfter > 15*time.Minute {
				t.Errorf("try again after %s", f.RetryAfter)
			}
			wrong, locks := o.rows("events where name = 'code_refused'"), o.rows("events where name = 'locked'")
			if wrong != 4 || locks != 1 {
				t.Errorf("%d events of wrong codes, %d of locks", wrong, locks)
			}
			o.ahead.Add(int64(15 * time.Minute))
			if _, err := o.verify(shown(t, o.key, o.ground.Now())); err != nil {
				t.Errorf("after 15 minutes: %v", err)
			}
		})
	}
}

func TestRecoveryCodesAndRemoval(t *testing.T) {
	t.Parallel()
	o := newOTP(t)
	regenerate := func(ctx context.Context) (*usersv1.RegenerateMyRecoveryCodesResponse, error) {
		return o.gateway.RegenerateMyRecoveryCodes(ctx, &usersv1.RegenerateMyRecoveryCodesRequest{})
	}
	remove := func(ctx context.Context) error {
		_, err := o.gateway.RemoveMyOtp(ctx, &usersv1.RemoveMyOtpRequest{})
		return err
	}
	_, err := regenerate(o.fresh())
	refused(t, err, "OTP_NOT_READY")
	verified, err := o.verify(shown(t, o.key, o.ground.Now()))
	if err != nil {
		t.Fatal(err)
	}
	row := o.stored()
	_, err = regenerate(o.ctx())
	refused(t, err, "FRESH_LOGIN_REQUIRED")
	refused(t, remove(o.ctx()), "FRESH_LOGIN_REQUIRED")
	if o.stored() != row {
		t.Error("a refused call changed the app")
	}
	again, err := regenerate(o.fresh())
	if err != nil || len(again.RecoveryCodes) != 10 || slices.ContainsFunc(again.RecoveryCodes,
		func(c string) bool { return slices.Contains(verified.RecoveryCodes, c) }) {
		t.Errorf("%v after %v, %v", again, verified, err)
	}
	if err := remove(o.fresh()); err != nil || o.stored() != "" || len(o.factors()) != 0 {
		t.Errorf("removed: %v", err)
	}
	if _, name, _ := o.last(o.userID); name != "removed" {
		t.Errorf("the last event is %s", name)
	}
	refused(t, remove(o.fresh()), "OTP_NOT_FOUND")
	_, err = regenerate(o.fresh())
	refused(t, err, "OTP_NOT_FOUND")
	_, err = o.verify("123456")
	refused(t, err, "OTP_NOT_FOUND")
	if _, err := o.add(false); err != nil {
		t.Errorf("another app after it: %v", err)
	}
}

// An administrator can remove a user's app, unless the user has more permissions.
func TestOTPOfOthers(t *testing.T) {
	t.Parallel()
	o := newOTP(t)
	remove := func(ctx context.Context, userID string) error {
		_, err := o.gateway.RemoveOtp(ctx, &usersv1.RemoveOtpRequest{UserId: userID})
		return err
	}
	search := func(ctx context.Context, userID string) (int, error) {
		r, err := o.gateway.SearchAuthFactors(ctx, &usersv1.SearchAuthFactorsRequest{UserId: userID})
		return len(r.GetResult()), err
	}
	viewer := o.person(o.admin, "viewer")
	o.addMember(o.admin, viewer, "ORG_OWNER_VIEWER")
	owner := o.person(o.admin, "owner")
	o.addMember(o.admin, owner, "ORG_OWNER")
	if _, err := o.gateway.AddMyOtp(o.admin, &usersv1.AddMyOtpRequest{}); err != nil {
		t.Fatal(err)
	}
	if n, err := search(o.login(o.admin, viewer, ""), o.userID); n != 1 || err != nil {
		t.Errorf("the viewer finds %d, %v", n, err)
	}
	_, err := search(o.login(o.admin, o.userID, ""), viewer)
	refused(t, err, "PERMISSION_DENIED")
	_, err = search(o.admin, "nobody")
	refused(t, err, "USER_NOT_FOUND")

	refused(t, remove(o.login(o.admin, viewer, ""), o.userID), "PERMISSION_DENIED")
	refused(t, remove(o.login(o.admin, owner, ""), o.adminID), "ESCALATION", "iam.")
	refused(t, remove(o.admin, o.adminID), "FRESH_LOGIN_REQUIRED")
	refused(t, remove(o.admin, "nobody"), "OTP_NOT_FOUND")
	refused(t, remove(o.admin, viewer), "OTP_NOT_FOUND")
	if err := remove(o.login(o.admin, owner, ""), o.userID); err != nil || len(o.factors()) != 0 {
		t.Errorf("removed: %v", err)
	}
}

func TestOTPOfMachine(t *testing.T) {
	t.Parallel()
	o := newOTP(t)
	robot, err := o.gateway.CreateMachineUser(o.admin, &usersv1.CreateMachineUserRequest{UserName: "r", Name: "Robot"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.gateway.AddMyOtp(o.login(o.admin, robot.UserId, ""), &usersv1.AddMyOtpRequest{})
	refused(t, err, "USER_NOT_HUMAN")
	if fault.From(err).Code != fault.Precondition {
		t.Errorf("a machine's app is %v", err)
	}
}

// An imported app needs no verification and can get recovery codes.
func TestImportedOTP(t *testing.T) {
	t.Parallel()
	o := newOTP(t)
	r := minimal("maxi")
	r.Email.IsEmailVerified, r.HashedPassword = true, hashed(someHash)
	r.OtpCode = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
	got, err := o.gateway.ImportHumanUser(o.admin, r)
	if err != nil {
		t.Fatal(err)
	}
	o.me = o.caller(o.admin, got.UserId, "")
	if f := o.factors(); len(f) != 1 || f[0].State != usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY ||
		f[0].Details.Sequence != got.Details.Sequence {
		t.Errorf("%v after %v", f, got.Details)
	}
	_, err = o.add(true)
	refused(t, err, "OTP_ALREADY_READY")
	again, err := o.gateway.RegenerateMyRecoveryCodes(o.fresh(), &usersv1.RegenerateMyRecoveryCodesRequest{})
	if err != nil || len(again.RecoveryCodes) != 10 {
		t.Errorf("%v, %v", again, err)
	}
}

// The app of a removed user is removed, with an event.
func TestOTPGoesWithItsUser(t *testing.T) {
	t.Parallel()
	o := newOTP(t)
	if _, err := o.verify(shown(t, o.key, o.ground.Now())); err != nil {
		t.Fatal(err)
	}
	if _, err := o.gateway.RemoveUser(o.admin, &usersv1.RemoveUserRequest{UserId: o.userID}); err != nil {
		t.Fatal(err)
	}
	if n := o.rows(`events e join events c on c.id = e.data->>'cause' where e.aggregate = 'otp' and e.name = 'removed'
		and e.aggregate_id = $1 and c.aggregate_id = $1`, o.userID); n != 1 || o.stored() != "" {
		t.Errorf("%d events, app %q", n, o.stored())
	}
}

// Hostile case 21: the secret, recovery codes and entered codes are in no table, event, message or
// log.
func TestOTPLeaksNothing(t *testing.T) {
	t.Parallel()
	var log testkit.Lines
	w := startWorld(t, testkit.Logged(t, testkit.Ground(t), slog.LevelDebug, &log))
	events, err := testkit.Connect(t, w.ground, "subscriber").SubscribeSync("events.users.otp.>")
	if err != nil {
		t.Fatal(err)
	}
	me := w.login(w.admin, w.person(w.admin, "mini"), "")
	added, err := w.gateway.AddMyOtp(me, &usersv1.AddMyOtpRequest{})
	if err != nil {
		t.Fatal(err)
	}
	const canary = "CANARY"
	_, err = w.gateway.VerifyMyOtp(me, &usersv1.VerifyMyOtpRequest{Code: canary})
	refused(t, err, "CODE_WRONG")
	verified, err := w.gateway.VerifyMyOtp(me, &usersv1.VerifyMyOtpRequest{
		Code: shown(t, added.Secret, w.ground.Now()),
	})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, name := range []string{"added", "code_refused", "verified"} {
		m, err := events.NextMsg(30 * time.Second)
		if err != nil || !strings.Contains(m.Subject, ".otp."+name+".") {
			t.Fatalf("%v, %v, want %s", m, err, name)
		}
		said["message "+name] = fmt.Sprint(m.Subject, m.Header, string(m.Data))
	}
	for _, table := range []string{"users", "otp_factors", "codes", "password_tries", "events", "outbox"} {
		var dump string
		if err := w.service.DB.QueryRow(t.Context(),
			`select coalesce(string_agg(x::text, E'\n'), '') from `+table+" x").Scan(&dump); err != nil {
			t.Fatal(err)
		}
		said["table "+table] = dump
	}
	said["log"] = log.String()
	for _, secret := range append([]string{canary, added.Secret}, verified.RecoveryCodes...) {
		bare := strings.ReplaceAll(secret, "-", "")
		for place, text := range said {
			for _, form := range []string{secret, bare, hex.EncodeToString([]byte(bare))} {
				if strings.Contains(text, form) {
					t.Errorf("%s: %q stands in %s", place, form, text)
				}
			}
		}
	}
}
