package domain

import (
	"time"

	"herald/shared/gen/fault/usersfault"
)

// Deactivate makes the user inactive, also a locked one, which ends the user's tokens for good.
func (u *User) Deactivate() error {
	if u.State == UserInactive {
		return usersfault.ErrUserAlreadyInactive
	}
	u.leave(UserInactive)
	return nil
}

// Reactivate makes an inactive user active or initial again.
func (u *User) Reactivate() error {
	if u.State != UserInactive {
		return usersfault.ErrUserNotInactive
	}
	u.comeBack()
	return nil
}

// Lock makes the user locked, which ends the user's tokens for good.
func (u *User) Lock() error {
	switch u.State {
	case UserLocked:
		return usersfault.ErrUserAlreadyLocked
	case UserInactive:
		return usersfault.ErrUserNotActive
	}
	u.leave(UserLocked)
	return nil
}

// Unlock makes a locked user active or initial again, and ends a pause after wrong passwords.
func (u *User) Unlock(now time.Time) error {
	switch {
	case u.State == UserLocked:
		u.comeBack()
	case !u.Paused(now):
		return usersfault.ErrUserNotLocked
	}
	u.LockedUntil = nil
	return nil
}

// Pause notes the end of a pause after wrong passwords. Guesses of strangers, guesses in each browser of the user and
// guesses at changes of the own password are counted apart and pause apart. So none hides that another pause is longer.
func (u *User) Pause(until time.Time) {
	if u.LockedUntil == nil || until.After(*u.LockedUntil) {
		u.LockedUntil = &until
	}
}

// Paused reports whether a pause after wrong passwords has not ended.
func (u *User) Paused(now time.Time) bool { return u.LockedUntil != nil && now.Before(*u.LockedUntil) }

// MayHaveTokens returns a fault for a user who is not active.
func (u *User) MayHaveTokens() error {
	if u.State == UserInitial {
		return usersfault.ErrUserNotInitialized
	}
	if u.State != UserActive {
		return usersfault.ErrUserNotActive
	}
	return nil
}

func (u *User) leave(to UserState) {
	u.Uninitialized = u.Uninitialized || u.State == UserInitial
	u.State = to
	u.Generation++
}

// TakeOwedMail returns the kind of the first mail that the user did not get from an import, if the user needs it now. A
// mail is owed once.
func (u *User) TakeOwedMail() Kind {
	kind := u.OwedMail
	u.OwedMail = ""
	if kind == "" || u.Awaits(kind) != nil {
		return ""
	}
	return kind
}

// comeBack sets the state after a reactivation or unlock. A user who had not used the code of the
// initialize-user mail is initial again, unless the user has a verified address and a password now.
func (u *User) comeBack() {
	u.State = UserActive
	if u.Uninitialized {
		u.State = UserInitial
		u.settled()
	}
	u.Uninitialized = false
}
