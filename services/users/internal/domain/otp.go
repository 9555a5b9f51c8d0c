package domain

import (
	"bytes"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"herald/shared/gen/fault/usersfault"
	"herald/shared/resource"
	"herald/shared/secret"
)

// FactorState is the state of a second factor.
type FactorState int16

// The states of a factor, numbered as in its contract.
const (
	// FactorNotReady is a factor whose first code was not verified.
	FactorNotReady FactorState = iota + 1
	FactorReady
)

const (
	otpDigits   = otp.DigitsSix
	otpPeriod   = 30 // seconds
	otpDrift    = 1  // steps that an app's clock may be ahead or behind
	otpRandom   = 20 // bytes: RFC 4226, section 4
	otpTries    = 5
	otpLockTime = 15 * time.Minute
	otpScanTime = 10 * time.Minute

	recoveryCodes      = 10
	recoveryCodeLength = 12 // of 32 letters and digits: 60 bits
)

// OTP is a user's authenticator app, which shows a one-time password for each time step (RFC 6238). The key of
// its methods is the app's secret in base32.
type OTP struct {
	resource.Record
	UserID string
	OrgID  string // the user's
	State  FactorState
	// Secret is the sealed key.
	Secret []byte
	// LastStep is the time step of the code that was accepted last. Codes of this and older steps
	// are wrong.
	LastStep int64
	// WrongAt are the times of the wrong codes, the oldest first. After the fifth one within 15
	// minutes no code is accepted for the next 15.
	WrongAt []time.Time
	// RecoveryCodes are the hashes of the unused codes. They are keyed with the app's secret, which
	// stays the same when the master key changes.
	RecoveryCodes [][]byte
	// OpenIDOnly reports whether the secret was made with a token that has the scope openid alone: one of any
	// application that the user has logged in to.
	OpenIDOnly bool
	// Clients are the applications that made the app or its recovery codes in the user's name.
	Clients []string
	OTPOwner
}

// OTPOwner has what decides who gets a notice of a change of an app: the user's address and whether the user has used
// the account.
type OTPOwner struct {
	Email         string
	EmailVerified bool
	OwnerState    UserState
	Uninitialized bool
}

// NewOTPKey makes an app's secret: 20 random bytes in base32 without padding.
func NewOTPKey() secret.Text {
	random := make([]byte, otpRandom)
	rand.Read(random)
	return secret.NewText(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random))
}

// NewOTP returns a user's app, which is not verified. sealed is its secret, which was made with the scope openid alone
// if openIDOnly is true.
func NewOTP(u User, sealed []byte, openIDOnly bool) OTP {
	return OTP{UserID: u.ID, OrgID: u.OrgID, State: FactorNotReady, Secret: sealed, OpenIDOnly: openIDOnly}
}

// MayHaveOTP returns a fault for a machine, and for a user who may not have tokens.
func (u *User) MayHaveOTP() error {
	if u.Type != Human {
		return usersfault.ErrUserNotHuman
	}
	return u.MayHaveTokens()
}

// CheckOTPIssuer returns an error for an issuer that apps could not show or separate from the login
// name.
func CheckOTPIssuer(issuer string) error {
	bad := func(r rune) bool { return r == ':' || r == utf8.RuneError || !unicode.IsPrint(r) }
	if n := utf8.RuneCountInString(issuer); n == 0 || n > 100 || strings.TrimSpace(issuer) != issuer ||
		strings.ContainsFunc(issuer, bad) {
		return errors.New("HERALD_OTP_ISSUER: a name of 1 to 100 characters without colon, " +
			"invisible characters or spaces around it")
	}
	return nil
}

// OTPURL returns the URL that an app reads as a QR code. It percent-encodes everything but letters,
// digits and -._~, so that apps do not take a colon or slash of the login name for a separator.
func OTPURL(issuer, loginName string, key secret.Text) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	return "otpauth://totp/" + escape(issuer) + ":" + escape(loginName) + "?algorithm=SHA1&digits=6&issuer=" +
		escape(issuer) + "&period=30&secret=" + key.Reveal()
}

