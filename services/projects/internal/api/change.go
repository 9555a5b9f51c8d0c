package api

import (
	"context"

	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// SearchProjectChanges lists what happened to a project and to all in it. The roles that
// another organization gives its users by a grant are events of that one, and are not listed.
func (a Projects) SearchProjectChanges(
	ctx context.Context, r *projectsv1.SearchProjectChangesRequest,
) (*heraldv1.SearchChangesResponse, error) {
	p, err := a.pageOf(ctx, r.ProjectId, r.Query)
	if err != nil {
		return nil, err
	}
	return a.Store.Changes(ctx, "project", orgID(ctx), r.ProjectId, p)
}
