// Package grants answers the requests of the service Grants.
package grants

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/api/base"
	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/rpc"
	"herald/shared/search"
)

// Server implements the service.
type Server struct {
	base.Base

	// Users calls the service users.
	Users usersv1.InternalClient
}

// AddProjectGrant grants a project to another organization.
func (s Server) AddProjectGrant(
	ctx context.Context, r *projectsv1.AddProjectGrantRequest,
) (*projectsv1.AddProjectGrantResponse, error) {
	g := domain.ProjectGrant{ID: resource.NewID(), OrgID: base.OrgID(ctx), ProjectID: r.ProjectId,
		GrantedOrgID: r.GrantedOrgId, State: domain.GrantActive,
		Answered: domain.Answered{Acceptance: domain.AcceptancePending}}
	g.Assign(r.RoleKeys)
	if _, err := s.Store.Project(ctx, g.OrgID, g.ProjectID); err != nil {
		return nil, err
	}
	if g.GrantedOrgID == g.OrgID {
		return nil, projectsfault.ErrProjectGrantToOwner
	}
	granted, err := s.Users.ResolveOrg(rpc.OnOwnBehalf(ctx), &usersv1.ResolveOrgRequest{
		OrgId: g.GrantedOrgID, UserId: caller.From(ctx).UserID, Permission: "project.grant.write",
	})
	if missing(err) {
		return nil, projectsfault.ErrGrantedOrgUnknown
	}
	if err != nil {
		return nil, err
	}
	if granted.Permitted {
		g.Acceptance = domain.AcceptanceAccepted
	}
	if err := s.checkRoles(ctx, g.ProjectID, r.RoleKeys); err != nil {
		return nil, err
	}
	record, err := s.Store.CreateProjectGrant(ctx, g, &projectsv1.ProjectGrantAdded{ProjectId: g.ProjectID,
		GrantedOrgId: g.GrantedOrgID})
	if err != nil {
		return nil, err
	}
	return &projectsv1.AddProjectGrantResponse{GrantId: g.ID, Details: resource.Details(record, g.OrgID)}, nil
}

// missing reports whether another service returned NotFound.
func missing(err error) bool { return err != nil && fault.From(err).Code == fault.NotFound }

// checkRoles returns a fault for keys that are not roles of a project of the organization acted on.
func (s Server) checkRoles(ctx context.Context, projectID string, keys []string) error {
	found, err := s.Store.RoleKeys(ctx, base.OrgID(ctx), projectID, keys)
	if err != nil {
		return err
	}
	return domain.CheckGrantable(keys, found)
}

// GetProjectGrant reads a grant of a project.
func (s Server) GetProjectGrant(
	ctx context.Context, r *projectsv1.GetProjectGrantRequest,
) (*projectsv1.GetProjectGrantResponse, error) {
	g, err := s.Store.ProjectGrant(ctx, base.OrgID(ctx), r.ProjectId, r.GrantId)
	if err != nil {
		return nil, err
	}
	return &projectsv1.GetProjectGrantResponse{ProjectGrant: projectGrant(g)}, nil
}

// UpdateProjectGrant replaces the roles of a grant.
func (s Server) UpdateProjectGrant(
	ctx context.Context, r *projectsv1.UpdateProjectGrantRequest,
) (*projectsv1.ProjectGrantResponse, error) {
	if _, err := s.Store.ProjectGrant(ctx, base.OrgID(ctx), r.ProjectId, r.GrantId); err != nil {
		return nil, err
	}
	if err := s.checkRoles(ctx, r.ProjectId, r.RoleKeys); err != nil {
		return nil, err
	}
	return s.changeGrant(ctx, r, func(g *domain.ProjectGrant) (proto.Message, error) {
		if !g.Assign(r.RoleKeys) {
			return nil, nil
		}
		return &projectsv1.ProjectGrantChanged{ProjectId: g.ProjectID, GrantedOrgId: g.GrantedOrgID,
			Changed: []string{"roleKeys"}}, nil
	})
}

// DeactivateProjectGrant makes a grant, and users' roles by it, ineffective.
func (s Server) DeactivateProjectGrant(
	ctx context.Context, r *projectsv1.ProjectGrantRequest,
) (*projectsv1.ProjectGrantResponse, error) {
	return s.changeGrant(ctx, r, func(g *domain.ProjectGrant) (proto.Message, error) {
		return &projectsv1.ProjectGrantDeactivated{ProjectId: g.ProjectID, GrantedOrgId: g.GrantedOrgID}, g.Deactivate()
	})
}

// ReactivateProjectGrant makes a grant effective again.
func (s Server) ReactivateProjectGrant(
	ctx context.Context, r *projectsv1.ProjectGrantRequest,
) (*projectsv1.ProjectGrantResponse, error) {
	return s.changeGrant(ctx, r, func(g *domain.ProjectGrant) (proto.Message, error) {
		return &projectsv1.ProjectGrantReactivated{ProjectId: g.ProjectID, GrantedOrgId: g.GrantedOrgID}, g.Reactivate()
	})
}

