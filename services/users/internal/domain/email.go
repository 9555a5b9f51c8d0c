package domain

import "herald/shared/gen/fault/usersfault"

// Email is an address, and whether the user has proved to read its mails.
type Email struct {
	Address  string
	Verified bool
}

// EmailChange is the result of a change of the e-mail.
type EmailChange struct {
	Changed []string // names of changed fields; if empty, nothing changes
	Mail    Kind     // is sent to the address with a new code; empty for none
	Ended   []Kind   // kinds whose codes are not valid any more
	Noticed Email    // the former one, which gets a notice; its address is empty for none
}

// EmailIsCredential reports whether a change of the e-mail needs the permission to change credentials. The reader of an
// address can verify it and then set a new password. So the permission to change users is enough only while the user
// waits for the first mail, and never to set an address as verified.
func (u *User) EmailIsCredential(to Email) bool {
	waits := u.State == UserInitial || u.Uninitialized
	return (to.Verified || !waits) && to != Email{Address: u.Email, Verified: u.EmailVerified}
}

// ChangeEmail changes the user's e-mail. It ends codes for verifying an address and for a new password, because these
// are in the old mailbox or in one that is not verified. A user who waits for the first mail gets it at the new
// address, unless only a verified e-mail was missing. If the address is the same, the first code stays valid. Users who
// cannot use a code get none. An outranked address that is set again counts as a new one.
func (u *User) ChangeEmail(to Email) (EmailChange, error) {
	if u.Type != Human {
		return EmailChange{}, usersfault.ErrUserNotHuman
	}
	var c EmailChange
	moved := to.Address != u.Email || u.EmailOutranked // the codes of such an address were removed
	if to.Address != u.Email {
		c.Noticed = u.noticed()
	}
	if moved {
		c.Changed = append(c.Changed, "email.email")
	}
	if to.Verified != u.EmailVerified {
		c.Changed = append(c.Changed, "email.isEmailVerified")
	}
	if len(c.Changed) == 0 {
		return c, nil
	}
	u.Email, u.EmailVerified, u.EmailOutranked, u.PendingEmail = to.Address, to.Verified, false, ""
	c.Ended = []Kind{KindPasswordReset, KindVerifyEmail}
	switch {
	case u.settled():
		c.Changed, c.Ended = append(c.Changed, "state"), append(c.Ended, KindInit)
	case u.State == UserInitial && moved:
		c.Mail = KindInit
	case u.Awaits(KindVerifyEmail) == nil:
		c.Mail, c.Ended = KindVerifyEmail, []Kind{KindPasswordReset} // the code of KindVerifyEmail is replaced
	}
	return c, nil
}

// ChooseEmail changes the e-mail for the user. A verified address stays until the user has proved to read the mails of
// the new one, so that nobody locks themselves out by a mistyped address. Choosing it again cancels the change.
func (u *User) ChooseEmail(address string) (EmailChange, error) {
	stays := u.Type == Human && u.State == UserActive && u.EmailVerified && !u.Uninitialized && !u.EmailOutranked
	switch {
	case !stays:
		return u.ChangeEmail(Email{Address: address, Verified: u.EmailVerified && address == u.Email})
	case address == u.Email && u.PendingEmail == "", address == u.PendingEmail:
		return EmailChange{}, nil
	case address == u.Email:
		u.PendingEmail = ""
		return EmailChange{Changed: []string{"pendingEmail"}, Ended: []Kind{KindVerifyEmail}}, nil
	}
	u.PendingEmail = address
	return EmailChange{Changed: []string{"pendingEmail"}, Mail: KindVerifyEmail}, nil
}

// VerifyEmail sets the e-mail as verified. If another one is pending, it takes the place of the e-mail, and the codes
// in the old mailbox end.
func (u *User) VerifyEmail() (EmailChange, error) {
	if err := u.Awaits(KindVerifyEmail); err != nil {
		return EmailChange{}, err
	}
	if u.PendingEmail == "" {
		u.EmailVerified = true
		return EmailChange{Changed: []string{"email.isEmailVerified"}}, nil
	}
	c := EmailChange{Changed: []string{"email.email", "pendingEmail"}, Ended: []Kind{KindPasswordReset},
		Noticed: u.noticed()}
	u.Email, u.PendingEmail = u.PendingEmail, ""
	return c, nil
}
