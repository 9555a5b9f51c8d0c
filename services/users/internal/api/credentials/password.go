// Package credentials answers the requests of the service Credentials.
package credentials

import (
	"cmp"
	"context"
	"errors"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Server implements the service.
type Server struct {
	base.Base
}

// SetPassword sets a user's password.
func (s Server) SetPassword(ctx context.Context, r *usersv1.SetPasswordRequest) (*usersv1.SetPasswordResponse, error) {
	if r.Password == "" {
		return nil, usersfault.ErrPasswordRequired
	}
	hash, err := s.NewPassword(ctx, r.Password, "password")
	if err != nil {
		return nil, err
	}
	set := domain.Password{Hash: domain.Hidden(hash), ChangeRequired: r.PasswordChangeRequired}
	details, _, err := s.ChangeUser(ctx, base.OrgID(ctx), r.UserId, func(found *domain.User) (store.UserChange, error) {
		c, err := found.SetPassword(set)
		return base.PasswordChanged(found, c, base.IsOwn(ctx, found)), err
	})
	return &usersv1.SetPasswordResponse{Details: details}, err
}

// RequestPasswordReset sends a mail with which the user can choose another password.
func (s Server) RequestPasswordReset(
	ctx context.Context, r *usersv1.RequestPasswordResetRequest,
) (*usersv1.RequestPasswordResetResponse, error) {
	details, notification, err := s.sendCode(ctx, base.OrgID(ctx), r.UserId, domain.KindPasswordReset)
	return &usersv1.RequestPasswordResetResponse{Details: details, NotificationId: notification}, err
}

// UpdateMyPassword replaces the caller's password. A new password that the policy refuses does not
// count as a guess at the old one.
func (s Server) UpdateMyPassword(
	ctx context.Context, r *usersv1.UpdateMyPasswordRequest,
) (*usersv1.UpdateMyPasswordResponse, error) {
	if err := password.Check("newPassword", r.NewPassword); err != nil {
		return nil, err
	}
	c := caller.From(ctx)
	found, err := s.Store.User(ctx, c.HomeOrganizationID, c.UserID)
	if err != nil {
		return nil, err
	}
	if found.Type != domain.Human {
		return nil, usersfault.ErrUserNotHuman
	}
	if err := s.guessPassword(ctx, found, r.OldPassword); err != nil {
		return nil, err
	}
	hash, err := s.NextPassword(ctx, found.Outgoing(), r.NewPassword, "newPassword")
	if err != nil { // the guess was right
		return nil, errors.Join(err, s.Store.UntryPassword(context.WithoutCancel(ctx), store.OfCaller(c)))
	}
	details, _, err := s.ChangeUser(ctx, found.OrgID, found.ID, func(now *domain.User) (store.UserChange, error) {
		c, err := now.ReplacePassword(found.PasswordHash, domain.Hidden(hash))
		return base.PasswordChanged(now, c, true), err
	})
	return &usersv1.UpdateMyPasswordResponse{Details: details}, err
}

// guessPassword counts a try and then checks the password. A try that is refused because of
// overload does not count.
func (s Server) guessPassword(ctx context.Context, found domain.User, typed string) error {
	guesser := store.OfCaller(caller.From(ctx))
	pausedUntil, err := s.Store.TryPassword(ctx, guesser, s.Now())
	if err != nil {
		return err
	}
	hash, err := password.Parse(string(found.PasswordHash))
	if err != nil {
		return err
	}
	right, _, err := s.Passwords.Verify(ctx, hash, typed)
	switch {
	case err != nil && !errors.Is(err, usersfault.ErrPasswordTooLong):
		return errors.Join(err, s.Store.UntryPassword(context.WithoutCancel(ctx), guesser))
	case !right:
		return cmp.Or(s.PausePassword(ctx, found, pausedUntil), error(usersfault.ErrPasswordWrong))
	}
	return nil
}
