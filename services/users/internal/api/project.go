package api

import (
	"context"
	"errors"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// MakeProjectOwner makes the creator of a project its owner, once in the project's life:
// whoever lost the role does not get it again.
func (u Users) MakeProjectOwner(
	ctx context.Context, r *usersv1.MakeProjectOwnerRequest,
) (*usersv1.MakeProjectOwnerResponse, error) {
	m := domain.Member{UserID: r.UserId, OrgID: r.OrgId, ProjectID: r.ProjectId, Roles: []string{"PROJECT_OWNER"}}
	err := u.Store.CreateProjectOwner(ctx, m, &usersv1.MemberAdded{
		UserId: m.UserID, Roles: m.Roles, ProjectId: m.ProjectID,
	})
	if errors.Is(err, domain.ErrOwnerMade) || errors.Is(err, domain.ErrMemberExists) {
		err = nil
	}
	return &usersv1.MakeProjectOwnerResponse{}, err
}

// Handlers react to the events of projects.
func (u Users) Handlers() []event.Handler {
	return []event.Handler{event.On(u.projectCreated), event.On(u.projectRemoved)}
}

// projectCreated does what the service projects asks for when it creates one, in case
// it could not ask. Who is no user any more owns nothing.
func (u Users) projectCreated(ctx context.Context, d event.Delivery, created *projectsv1.ProjectCreated) error {
	if created.OwnerId == "" {
		return nil
	}
	_, err := u.MakeProjectOwner(ctx, &usersv1.MakeProjectOwnerRequest{
		OrgId: d.OrganizationID, ProjectId: d.AggregateID, UserId: created.OwnerId,
	})
	if errors.Is(err, domain.ErrUserNotFound) {
		return nil
	}
	return err
}

func (u Users) projectRemoved(ctx context.Context, d event.Delivery, _ *projectsv1.ProjectRemoved) error {
	return u.Store.RemoveProjectMembers(ctx, d)
}
