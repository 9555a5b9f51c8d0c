package domain_test

import (
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"herald/services/users/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/secret"
)

// rfcKey is the secret of RFC 6238, appendix B.
var rfcKey = secret.NewText(base32.StdEncoding.EncodeToString([]byte("12345678901234567890")))

// noon is the beginning of a time step.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// app is an authenticator app with its secret.
type app struct {
	*testing.T
	domain.OTP
	key secret.Text
}

func newApp(t *testing.T) *app {
	t.Helper()
	return &app{t, domain.NewOTP(domain.User{ID: "u", OrgID: "o"}, []byte("sealed"), false), domain.NewOTPKey()}
}

// ready returns an app that was verified the day before, and its recovery codes.
func ready(t *testing.T) (*app, []string) {
	t.Helper()
	a := newApp(t)
	recovery, err := a.Verify(a.key, a.code(noon.Add(-24*time.Hour)), noon.Add(-24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return a, recovery
}

// code returns the code that the app shows.
func (a *app) code(at time.Time) string {
	a.Helper()
	code, err := totp.GenerateCode(a.key.Reveal(), at)
	if err != nil {
		a.Fatal(err)
	}
	return code
}

// wrong returns a code that the app does not show at about that time.
func (a *app) wrong(at time.Time) string {
	var shown []string
	for step := -2; step <= 2; step++ {
		shown = append(shown, a.code(at.Add(time.Duration(step)*30*time.Second)))
	}
	for n := 0; ; n++ {
		if code := fmt.Sprintf("%06d", n); !slices.Contains(shown, code) {
			return code
		}
	}
}

// takes checks a code and fails the test if the error is not want, which is nil for an accepted
// code.
func (a *app) takes(code string, at time.Time, want error) {
	a.Helper()
	if err := a.Check(a.key, code, at); !errors.Is(err, want) || want == nil && err != nil {
		a.Errorf("%q at %s: %v, want %v", code, at.Format(time.TimeOnly), err, want)
	}
}

// The test vectors of RFC 6238, appendix B, cut to six digits.
func TestOTPVectors(t *testing.T) {
	t.Parallel()
	for at, code := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037",
		20000000000: "353130",
	} {
		a := app{T: t, OTP: domain.OTP{State: domain.FactorReady}, key: rfcKey}
		a.takes(code, time.Unix(at, 0), nil)
	}
}

func TestOTPDrift(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]error{
		-60 * time.Second: usersfault.ErrCodeWrong, -30 * time.Second: nil, 0: nil, 30 * time.Second: nil,
		60 * time.Second: usersfault.ErrCodeWrong,
	} {
		for _, at := range []time.Time{noon, noon.Add(29 * time.Second)} {
			a, _ := ready(t)
			a.takes(a.code(at.Add(ahead)), at, want)
		}
	}
}

// The code of a time step is accepted once, and then none of an older step (RFC 6238, section 5.2).
func TestOTPReplay(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	if _, err := a.Verify(a.key, a.code(noon), noon); err != nil {
		t.Fatal(err)
	}
	a.takes(a.code(noon), noon, usersfault.ErrCodeWrong)
	a.takes(a.code(noon.Add(-30*time.Second)), noon, usersfault.ErrCodeWrong)
	next := noon.Add(30 * time.Second)
	a.takes(a.code(noon), next, usersfault.ErrCodeWrong)
	a.takes(a.code(next), next, nil)
	a.takes(a.code(next), next, usersfault.ErrCodeWrong)
}

