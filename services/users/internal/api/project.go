package api

import (
	"context"
	"errors"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// MakeProjectOwner makes the creator of a project its owner. It works once for each project, so
// that a user who lost the role does not get it again.
func (u Users) MakeProjectOwner(
	ctx context.Context, r *usersv1.MakeProjectOwnerRequest,
) (*usersv1.MakeProjectOwnerResponse, error) {
	m := domain.Member{UserID: r.UserId, OrgID: r.OrgId, ProjectID: r.ProjectId, Roles: []string{"PROJECT_OWNER"}}
	err := u.Store.CreateProjectOwner(ctx, m, &usersv1.MemberAdded{
		UserId: m.UserID, Roles: m.Roles, ProjectId: m.ProjectID,
	})
	if errors.Is(err, usersfault.ErrProjectOwnerMade) || errors.Is(err, usersfault.ErrMemberExists) ||
		errors.Is(err, usersfault.ErrProjectRemoved) {
		err = nil
	}
	return &usersv1.MakeProjectOwnerResponse{}, err
}
