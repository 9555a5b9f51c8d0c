package domain

import (
	"time"

	"herald/shared/gen/fault/usersfault"
)

const (
	// PasswordTries is the number of wrong passwords after which guesses are refused.
	PasswordTries = 10
	// PasswordQuiet is how long fewer wrong passwords count, from the last one.
	PasswordQuiet = 15 * time.Minute
	// PasswordMemory is how long they count once guesses were refused.
	PasswordMemory = 24 * time.Hour
)

// PasswordPauses returns how long guesses are refused after that many wrong passwords, and after each further one.
// Pauses do not get longer than the last one, because a stranger who guesses must not keep the user out for longer.
func PasswordPauses() []time.Duration {
	return []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour}
}

// Password is a new password, as its hash.
type Password struct {
	Hash Hidden
	// ChangeRequired asks for another one at the next login.
	ChangeRequired bool
}

// Outgoing returns the password that the user must change. It is empty if there is none.
func (u *User) Outgoing() Hidden {
	if !u.PasswordChangeRequired {
		return ""
	}
	return u.PasswordHash
}

// PasswordChange is the result of a change of the password.
type PasswordChange struct {
	Changed []string
	Ended   []Kind // whose codes are no longer valid
	// ResetTries reports whether the counted guesses at the password are removed.
	ResetTries bool
	Noticed    Email // gets a notice; none if the address is empty
}

// SetPassword sets the user's password, which ends all logins, their tokens, and codes for choosing one. A user who
// was never active gets a first password with the code of the first mail only, also while inactive or locked.
func (u *User) SetPassword(p Password) (PasswordChange, error) {
	switch {
	case u.Type != Human:
		return PasswordChange{}, usersfault.ErrUserNotHuman
	case u.State == UserInitial || u.Uninitialized:
		return PasswordChange{}, usersfault.ErrUserNotInitialized
	}
	c := PasswordChange{Changed: []string{"password"}, Ended: []Kind{KindPasswordReset}, Noticed: u.noticed()}
	if u.PasswordChangeRequired != p.ChangeRequired {
		c.Changed = append(c.Changed, "passwordChangeRequired")
	}
	u.PasswordHash, u.PasswordChangeRequired = p.Hash, p.ChangeRequired
	u.Generation++ // whoever knew the old password may be logged in
	return c, nil
}

// ResetPassword sets the password that a user has chosen with a mailed code. The user need not change
// it at the next login.
func (u *User) ResetPassword(hash Hidden) (PasswordChange, error) {
	if err := u.Awaits(KindPasswordReset); err != nil {
		return PasswordChange{}, err
	}
	return u.SetPassword(Password{Hash: hash})
}

// ReplacePassword replaces a password that was just verified, and removes the counted guesses. It fails
// if the password has changed since.
func (u *User) ReplacePassword(verified, hash Hidden) (PasswordChange, error) {
	if u.PasswordHash != verified {
		return PasswordChange{}, usersfault.ErrPasswordWrong
	}
	c, err := u.SetPassword(Password{Hash: hash})
	c.ResetTries = true
	return c, err
}
