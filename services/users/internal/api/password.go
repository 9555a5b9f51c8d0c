package api

import (
	"context"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// newPassword checks a password against the policy and hashes it.
func (u Users) newPassword(ctx context.Context, typed, field string) (string, error) {
	if err := password.Check(field, typed); err != nil {
		return "", err
	}
	hash, err := u.Passwords.Hash(ctx, typed)
	return hash.Encoded(), err
}

// SetPassword gives a user another password.
func (u Users) SetPassword(ctx context.Context, r *usersv1.SetPasswordRequest) (*usersv1.SetPasswordResponse, error) {
	if r.Password == "" {
		return nil, domain.ErrPasswordRequired
	}
	hash, err := u.newPassword(ctx, r.Password, "password")
	if err != nil {
		return nil, err
	}
	set := domain.Password{Hash: domain.Hidden(hash), ChangeRequired: r.PasswordChangeRequired}
	details, _, err := u.changeUser(ctx, orgID(ctx), r.UserId, func(found *domain.User) (store.UserChange, error) {
		c, err := found.SetPassword(set)
		changed := &usersv1.HumanPasswordChanged{State: usersv1.UserState(found.State), Changed: c.Changed}
		return store.UserChange{Event: changed, Ended: c.Ended}, err
	})
	return &usersv1.SetPasswordResponse{Details: details}, err
}

// RequestPasswordReset sends a mail with which the user can choose another password.
func (u Users) RequestPasswordReset(
	ctx context.Context, r *usersv1.RequestPasswordResetRequest,
) (*usersv1.RequestPasswordResetResponse, error) {
	details, notification, err := u.sendCode(ctx, orgID(ctx), r.UserId, domain.KindPasswordReset)
	return &usersv1.RequestPasswordResetResponse{Details: details, NotificationId: notification}, err
}
