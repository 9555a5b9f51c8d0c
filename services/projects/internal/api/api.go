// Package api answers the requests of the Projects service.
package api

import (
	"context"
	"log/slog"

	"herald/services/projects/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
	"herald/shared/secret"
)

// Projects implements the contract.
type Projects struct {
	Store store.Store
	// Users knows organizations, people and the members of projects.
	Users usersv1.UsersClient
	// Pairs makes the keys of applications.
	Pairs *secret.Pairs
	Log   *slog.Logger
	// MaxLimit is the largest page of a search.
	MaxLimit int64
}

// orgID is the organization that the request acts on.
func orgID(ctx context.Context) string { return caller.From(ctx).OrganizationID }

// pageOf returns the requested page of a list that belongs to a project, or a fault if the project
// does not exist.
func (a Projects) pageOf(ctx context.Context, projectID string, q *heraldv1.ListQuery) (search.Page, error) {
	p, err := search.Bounds(q, a.MaxLimit)
	if err != nil {
		return search.Page{}, err
	}
	_, err = a.Store.Project(ctx, orgID(ctx), projectID)
	return p, err
}
