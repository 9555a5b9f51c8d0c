// Package consumer handles events of other services: it adds the owner of a new project, and removes the members of a
// removed project, the links to a removed identity provider, and the personal access tokens that an application made in
// the name of a person when its access ends.
package consumer

import (
	"context"
	"errors"

	"herald/services/users/internal/api/internals"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	authv1 "herald/shared/gen/herald/auth/v1"
	idpv1 "herald/shared/gen/herald/idp/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Handlers returns the handlers of these events.
func Handlers(u internals.Server) []event.Handler {
	return []event.Handler{
		event.On(func(ctx context.Context, d event.Delivery, created *projectsv1.ProjectCreated) error {
			return makeOwner(ctx, u, d, created.OwnerId)
		}),
		event.On(func(ctx context.Context, d event.Delivery, _ *projectsv1.ProjectRemoved) error {
			return u.Store.RemoveProjectMembers(ctx, d)
		}),
		event.On(func(ctx context.Context, d event.Delivery, _ *idpv1.IdpRemoved) error {
			return u.Store.RemoveIdpLinks(ctx, d)
		}),
		event.On(func(ctx context.Context, d event.Delivery, withdrawn *authv1.ConsentWithdrawn) error {
			return u.Store.RemovePATsOf(ctx, d, withdrawn.UserId, withdrawn.ClientId)
		}),
		event.On(func(ctx context.Context, d event.Delivery, ended *authv1.AuthorizationEnded) error {
			return u.Store.RemovePATsOf(ctx, d, ended.UserId, ended.ClientId)
		}),
	}
}

// makeOwner makes the creator of a project its owner, in case projects could not request this at the
// creation. A user who was removed meanwhile does not become owner.
func makeOwner(ctx context.Context, u internals.Server, created event.Delivery, ownerID string) error {
	if ownerID == "" {
		return nil
	}
	_, err := u.MakeProjectOwner(ctx, &usersv1.MakeProjectOwnerRequest{
		OrgId: created.OrganizationID, ProjectId: created.AggregateID, UserId: ownerID,
	})
	if errors.Is(err, usersfault.ErrUserNotFound) {
		return nil
	}
	return err
}
