package domain

import "herald/shared/fault"

// Faults of the states of users.
var (
	ErrUserInactive    = fault.New(fault.Precondition, "USER_INACTIVE", "The user is inactive already")
	ErrUserNotInactive = fault.New(fault.Precondition, "USER_NOT_INACTIVE", "The user is not inactive")
	ErrUserLocked      = fault.New(fault.Precondition, "USER_LOCKED", "The user is locked already")
	ErrUserNotLocked   = fault.New(fault.Precondition, "USER_NOT_LOCKED", "The user is not locked")
)

// Deactivate ends the user's tokens for good and refuses new ones, also those of a user who
// is locked.
func (u *User) Deactivate() error {
	if u.State == UserInactive {
		return ErrUserInactive
	}
	u.leave(UserInactive)
	return nil
}

// Reactivate lets an inactive user in again.
func (u *User) Reactivate() error {
	if u.State != UserInactive {
		return ErrUserNotInactive
	}
	u.comeBack()
	return nil
}

// Lock does the same as Deactivate until Unlock.
func (u *User) Lock() error {
	switch u.State {
	case UserLocked:
		return ErrUserLocked
	case UserInactive:
		return ErrUserNotActive
	}
	u.leave(UserLocked)
	return nil
}

// Unlock lets a locked user in again.
func (u *User) Unlock() error {
	if u.State != UserLocked {
		return ErrUserNotLocked
	}
	u.comeBack()
	return nil
}

// MayHaveTokens refuses new tokens to all who are not active.
func (u *User) MayHaveTokens() error {
	if u.State == UserInitial {
		return ErrUserInitial
	}
	if u.State != UserActive {
		return ErrUserNotActive
	}
	return nil
}

func (u *User) leave(to UserState) {
	u.Uninitialized = u.Uninitialized || u.State == UserInitial
	u.State = to
	u.Generation++
}

// comeBack returns the state after a reactivation or unlock. A user who still waited for the code of
// the first mail waits again, unless nothing that the mail asks for is missing now.
func (u *User) comeBack() {
	u.State = UserActive
	if u.Uninitialized {
		u.State = UserInitial
		u.settled()
	}
	u.Uninitialized = false
}
