package domain

import "herald/shared/fault"

// Faults of the states of users.
var (
	ErrUserAlreadyInactive = fault.New(fault.Precondition, "USER_ALREADY_INACTIVE", "The user is inactive already")
	ErrUserNotInactive     = fault.New(fault.Precondition, "USER_NOT_INACTIVE", "The user is not inactive")
	ErrUserAlreadyLocked   = fault.New(fault.Precondition, "USER_ALREADY_LOCKED", "The user is locked already")
	ErrUserNotLocked       = fault.New(fault.Precondition, "USER_NOT_LOCKED", "The user is not locked")
)

// Deactivate makes the user inactive, also a locked one, which ends the user's tokens for good.
func (u *User) Deactivate() error {
	if u.State == UserInactive {
		return ErrUserAlreadyInactive
	}
	u.leave(UserInactive)
	return nil
}

// Reactivate makes an inactive user active or initial again.
func (u *User) Reactivate() error {
	if u.State != UserInactive {
		return ErrUserNotInactive
	}
	u.comeBack()
	return nil
}

// Lock makes the user locked, which ends the user's tokens for good.
func (u *User) Lock() error {
	switch u.State {
	case UserLocked:
		return ErrUserAlreadyLocked
	case UserInactive:
		return ErrUserNotActive
	}
	u.leave(UserLocked)
	return nil
}

// Unlock makes a locked user active or initial again.
func (u *User) Unlock() error {
	if u.State != UserLocked {
		return ErrUserNotLocked
	}
	u.comeBack()
	return nil
}

// MayHaveTokens returns a fault for a user who is not active.
func (u *User) MayHaveTokens() error {
	if u.State == UserInitial {
		return ErrUserNotInitialized
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