// After the fifth wrong code within 15 minutes no code is accepted for 15 minutes, not even a right
// one.
func TestOTPLock(t *testing.T) {
	t.Parallel()
	for name, wrongAt := range map[string][]time.Duration{
		"at once": {0, 0, 0, 0, 0},
		"slowly":  {0, 3 * time.Minute, 6 * time.Minute, 9 * time.Minute, 15*time.Minute - 1},
		"across a window": {0, 14 * time.Minute, 14 * time.Minute, 16 * time.Minute, 16 * time.Minute,
			16 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			a, recovery := ready(t)
			var fifth time.Time
			for _, after := range wrongAt {
				fifth = noon.Add(after)
				if wait := a.LockedFor(fifth); wait > 0 {
					t.Errorf("locked early, at %s", fifth)
				}
				a.takes(a.wrong(fifth), fifth, usersfault.ErrCodeWrong)
			}
			last := fifth.Add(15*time.Minute - time.Second)
			for _, at := range []time.Time{fifth, last} {
				a.takes(a.code(at), at, usersfault.ErrOTPLocked)
				a.takes(recovery[0], at, usersfault.ErrOTPLocked)
			}
			if f := fault.From(a.Check(a.key, a.code(last), last)); f.RetryAfter != time.Second {
				t.Errorf("try again after %s", f.RetryAfter)
			}
			open := fifth.Add(15 * time.Minute)
			a.takes(a.wrong(open), open, usersfault.ErrCodeWrong)
			a.takes(a.code(open), open, nil)
			a.takes(recovery[0], open, nil)
			if len(a.WrongAt) != 1 {
				t.Errorf("%d wrong codes are kept", len(a.WrongAt))
			}
		})
	}
}

// Wrong codes that are too far apart do not lock the app. Right codes between wrong ones change
// nothing.
func TestOTPNoLock(t *testing.T) {
	t.Parallel()
	a, recovery := ready(t)
	for n := range 20 {
		at := noon.Add(time.Duration(n) * 4 * time.Minute)
		a.takes(a.wrong(at), at, usersfault.ErrCodeWrong)
		a.takes(a.code(at), at, nil)
	}
	at := noon.Add(19 * 4 * time.Minute)
	a.takes(a.wrong(at), at, usersfault.ErrCodeWrong)
	a.takes(recovery[0], at, usersfault.ErrOTPLocked)
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	a, recovery := ready(t)
	if n := len(slices.Compact(slices.Sorted(slices.Values(recovery)))); n != 10 || len(a.RecoveryCodes) != 10 {
		t.Errorf("%d codes, %d hashes", n, len(a.RecoveryCodes))
	}
	foreign, _ := ready(t)
	for n, typed := range []string{
		recovery[0], strings.ToLower(recovery[1]), strings.ReplaceAll(recovery[2], "-", ""),
		" " + strings.ReplaceAll(recovery[3], "-", " - ") + " ",
	} {
		at := noon.Add(time.Duration(n) * time.Hour)
		foreign.takes(typed, at, usersfault.ErrCodeWrong)
		a.takes(recovery[4][:13], at, usersfault.ErrCodeWrong)
		a.takes(typed, at, nil)
		a.takes(typed, at, usersfault.ErrCodeWrong)
		if len(a.RecoveryCodes) != 9-n {
			t.Errorf("%d codes are left", len(a.RecoveryCodes))
		}
	}
	renewed, err := a.RenewRecoveryCodes(a.key)
	if err != nil || len(a.RecoveryCodes) != 10 {
		t.Fatalf("%d, %v", len(a.RecoveryCodes), err)
	}
	later := noon.Add(24 * time.Hour)
	a.takes(recovery[9], later, usersfault.ErrCodeWrong)
	a.takes(renewed[9], later, nil)
}

// A recovery code has twelve characters of an alphabet of 32, which all occur: 60 bits.
func TestRecoveryCodesAreRandom(t *testing.T) {
	t.Parallel()
	seen, form := map[rune]bool{}, regexp.MustCompile(`^\w{4}-\w{4}-\w{4}$`)
	a, _ := ready(t)
	for range 100 {
		codes, err := a.RenewRecoveryCodes(a.key)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range codes {
			if !form.MatchString(code) {
				t.Errorf("code %q", code)
			}
			for _, r := range strings.ReplaceAll(code, "-", "") {
				seen[r] = true
			}
		}
	}
	if len(seen) != 32 {
		t.Errorf("%d characters occur", len(seen))
	}
}

