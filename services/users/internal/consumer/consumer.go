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
		event.On(owner(u)), event.On(membersOfProject(u)), event.On(idpRemoval(u)),
		event.On(func(ctx context.Context, d event.Delivery, withdrawn *authv1.ConsentWithdrawn) error {
			return u.Store.RemovePATsOf(ctx, d, withdrawn.UserId, withdrawn.ClientId)
		}),
		event.On(func(ctx context.Context, d event.Delivery, ended *authv1.AuthorizationEnded) error {
			return u.Store.RemovePATsOf(ctx, d, ended.UserId, ended.ClientId)
		}),
	}
}

// owner makes the creator of a project its owner, in case projects could not request this at the
// creation. A user who was removed meanwhile does not become owner.
func owner(u internals.Server) func(context.Context, event.Delivery, *projectsv1.ProjectCreated) error {
	return func(ctx context.Context, d event.Delivery, created *projectsv1.ProjectCreated) error {
		if created.OwnerId == "" {
			return nil
		}
		_, err := u.MakeProjectOwner(ctx, &usersv1.MakeProjectOwnerRequest{
			OrgId: d.OrganizationID, ProjectId: d.AggregateID, UserId: created.OwnerId,
		})
		if errors.Is(err, usersfault.ErrUserNotFound) {
			return nil
		}
		return err
	}
}

func membersOfProject(u internals.Server) func(context.Context, event.Delivery, *projectsv1.ProjectRemoved) error {
	return func(ctx context.Context, d event.Delivery, _ *projectsv1.ProjectRemoved) error {
		return u.Store.RemoveProjectMembers(ctx, d)
	}
}

func idpRemoval(u internals.Server) func(context.Context, event.Delivery, *idpv1.IdpRemoved) error {
	return func(ctx context.Context, d event.Delivery, _ *idpv1.IdpRemoved) error {
		return u.Store.RemoveIdpLinks(ctx, d)
	}
}
