package domain

import (
	"time"

	"herald/shared/fault"
)

const (
	// PasswordTries is how many wrong passwords end the guessing.
	PasswordTries = 10
	// PasswordPause is for how long they do, from the first of them.
	PasswordPause = 15 * time.Minute
	// GuessedPassword stands for the kind of a code where guesses at passwords are counted.
	GuessedPassword = Kind("password")
)

// Faults of passwords.
var (
	ErrPasswordRequired = fault.New(fault.Invalid, "PASSWORD_REQUIRED", "Choose a password").
				On("password", "is missing")
	ErrPasswordWrong = fault.New(fault.Invalid, "PASSWORD_WRONG", "The old password is wrong").
				On("oldPassword", "is wrong")
	ErrPasswordLocked = fault.New(fault.Exhausted, "PASSWORD_LOCKED", "Too many wrong passwords; try again later")
)

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

// ReplacePassword gives the user another password in place of one that was just verified. The
// guesses at it are forgotten. It fails where the password has changed since.
func (u *User) ReplacePassword(verified, hash Hidden) (PasswordChange, error) {
	if u.PasswordHash != verified {
		return PasswordChange{}, ErrPasswordWrong
	}
	c, err := u.SetPassword(Password{Hash: hash})
	c.Ended = append(c.Ended, GuessedPassword)
	return c, err
}
