package userstest

import (
	"context"

	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

// Shop is a double of the service projects with one project.
type Shop struct {
	projectsv1.UnimplementedInternalServer
	OrgID string
}

// errNoProject is the fault of the service projects for a project that it does not have.
var errNoProject = fault.New(fault.NotFound, "PROJECT_NOT_FOUND", "Project not found")

// ResolveProject implements projectsv1.InternalServer.
func (s Shop) ResolveProject(
	_ context.Context, r *projectsv1.ResolveProjectRequest,
) (*projectsv1.ResolveProjectResponse, error) {
	if r.OrgId != s.OrgID || r.ProjectId != "shop" {
		return nil, errNoProject
	}
	return &projectsv1.ResolveProjectResponse{}, nil
}
