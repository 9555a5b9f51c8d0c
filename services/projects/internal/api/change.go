package api

import (
	"context"

	"herald/shared/contract"
	"herald/shared/event"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/history"
)

// SearchProjectChanges lists what happened to a project and its roles.
func (a Projects) SearchProjectChanges(ctx context.Context,
	r *projectsv1.SearchProjectChangesRequest) (*heraldv1.SearchChangesResponse, error) {
	p, err := a.pageOf(ctx, r.ProjectId, r.Query)
	if err != nil {
		return nil, err
	}
	return history.Response(a.Store.Changes(ctx, event.Aggregate{OrganizationID: orgID(ctx),
		Names: contract.Aggregates("project"), ID: r.ProjectId}, p))
}
