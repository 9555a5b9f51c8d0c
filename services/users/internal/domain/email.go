package domain

import "herald/shared/fault"

// Faults of a user's e-mail.
var (
	ErrEmailVerified    = fault.New(fault.Precondition, "EMAIL_VERIFIED", "The e-mail address is verified already")
	ErrEmailNotVerified = fault.New(fault.Precondition, "EMAIL_NOT_VERIFIED", "The e-mail address is not verified: "+
		"POST /management/v1/users/{user_id}/email/_resend_verification asks the user to verify it")
)

// Email is an address, and whether its reader is known to be the user.
type Email struct {
	Address  string
	Verified bool
}

// EmailChange is what another e-mail brings with it.
type EmailChange struct {
	Changed []string // nothing happens where it is empty
	Mail    Kind     // goes to the address with a new code; empty for none
	Ended   []Kind   // whose codes count no more
}

// ChangeEmail gives the user another e-mail. Codes for verifying an address or for a
// new password end with it: they lie in the mailbox of before, or of one who is not
// known to be the user. Who still waits for the first mail gets it at the new address,
// unless an e-mail that is verified now was all that lacked; at the same address the
// first code stays. Users who can do nothing with a code are sent none.
func (u *User) ChangeEmail(to Email) (EmailChange, error) {
	if u.Type != Human {
		return EmailChange{}, ErrUserNotHuman
	}
	var c EmailChange
	moved := to.Address != u.Email
	if moved {
		c.Changed = append(c.Changed, "email.email")
	}
	if to.Verified != u.EmailVerified {
		c.Changed = append(c.Changed, "email.isEmailVerified")
	}
	if len(c.Changed) == 0 {
		return c, nil
	}
	u.Email, u.EmailVerified = to.Address, to.Verified
	c.Ended = []Kind{KindPasswordReset, KindVerifyEmail}
	switch {
	case u.settled():
		c.Changed, c.Ended = append(c.Changed, "state"), append(c.Ended, KindInit)
	case u.State == UserInitial && moved:
		c.Mail = KindInit
	case u.Awaits(KindVerifyEmail) == nil:
		c.Mail, c.Ended = KindVerifyEmail, []Kind{KindPasswordReset} // the other is replaced
	}
	return c, nil
}

// VerifyEmail notes that the user reads the mails to the address.
func (u *User) VerifyEmail() (changed []string, err error) {
	if err := u.Awaits(KindVerifyEmail); err != nil {
		return nil, err
	}
	u.EmailVerified = true
	return []string{"email.isEmailVerified"}, nil
}
