package grants

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/api/base"
	"herald/services/projects/internal/domain"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/resource"
)

// AcceptGrantedProject accepts a project that is granted to the organization acted on.
func (s Server) AcceptGrantedProject(
	ctx context.Context, r *projectsv1.GrantedProjectRequest,
) (*projectsv1.GrantedProjectResponse, error) {
	return s.answer(ctx, r, domain.AcceptanceAccepted, func(a *domain.Acceptance) proto.Message {
		return &projectsv1.ProjectGrantAccepted{ProjectId: a.ProjectID}
	})
}

// EndGrantedProject ends the grant of a project to the organization acted on.
func (s Server) EndGrantedProject(
	ctx context.Context, r *projectsv1.GrantedProjectRequest,
) (*projectsv1.GrantedProjectResponse, error) {
	return s.answer(ctx, r, domain.AcceptanceEnded, func(a *domain.Acceptance) proto.Message {
		return &projectsv1.ProjectGrantEnded{ProjectId: a.ProjectID, GrantedOrgId: a.OrgID}
	})
}

func (s Server) answer(
	ctx context.Context, r *projectsv1.GrantedProjectRequest, state domain.AcceptanceState,
	answered func(*domain.Acceptance) proto.Message,
) (*projectsv1.GrantedProjectResponse, error) {
	a, err := s.Store.Answer(ctx, base.OrgID(ctx), r.GrantId, func(a *domain.Acceptance) (proto.Message, error) {
		if !a.Answer(state) {
			return nil, nil
		}
		return answered(a), nil
	})
	if err != nil {
		return nil, err
	}
	return &projectsv1.GrantedProjectResponse{Details: resource.Changed(a.Record, a.OrgID)}, nil
}
