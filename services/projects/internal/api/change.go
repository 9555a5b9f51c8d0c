package api

import (
	"context"

	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// SearchProjectChanges lists the events of a project and of the objects in it. Events of roles that
// another organization grants its users by a project grant belong to that organization and are not
// listed.
func (a Projects) SearchProjectChanges(
	ctx context.Context, r *projectsv1.SearchProjectChangesRequest,
) (*heraldv1.SearchChangesResponse, error) {
	p, err := a.pageOf(ctx, r.ProjectId, r.Query)
	if err != nil {
		return nil, err
	}
	return a.Store.Changes(ctx, "project", orgID(ctx), r.ProjectId, p)
}
