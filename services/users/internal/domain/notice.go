package domain

import (
	"time"

	"herald/shared/mailkind"
)

// The kinds of notices, which have no codes.
const (
	KindEmailChanged    = Kind(mailkind.EmailChanged)
	KindPasswordChanged = Kind(mailkind.PasswordChanged)
)

// NoticeKept is how long what a notice tells is kept. Mails are tried for 72 hours.
const NoticeKept = 7 * 24 * time.Hour

// noticed returns the e-mail that gets a notice of a change; none if the address is empty. Somebody who never
// used the account, and whose address may be mistyped, gets none.
func (u *User) noticed() Email {
	if u.Type != Human || u.State == UserInitial || u.Uninitialized {
		return Email{}
	}
	return Email{Address: u.Email, Verified: u.EmailVerified}
}