func TestOTPStates(t *testing.T) {
	t.Parallel()
	waiting := newApp(t)
	waiting.takes(waiting.code(noon), noon, usersfault.ErrOTPNotReady)
	if _, err := waiting.RenewRecoveryCodes(waiting.key); !errors.Is(err, usersfault.ErrOTPNotReady) {
		t.Errorf("recovery codes of one that is not verified: %v", err)
	}
	for range 5 {
		if _, err := waiting.Verify(waiting.key, waiting.wrong(noon), noon); !errors.Is(err, usersfault.ErrCodeWrong) {
			t.Error(err)
		}
	}
	if _, err := waiting.Verify(waiting.key, waiting.code(noon), noon); !errors.Is(err, usersfault.ErrOTPLocked) {
		t.Error(err)
	}
	if err := waiting.Renew(domain.OTP{Secret: []byte("other")}, noon); err != nil || waiting.LockedFor(noon) > 0 ||
		string(waiting.Secret) != "other" {
		t.Errorf("renewed: %v, %+v", err, waiting.OTP)
	}
	a, _ := ready(t)
	if _, err := a.Verify(a.key, a.code(noon), noon); !errors.Is(err, usersfault.ErrOTPAlreadyVerified) {
		t.Errorf("verified twice: %v", err)
	}
	err := a.Renew(domain.OTP{Secret: []byte("other")}, noon)
	if !errors.Is(err, usersfault.ErrOTPAlreadyReady) || string(a.Secret) != "sealed" {
		t.Errorf("renewed: %v", err)
	}
}

// An application with openid alone cannot change the secret that a person is just scanning. It hinders nobody: every
// other token replaces what it prepared, at once.
func TestRenewingWithOpenIDAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		by, there bool
		after     time.Duration
		want      error
	}{
		"openid alone, by more":           {by: false, there: true},
		"more, by more":                   {by: false, there: false},
		"openid alone, by openid alone":   {by: true, there: true},
		"more, by openid alone, too soon": {true, false, 10*time.Minute - 1, usersfault.ErrOTPNotVerified},
		"more, by openid alone, later":    {by: true, there: false, after: 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := domain.OTP{State: domain.FactorNotReady, Secret: []byte("old"), OpenIDOnly: test.there}
			f.ChangedAt = noon
			err := f.Renew(domain.OTP{Secret: []byte("new"), OpenIDOnly: test.by}, noon.Add(test.after))
			if !errors.Is(err, test.want) || (string(f.Secret) == "new") != (err == nil) ||
				err == nil && f.OpenIDOnly != test.by {
				t.Errorf("%v, %+v", err, f)
			}
		})
	}
}

func TestMayHaveOTP(t *testing.T) {
	t.Parallel()
	for u, want := range map[domain.User]error{
		{Type: domain.Human, State: domain.UserActive}:    nil,
		{Type: domain.Human, State: domain.UserLocked}:    usersfault.ErrUserNotActive,
		{Type: domain.Human, State: domain.UserInitial}:   usersfault.ErrUserNotInitialized,
		{Type: domain.Machine, State: domain.UserActive}:  usersfault.ErrUserNotHuman,
		{Type: domain.Machine, State: domain.UserInitial}: usersfault.ErrUserNotHuman,
	} {
		if err := u.MayHaveOTP(); !errors.Is(err, want) {
			t.Errorf("type %d in state %d: %v, want %v", u.Type, u.State, err, want)
		}
	}
}

func TestOTPKey(t *testing.T) {
	t.Parallel()
	key := domain.NewOTPKey()
	random, err := base32.StdEncoding.DecodeString(key.Reveal())
	if err != nil || len(random) != 20 || key.Reveal() == domain.NewOTPKey().Reveal() {
		t.Errorf("%d bytes, %v", len(random), err)
	}
	if again, err := domain.OTPSecret(key.Reveal()); again != key.Reveal() || err != nil {
		t.Errorf("an import of it: %q, %v", again, err)
	}
}

