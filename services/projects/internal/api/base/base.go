// Package base is what the services of the contract have in common.
package base

import (
	"context"

	"herald/services/projects/internal/store"
	"herald/shared/caller"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// Base is embedded in the implementation of each service.
type Base struct {
	Store store.Store
	// MaxLimit is the largest page of a search.
	MaxLimit int64
}

// OrgID returns the organization that the request acts on.
func OrgID(ctx context.Context) string { return caller.From(ctx).OrganizationID }

// Search reads the requested page of a query.
func Search[Row any](
	ctx context.Context, b Base, query *search.Query, q *heraldv1.ListQuery,
) (search.List[Row], error) {
	p, err := search.Bounds(q, b.MaxLimit)
	if err != nil {
		return search.List[Row]{}, err
	}
	return store.Search[Row](ctx, b.Store, query, p)
}

// PageOf returns the requested page of a list that belongs to a project, or a fault if the project
// does not exist.
func (b Base) PageOf(ctx context.Context, projectID string, q *heraldv1.ListQuery) (search.Page, error) {
	p, err := search.Bounds(q, b.MaxLimit)
	if err != nil {
		return search.Page{}, err
	}
	_, err = b.Store.Project(ctx, OrgID(ctx), projectID)
	return p, err
}
