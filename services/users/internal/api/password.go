package api

import (
	"context"
	"errors"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Faults of new passwords (NIST SP 800-63B, 3.1.1.2).
var (
	errPasswordRequired = fault.New(fault.Invalid, "PASSWORD_REQUIRED", "Choose a password").On("password",
		"is missing")
	errPasswordShort = fault.New(fault.Invalid, string(password.TooShort),
		"The password is too short: at least 8 characters")
	errPasswordLong = fault.New(fault.Invalid, string(password.TooLong),
		"The password is too long: at most 128 characters")
	errPasswordCommon = fault.New(fault.Invalid, string(password.TooCommon),
		"The password is too common: it is among the first that anybody would try")
	errPasswordNotText = fault.New(fault.Invalid, string(password.NotText), "The password is not valid text")
)

// refusal is the fault of a password that the policy refuses.
func refusal(err error, field string) error {
	for _, f := range []*fault.Fault{errPasswordShort, errPasswordLong, errPasswordCommon, errPasswordNotText} {
		if reason, ok := errors.AsType[password.Refusal](err); ok && string(reason) == f.ID {
			return f.On(field, f.Message)
		}
	}
	return err
}

// newPassword checks a password against the policy and hashes it.
func (u Users) newPassword(ctx context.Context, typed, field string) (string, error) {
	if err := password.Check(typed); err != nil {
		return "", refusal(err, field)
	}
	hash, err := u.Passwords.Hash(ctx, typed)
	return hash.Encoded(), err
}

// SetPassword gives a user another password.
func (u Users) SetPassword(ctx context.Context, r *usersv1.SetPasswordRequest) (*usersv1.SetPasswordResponse, error) {
	if r.Password == "" {
		return nil, errPasswordRequired
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
