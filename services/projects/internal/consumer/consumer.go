// Package consumer handles the events of the service users. It removes the roles of removed users, and the projects and
// grants of removed organizations.
package consumer

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	"herald/shared/event"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/orgremoval"
)

// Removed returns a handler that removes the roles of a removed user in all organizations.
func Removed(db store.Store) event.Handler {
	return event.On(func(ctx context.Context, d event.Delivery, _ *usersv1.UserRemoved) error {
		return db.RemoveGrantsOfUser(ctx, d)
	})
}

// Sweep removes the projects of an organization, and then the grants of other organizations to it.
func Sweep(db store.Store) orgremoval.Sweep {
	projects := orgremoval.All(db.SomeProjects,
		func(ctx context.Context, removed event.Delivery, p domain.Project) error {
			_, err := db.RemoveProject(ctx, p.OrgID, p.ID, &projectsv1.ProjectRemoved{Cause: removed.ID})
			return err
		})
	grants := orgremoval.All(db.SomeGrantsTo,
		func(ctx context.Context, removed event.Delivery, g domain.ProjectGrant) error {
			_, err := db.RemoveProjectGrant(ctx, g.OrgID, g.ProjectID, g.ID,
				func(g *domain.ProjectGrant) (proto.Message, error) {
					return &projectsv1.ProjectGrantRemoved{ProjectId: g.ProjectID, GrantedOrgId: g.GrantedOrgID,
						Cause: removed.ID}, nil
				})
			return err
		})
	return orgremoval.InOrder(projects, grants)
}
