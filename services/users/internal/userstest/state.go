package userstest

import (
	"context"

	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// Moves are the calls that change a user's state, by the name of the event.
func (w *World) Moves() map[string]func(context.Context, string) (*heraldv1.ObjectDetails, error) {
	return map[string]func(context.Context, string) (*heraldv1.ObjectDetails, error){
		"deactivated": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.Gateway.DeactivateUser(ctx, &usersv1.DeactivateUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"reactivated": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.Gateway.ReactivateUser(ctx, &usersv1.ReactivateUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"locked": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.Gateway.LockUser(ctx, &usersv1.LockUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"unlocked": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.Gateway.UnlockUser(ctx, &usersv1.UnlockUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"removed": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.Gateway.RemoveUser(ctx, &usersv1.RemoveUserRequest{UserId: id})
			return r.GetDetails(), err
		},
	}
}
