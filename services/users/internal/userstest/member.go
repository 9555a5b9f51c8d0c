package userstest

import (
	"context"

	usersv1 "herald/shared/gen/herald/users/v1"
)

// AddMember gives a user roles in the organization that a caller acts on.
func (w *World) AddMember(ctx context.Context, userID string, roles ...string) {
	w.Helper()
	w.Must(w.Gateway.AddOrgMember(ctx, &usersv1.AddMemberRequest{UserId: userID, Roles: roles}))
}

// AddIamMember gives a user roles in the instance.
func (w *World) AddIamMember(userID string, roles ...string) {
	w.Helper()
	w.Must(w.Gateway.AddIamMember(w.Admin, &usersv1.AddMemberRequest{UserId: userID, Roles: roles}))
}
