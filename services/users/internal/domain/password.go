package domain

import "herald/shared/fault"

// ErrPasswordRequired is the fault of a missing password.
var ErrPasswordRequired = fault.New(fault.Invalid, "PASSWORD_REQUIRED", "Choose a password").
	On("password", "is missing")

// Password is one to be set, by its hash.
type Password struct {
	Hash Hidden
	// ChangeRequired asks for another one at the next login.
	ChangeRequired bool
}

// PasswordChange is what another password brings with it.
type PasswordChange struct {
	Changed []string
	Ended   []Kind // whose codes count no more
}

// SetPassword gives the user another password; a mail that offers to choose one counts
// no more. It lets a waiting user in whose e-mail is verified.
func (u *User) SetPassword(p Password) (PasswordChange, error) {
	if u.Type != Human {
		return PasswordChange{}, ErrUserNotHuman
	}
	c := PasswordChange{Changed: []string{"password"}, Ended: []Kind{KindPasswordReset}}
	if u.PasswordChangeRequired != p.ChangeRequired {
		c.Changed = append(c.Changed, "passwordChangeRequired")
	}
	u.PasswordHash, u.PasswordChangeRequired = p.Hash, p.ChangeRequired
	if u.settled() {
		c.Changed, c.Ended = append(c.Changed, "state"), append(c.Ended, KindInit)
	}
	return c, nil
}

// ResetPassword gives the password that a user chose with a mailed code, who is asked
// for no other.
func (u *User) ResetPassword(hash Hidden) (changed []string, err error) {
	if err := u.Awaits(KindPasswordReset); err != nil {
		return nil, err
	}
	c, err := u.SetPassword(Password{Hash: hash})
	return c.Changed, err
}
