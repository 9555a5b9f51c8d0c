package users

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
)

// DeactivateUser makes a user inactive.
func (s Server) DeactivateUser(
	ctx context.Context, r *usersv1.DeactivateUserRequest,
) (*usersv1.DeactivateUserResponse, error) {
	details, err := s.changeState(ctx, r.UserId, func(found *domain.User) (proto.Message, error) {
		err := found.Deactivate()
		return &usersv1.UserDeactivated{Generation: uint64(found.Generation)}, err
	})
	return &usersv1.DeactivateUserResponse{Details: details}, err
}

// ReactivateUser makes an inactive user active or initial again.
func (s Server) ReactivateUser(
	ctx context.Context, r *usersv1.ReactivateUserRequest,
) (*usersv1.ReactivateUserResponse, error) {
	details, _, err := s.ChangeUser(ctx, base.OrgID(ctx), r.UserId, func(u *domain.User) (store.UserChange, error) {
		err := u.Reactivate()
		owed := u.TakeOwedMail()
		return s.withMail(u, owed, &usersv1.UserReactivated{
			State: usersv1.UserState(u.State), Mail: string(owed),
		}), err
	})
	return &usersv1.ReactivateUserResponse{Details: details}, err
}

// LockUser makes a user locked.
func (s Server) LockUser(ctx context.Context, r *usersv1.LockUserRequest) (*usersv1.LockUserResponse, error) {
	details, err := s.changeState(ctx, r.UserId, func(found *domain.User) (proto.Message, error) {
		err := found.Lock()
		return &usersv1.UserLocked{Generation: uint64(found.Generation)}, err
	})
	return &usersv1.LockUserResponse{Details: details}, err
}

// UnlockUser makes a locked user active or initial again.
func (s Server) UnlockUser(ctx context.Context, r *usersv1.UnlockUserRequest) (*usersv1.UnlockUserResponse, error) {
	details, _, err := s.ChangeUser(ctx, base.OrgID(ctx), r.UserId, func(u *domain.User) (store.UserChange, error) {
		err := u.Unlock(s.Now())
		owed := u.TakeOwedMail()
		change := s.withMail(u, owed, &usersv1.UserUnlocked{State: usersv1.UserState(u.State), Mail: string(owed)})
		change.ResetTries = true
		return change, err
	})
	return &usersv1.UnlockUserResponse{Details: details}, err
}

// changeState changes the state of a user.
func (s Server) changeState(
	ctx context.Context, userID string, change func(*domain.User) (proto.Message, error),
) (*heraldv1.ObjectDetails, error) {
	details, _, err := s.ChangeUser(ctx, base.OrgID(ctx), userID, func(found *domain.User) (store.UserChange, error) {
		happened, err := change(found)
		return stateChange(found, happened), err
	})
	return details, err
}

// withMail returns the change of a user who comes back, with the mail that the user did not get from an import.
func (s Server) withMail(u *domain.User, owed domain.Kind, happened proto.Message) store.UserChange {
	change := stateChange(u, happened)
	if owed != "" {
		change.Code = s.NewCode(owed, u.ID)
	}
	return change
}

// stateChange ends the code that an active user does not need, or that a user who cannot log in may not use.
func stateChange(found *domain.User, happened proto.Message) store.UserChange {
	made := store.UserChange{Event: happened}
	switch found.State {
	case domain.UserActive:
		made.Ended = []domain.Kind{domain.KindInit}
	case domain.UserInactive, domain.UserLocked:
		made.Ended = []domain.Kind{domain.KindPasswordReset}
	}
	return made
}

// RemoveUser removes a user with everything that belongs to the user.
func (s Server) RemoveUser(ctx context.Context, r *usersv1.RemoveUserRequest) (*usersv1.RemoveUserResponse, error) {
	gone, err := s.Store.RemoveUser(ctx, base.OrgID(ctx), r.UserId, &usersv1.UserRemoved{})
	return &usersv1.RemoveUserResponse{Details: resource.Changed(gone.Record, gone.OrgID)}, err
}