// grantOf is a request with the ids of a project and a grant.
type grantOf interface {
	GetProjectId() string
	GetGrantId() string
}

func (s Server) changeGrant(
	ctx context.Context, r grantOf, change func(*domain.ProjectGrant) (proto.Message, error),
) (*projectsv1.ProjectGrantResponse, error) {
	g, err := s.Store.ChangeProjectGrant(ctx, base.OrgID(ctx), r.GetProjectId(), r.GetGrantId(), change)
	if err != nil {
		return nil, err
	}
	return &projectsv1.ProjectGrantResponse{Details: resource.Changed(g.Record, g.OrgID)}, nil
}

// RemoveProjectGrant removes a grant and the users' roles by it.
func (s Server) RemoveProjectGrant(
	ctx context.Context, r *projectsv1.ProjectGrantRequest,
) (*projectsv1.ProjectGrantResponse, error) {
	g, err := s.Store.RemoveProjectGrant(ctx, base.OrgID(ctx), r.ProjectId, r.GrantId,
		func(g *domain.ProjectGrant) (proto.Message, error) {
			return &projectsv1.ProjectGrantRemoved{ProjectId: g.ProjectID, GrantedOrgId: g.GrantedOrgID}, nil
		})
	if err != nil {
		return nil, err
	}
	return &projectsv1.ProjectGrantResponse{Details: resource.Changed(g.Record, g.OrgID)}, nil
}

// SearchProjectGrants lists a project's grants.
func (s Server) SearchProjectGrants(
	ctx context.Context, r *projectsv1.SearchProjectGrantsRequest,
) (*projectsv1.SearchProjectGrantsResponse, error) {
	p, err := s.PageOf(ctx, r.ProjectId, r.Query)
	if err != nil {
		return nil, err
	}
	query := s.Store.ProjectGrants(base.OrgID(ctx), r.ProjectId)
	for _, q := range r.Queries {
		if f := q.RoleKeyQuery; f != nil {
			query.Where("? = any (g.role_keys)", f.RoleKey)
		}
		if f := q.GrantedOrgIdQuery; f != nil {
			query.Where("g.granted_org_id = ?", f.GrantedOrgId)
		}
	}
	list, err := store.Search[domain.ProjectGrant](ctx, s.Store, query, p)
	if err != nil {
		return nil, err
	}
	return &projectsv1.SearchProjectGrantsResponse{Details: list.Details(),
		Result: search.Each(list.Rows, projectGrant)}, nil
}

// SearchGrantedProjects lists the projects of other organizations that are granted to the one acted
// on.
func (s Server) SearchGrantedProjects(
	ctx context.Context, r *projectsv1.SearchGrantedProjectsRequest,
) (*projectsv1.SearchGrantedProjectsResponse, error) {
	query := s.Store.GrantedProjects(base.OrgID(ctx))
	for _, q := range r.Queries {
		if f := q.ProjectNameQuery; f != nil {
			query.Text(store.GrantedProjectName, f.Method, domain.Name(f.ProjectName))
		}
		if f := q.ProjectResourceOwnerQuery; f != nil {
			query.Where("p.org_id = ?", f.ResourceOwner)
		}
	}
	list, err := base.Search[domain.ProjectGrant](ctx, s.Base, query, r.Query)
	if err != nil {
		return nil, err
	}
	return &projectsv1.SearchGrantedProjectsResponse{Details: list.Details(),
		Result: search.Each(list.Rows, grantedProject)}, nil
}

func projectGrant(g domain.ProjectGrant) *projectsv1.ProjectGrant {
	return &projectsv1.ProjectGrant{
		Id: g.ID, Details: resource.Details(g.Record, g.OrgID), GrantedOrgId: g.GrantedOrgID, RoleKeys: g.RoleKeys,
		State: projectsv1.ProjectGrantState(g.State), ProjectId: g.ProjectID, ProjectName: g.ProjectName,
		Acceptance: projectsv1.ProjectGrantAcceptance(g.Acceptance), AcceptanceDetails: acceptanceDetails(g),
	}
}

func grantedProject(g domain.ProjectGrant) *projectsv1.GrantedProject {
	return &projectsv1.GrantedProject{
		ProjectGrantId: g.ID, Details: resource.Details(g.Record, g.OrgID), ProjectId: g.ProjectID,
		ProjectName: g.ProjectName,
		State:       projectsv1.ProjectGrantState(g.State), ProjectState: projectsv1.ProjectState(g.ProjectState),
		RoleKeys: g.RoleKeys, Acceptance: projectsv1.ProjectGrantAcceptance(g.Acceptance),
		AcceptanceDetails: acceptanceDetails(g),
	}
}

func acceptanceDetails(g domain.ProjectGrant) *heraldv1.ObjectDetails {
	if g.Acceptance == domain.AcceptancePending {
		return nil
	}
	return resource.Details(resource.Record{Sequence: g.AcceptanceSequence, CreatedAt: g.AcceptanceCreatedAt,
		ChangedAt: g.AcceptanceChangedAt}, g.GrantedOrgID)
}