// Renew replaces an app that is not verified, and forgets the wrong codes for the old one. With openid alone it fails
// for otpScanTime after a change with more: any application could otherwise change the secret that a user has just
// scanned.
func (f *OTP) Renew(by OTP, now time.Time) error {
	switch {
	case f.State == FactorReady:
		return usersfault.ErrOTPAlreadyReady
	case by.OpenIDOnly && !f.OpenIDOnly && now.Sub(f.ChangedAt) < otpScanTime:
		return usersfault.ErrOTPNotVerified
	}
	f.Secret, f.OpenIDOnly, f.LastStep, f.WrongAt = by.Secret, by.OpenIDOnly, 0, nil
	return nil
}

// Verify verifies the app with its first code and returns recovery codes. If it returns
// ErrCodeWrong, it has counted a wrong code.
func (f *OTP) Verify(key secret.Text, typed string, now time.Time) (recovery []string, err error) {
	if f.State == FactorReady {
		return nil, usersfault.ErrOTPAlreadyVerified
	}
	if err := f.take(key, typed, now); err != nil {
		return nil, err
	}
	f.State = FactorReady
	return f.RenewRecoveryCodes(key)
}

// Check checks a code at a login: one of the app or a recovery code, each once. If it returns
// ErrCodeWrong, it has counted a wrong code.
func (f *OTP) Check(key secret.Text, typed string, now time.Time) error {
	if f.State != FactorReady {
		return usersfault.ErrOTPNotReady
	}
	return f.take(key, typed, now)
}

// RenewRecoveryCodes replaces the recovery codes and returns the new ones.
func (f *OTP) RenewRecoveryCodes(key secret.Text) ([]string, error) {
	if f.State != FactorReady {
		return nil, usersfault.ErrOTPNotReady
	}
	codes := make([]string, recoveryCodes)
	f.RecoveryCodes = make([][]byte, recoveryCodes)
	for i := range codes {
		code := rand.Text()[:recoveryCodeLength]
		codes[i] = code[:4] + "-" + code[4:8] + "-" + code[8:]
		f.RecoveryCodes[i] = f.recoveryHash(key, code)
	}
	return codes, nil
}

// NewCodes reports whether the app has recovery codes that it did not have before.
func (f *OTP) NewCodes(before OTP) bool {
	return slices.ContainsFunc(f.RecoveryCodes, func(code []byte) bool {
		return !slices.ContainsFunc(before.RecoveryCodes, func(old []byte) bool { return bytes.Equal(code, old) })
	})
}

// LockedFor returns how long no code is accepted. It is zero or less if the app is not locked.
func (f *OTP) LockedFor(now time.Time) time.Duration {
	if len(f.WrongAt) < otpTries {
		return 0
	}
	return f.WrongAt[otpTries-1].Add(otpLockTime).Sub(now)
}

// take accepts a code, or counts it as a wrong one.
func (f *OTP) take(key secret.Text, typed string, now time.Time) error {
	if wait := f.LockedFor(now); wait > 0 {
		return usersfault.ErrOTPLocked.After(wait)
	}
	code := normalize(typed)
	if step, right := f.step(key, code, now); right {
		f.LastStep = step
		return nil
	}
	hash := f.recoveryHash(key, code)
	if i := slices.IndexFunc(f.RecoveryCodes, func(h []byte) bool { return secret.Equal(h, hash) }); i >= 0 {
		f.RecoveryCodes = slices.Delete(f.RecoveryCodes, i, i+1)
		return nil
	}
	old := func(at time.Time) bool { return now.Sub(at) >= otpLockTime }
	f.WrongAt = append(slices.DeleteFunc(f.WrongAt, old), now)
	return usersfault.ErrCodeWrong
}

// step returns the time step of a code, and false if there is none or a code of this or a later
// step was accepted already (RFC 6238, section 5.2).
func (f *OTP) step(key secret.Text, code string, now time.Time) (int64, bool) {
	current := now.Unix() / otpPeriod
	for step := max(current-otpDrift, f.LastStep+1); step <= current+otpDrift; step++ {
		right, err := hotp.ValidateCustom(code, uint64(step), key.Reveal(),
			hotp.ValidateOpts{Digits: otpDigits, Algorithm: otp.AlgorithmSHA1})
		if err == nil && right {
			return step, true
		}
	}
	return 0, false
}

func (f *OTP) recoveryHash(key secret.Text, code string) []byte {
	return secret.MAC([]byte(key.Reveal()), "recovery code", f.UserID, code)
}
