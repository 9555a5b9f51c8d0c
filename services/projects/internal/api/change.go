package api

import (
	"context"

	"herald/shared/event"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

// SearchProjectChanges lists what happened to a project and its roles.
func (a Projects) SearchProjectChanges(ctx context.Context, r *projectsv1.SearchProjectChangesRequest) (*projectsv1.SearchProjectChangesResponse, error) {
	p, err := a.pageOf(ctx, r.ProjectId, r.Query)
	if err != nil {
		return nil, err
	}
	list, err := event.Changes(ctx, a.Store.DB, event.Aggregate{OrganizationID: orgID(ctx), Name: "project", ID: r.ProjectId}, p)
	if err != nil {
		return nil, err
	}
	out := &projectsv1.SearchProjectChangesResponse{Details: list.Details()}
	for _, e := range list.Rows {
		change, err := e.Change()
		if err != nil {
			return nil, err
		}
		out.Result = append(out.Result, change)
	}
	return out, nil
}
