package api

import (
	"context"
	"errors"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
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

// nextPassword checks and hashes a password that a person chooses. It must not be the old one, if that must be changed;
// old is empty if it need not.
func (u Users) nextPassword(ctx context.Context, old domain.Hidden, typed, field string) (string, error) {
	if err := password.Check(field, typed); err != nil {
		return "", err
	}
	hash, err := password.Parse(string(old))
	if err != nil {
		return "", err
	}
	if !hash.IsZero() {
		same, _, err := u.Passwords.Verify(ctx, hash, typed)
		if err != nil {
			return "", err
		}
		if same {
			return "", usersfault.ErrPasswordUnchanged.On(field, usersfault.ErrPasswordUnchanged.Message)
		}
	}
	return u.newPassword(ctx, typed, field)
}

// SetPassword sets a user's password.
func (u Users) SetPassword(ctx context.Context, r *usersv1.SetPasswordRequest) (*usersv1.SetPasswordResponse, error) {
	if r.Password == "" {
		return nil, usersfault.ErrPasswordRequired
	}
	hash, err := u.newPassword(ctx, r.Password, "password")
	if err != nil {
		return nil, err
	}
	set := domain.Password{Hash: domain.Hidden(hash), ChangeRequired: r.PasswordChangeRequired}
	details, _, err := u.changeUser(ctx, orgID(ctx), r.UserId, func(found *domain.User) (store.UserChange, error) {
		c, err := found.SetPassword(set)
		return passwordChanged(found, c, isOwn(ctx, found)), err
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

// UpdateMyPassword replaces the caller's password. A new password that the policy refuses does not
// count as a guess at the old one.
func (u Users) UpdateMyPassword(
	ctx context.Context, r *usersv1.UpdateMyPasswordRequest,
) (*usersv1.UpdateMyPasswordResponse, error) {
	if err := password.Check("newPassword", r.NewPassword); err != nil {
		return nil, err
	}
	c := caller.From(ctx)
	found, err := u.Store.User(ctx, c.HomeOrganizationID, c.UserID)
	if err != nil {
		return nil, err
	}
	if found.Type != domain.Human {
		return nil, usersfault.ErrUserNotHuman
	}
	if err := u.guessPassword(ctx, found, r.OldPassword); err != nil {
		return nil, err
	}
	hash, err := u.nextPassword(ctx, found.Outgoing(), r.NewPassword, "newPassword")
	if err != nil { // the guess was right
		return nil, errors.Join(err, u.Store.UntryPassword(context.WithoutCancel(ctx), found.ID))
	}
	details, _, err := u.changeUser(ctx, found.OrgID, found.ID, func(now *domain.User) (store.UserChange, error) {
		c, err := now.ReplacePassword(found.PasswordHash, domain.Hidden(hash))
		return passwordChanged(now, c, true), err
	})
	return &usersv1.UpdateMyPasswordResponse{Details: details}, err
}

// guessPassword counts a try and then checks the password. A try that is refused because of
// overload does not count.
func (u Users) guessPassword(ctx context.Context, found domain.User, typed string) error {
	wait, err := u.Store.TryPassword(ctx, found.ID, u.Now())
	if err != nil {
		return err
	}
	if wait > 0 {
		return usersfault.ErrPasswordLocked.After(wait)
	}
	hash, err := password.Parse(string(found.PasswordHash))
	if err != nil {
		return err
	}
	right, _, err := u.Passwords.Verify(ctx, hash, typed)
	switch {
	case errors.Is(err, usersfault.ErrPasswordTooLong):
		return usersfault.ErrPasswordWrong
	case err != nil:
		return errors.Join(err, u.Store.UntryPassword(context.WithoutCancel(ctx), found.ID))
	case !right:
		return usersfault.ErrPasswordWrong
	}
	return nil
}
