package api

import (
	"context"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// passwordChanged returns the change of a password with its notice. own says that the user made it.
func passwordChanged(found *domain.User, c domain.PasswordChange, own bool) store.UserChange {
	changed := &usersv1.HumanPasswordChanged{State: usersv1.UserState(found.State), Changed: c.Changed}
	change := store.UserChange{Event: changed, Ended: c.Ended, Forgiven: c.Forgiven}
	if c.Noticed.Address != "" {
		changed.Notice = string(domain.KindPasswordChanged)
		change.Notice = newNotice(c.Noticed, own)
	}
	return change
}

// otpNotice returns the notice of a change of an app and its kind; neither if nobody gets one. own says that the user
// made the change.
func otpNotice(f *domain.OTP, kind domain.Kind, own bool) (*store.Notice, string) {
	to := f.Noticed()
	if to.Address == "" {
		return nil, ""
	}
	return newNotice(to, own), string(kind)
}

// newNotice returns a notice. Those to an address that was verified are not counted, because their reader must always
// be able to change what they are about.
func newNotice(to domain.Email, own bool) *store.Notice {
	return &store.Notice{Recipient: to.Address, Verified: to.Verified, Own: own, Counted: !to.Verified}
}

// isOwn reports whether the caller is the user who is changed.
func isOwn(ctx context.Context, found *domain.User) bool { return caller.From(ctx).UserID == found.ID }
