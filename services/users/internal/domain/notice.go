package domain

import (
	"time"

	"herald/shared/mail"
)

// The kinds of notices, which have no codes.
const (
	KindEmailChanged     = Kind(mail.EmailChanged)
	KindPasswordChanged  = Kind(mail.PasswordChanged)
	KindOTPAdded         = Kind(mail.OTPAdded)
	KindOTPRemoved       = Kind(mail.OTPRemoved)
	KindRecoveryCodeUsed = Kind(mail.RecoveryCodeUsed)
	KindPATAdded         = Kind(mail.PATAdded)
	KindIdpLinkAdded     = Kind(mail.IdpLinkAdded)
	KindExpiring         = Kind(mail.Expiring)
)

// NoticeKept is how long the contents of a notice are kept. It is longer than the 72 hours for which a mail is tried.
const NoticeKept = 7 * 24 * time.Hour

const (
	// ExpirationsNoticed is how long after a mail about what ends soon the same person gets none about the same
	// organization.
	ExpirationsNoticed = 24 * time.Hour
	// ExpirationsAhead is how far such a mail looks ahead: up to what is announced before the next mail, 30 days before
	// its end.
	ExpirationsAhead = 30*24*time.Hour + ExpirationsNoticed
	// MostExpirations is how many things such a mail lists.
	MostExpirations = 20
)

// noticed returns the e-mail that gets a notice of a change. The address is empty if nobody gets one. A user who never
// used the account gets none, because the address may be mistyped.
func (u *User) noticed() Email {
	if u.Type != Human {
		return Email{}
	}
	return OTPOwner{u.Email, u.EmailVerified, u.State, u.Uninitialized}.noticed()
}

func (o OTPOwner) noticed() Email {
	if o.OwnerState == UserInitial || o.Uninitialized {
		return Email{}
	}
	return Email{Address: o.Email, Verified: o.EmailVerified}
}

// NoticedCredential returns the e-mail that gets a notice of a new token or linked account, as noticed does. There is
// none to an address that was never verified: it may be somebody else's, and it does not log the user in.
func (u *User) NoticedCredential() Email {
	if to := u.noticed(); to.Verified {
		return to
	}
	return Email{}
}

// Noticed returns the e-mail that gets a notice of a change of the app, as noticed does. There is no notice of an app
// that logins do not ask for.
func (f *OTP) Noticed() Email {
	if f.State != FactorReady {
		return Email{}
	}
	return f.noticed()
}
