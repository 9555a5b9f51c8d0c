package domain

import (
	"time"

	"herald/shared/gen/fault/usersfault"
)

const (
	// PasswordTries is the number of wrong passwords after which guesses are refused.
	PasswordTries = 10
	// PasswordQuiet is how long wrong passwords count after the last one, if they were fewer than PasswordTries.
	PasswordQuiet = 15 * time.Minute
	// PasswordMemory is how long wrong passwords count after the last one, if they were as many or more.
	PasswordMemory = 24 * time.Hour
)

// PasswordPauses returns how long guesses are refused after that many wrong passwords, and after each further one.
// Pauses do not get longer than the last one, because a stranger who guesses must not keep the user out for longer.
func PasswordPauses() []time.Duration {
	return []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour}
}

// PasswordPause returns how long guesses are refused after that many wrong passwords, or zero.
func PasswordPause(tries int) time.Duration {
	if tries < PasswordTries {
		return 0
	}
	pauses := PasswordPauses()
	return pauses[min(tries-PasswordTries, len(pauses)-1)]
}

// HashCost is how slow the check of an imported hash is. All hashes of its format and parameters are equally slow.
type HashCost struct {
	Format string
	// Specimen is a hash with the same parameters, and with neither salt nor key of a person.
	Specimen string
	// Estimate is about how long a check takes. It is only compared with other hashes of the format.
	Estimate time.Duration
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
	Noticed Email  // gets a notice; none if the address is empty
}

// SetPassword sets the user's password, which ends all logins, their tokens, codes for choosing one, and a pause after
// wrong passwords. A user who was never active gets a first password with the code of the first mail only, also while
// inactive or locked.
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
	u.PasswordHash, u.PasswordChangeRequired, u.LockedUntil = p.Hash, p.ChangeRequired, nil
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

// ReplacePassword replaces a password that was just verified. It fails if the password has changed since.
func (u *User) ReplacePassword(verified, hash Hidden) (PasswordChange, error) {
	if u.PasswordHash != verified {
		return PasswordChange{}, usersfault.ErrPasswordWrong
	}
	return u.SetPassword(Password{Hash: hash})
}