func TestCheckOTPIssuer(t *testing.T) {
	t.Parallel()
	for issuer, ok := range map[string]bool{
		"Herald": true, "Müller & Söhne 100%": true, "日本": true, strings.Repeat("ä", 100): true,
		"": false, " ": false, " Herald": false, "Herald ": false, "Her:ald": false, "a\nb": false, "a\u200bb": false,
		"a\xffb": false, strings.Repeat("a", 101): false,
	} {
		err := domain.CheckOTPIssuer(issuer)
		if (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "HERALD_OTP_ISSUER: ") {
			t.Errorf("%q: %v", issuer, err)
		}
	}
}

func TestOTPURL(t *testing.T) {
	t.Parallel()
	const want = "otpauth://totp/A%20%26%20B:mini%3Aa%2Fb%40example.com?algorithm=SHA1&digits=6&" +
		"issuer=A%20%26%20B&period=30&secret=JBSWY3DPEHPK3PXP"
	got := domain.OTPURL("A & B", "mini:a/b@example.com", secret.NewText("JBSWY3DPEHPK3PXP"))
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// An app that scans the QR code reads the URL.
func TestOTPURLAsQRCode(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mini@example.com", "Grüße aus 日本 :/?#", strings.Repeat("ß", 200)} {
		text := domain.OTPURL("Herald & Söhne", name, rfcKey)
		key, err := otp.NewKeyFromURL(text)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := key.Image(800, 800)
		if err != nil {
			t.Fatal(err)
		}
		bitmap, err := gozxing.NewBinaryBitmapFromImage(picture)
		if err != nil {
			t.Fatal(err)
		}
		read, err := qrcode.NewQRCodeReader().Decode(bitmap,
			map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true})
		if err != nil || read.GetText() != text {
			t.Errorf("%s was read as %v, %v", text, read, err)
		}
	}
}

// FuzzOTPURL checks that any login name is one part of the URL and changes no other part.
func FuzzOTPURL(f *testing.F) {
	for _, name := range []string{"mini", "a:b", "a/b?c#d&secret=e", "%2F", "+ ", "日本", "\x00\xff", "//evil.example"} {
		f.Add("Herald", name)
	}
	f.Fuzz(func(t *testing.T, issuer, name string) {
		if domain.CheckOTPIssuer(issuer) != nil {
			return
		}
		text := domain.OTPURL(issuer, name, rfcKey)
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		first, second, _ := strings.Cut(strings.TrimPrefix(u.EscapedPath(), "/"), ":")
		label, err1 := url.PathUnescape(first)
		login, err2 := url.PathUnescape(second)
		q := u.Query()
		if err1 != nil || err2 != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Fragment != "" ||
			label != issuer || login != name || len(q) != 5 || q.Get("issuer") != issuer ||
			q.Get("secret") != rfcKey.Reveal() || strings.ContainsAny(text, "+ ") {
			t.Errorf("%q of %q is in %s", name, issuer, text)
		}
	})
}

// FuzzOTPSecret checks that every accepted secret has one form, which an app can use.
func FuzzOTPSecret(f *testing.F) {
	for _, s := range []string{"JBSWY3DPEHPK3PXP", "jbsw y3dp-ehpk 3pxp", "JBSWY3DPEHPK3PXP====", "ÄÖÜ", "", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		kept, err := domain.OTPSecret(typed)
		if err != nil {
			return
		}
		if again, err := domain.OTPSecret(kept); again != kept || err != nil || len(kept) > 104 {
			t.Errorf("%q is kept as %q and then as %q, %v", typed, kept, again, err)
		}
		if _, err := totp.GenerateCode(kept, noon); err != nil {
			t.Errorf("%q shows no code: %v", kept, err)
		}
	})
}
