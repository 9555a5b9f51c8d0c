package api

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	"herald/shared/caller"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/id"
	"herald/shared/permission"
	"herald/shared/resource"
	"herald/shared/rpc"
	"herald/shared/search"
)

// ownerLimit is how long the answer to a creation waits for the owner's role.
const ownerLimit = 2 * time.Second

// CreateProject creates a project. The caller becomes its owner, unless a wider role has the same
// permissions. Otherwise owners of organizations would collect a role for each project.
func (a Projects) CreateProject(
	ctx context.Context, r *projectsv1.CreateProjectRequest,
) (*projectsv1.CreateProjectResponse, error) {
	p := domain.Project{ID: id.New(), OrgID: orgID(ctx), State: domain.ProjectActive, Settings: settings(r)}
	created := &projectsv1.ProjectCreated{}
	if c := caller.From(ctx); !permission.CoversProjects(c.Memberships, p.OrgID) {
		created.OwnerId = c.UserID
	}
	record, err := a.Store.CreateProject(ctx, p, created)
	if err != nil {
		return nil, err
	}
	if created.OwnerId != "" {
		a.makeOwner(ctx, p, created.OwnerId)
	}
	return &projectsv1.CreateProjectResponse{Id: p.ID, Details: resource.Details(record, p.OrgID)}, nil
}

// makeOwner grants the owner's role before the answer, so that the next request may use it. If it fails,
// for instance because users is away, users does the same when it gets the event.
func (a Projects) makeOwner(ctx context.Context, p domain.Project, userID string) {
	ctx, cancel := context.WithTimeout(rpc.OnOwnBehalf(context.WithoutCancel(ctx)), ownerLimit)
	defer cancel()
	_, err := a.Users.MakeProjectOwner(ctx, &usersv1.MakeProjectOwnerRequest{
		OrgId: p.OrgID, ProjectId: p.ID, UserId: userID,
	})
	if err != nil {
		a.Log.WarnContext(ctx, "a project's owner comes with its event", "project", p.ID, "err", err)
	}
}

// GetProject reads a project.
func (a Projects) GetProject(
	ctx context.Context, r *projectsv1.GetProjectRequest,
) (*projectsv1.GetProjectResponse, error) {
	p, err := a.Store.Project(ctx, orgID(ctx), r.ProjectId)
	if err != nil {
		return nil, err
	}
	return &projectsv1.GetProjectResponse{Project: project(p)}, nil
}

// UpdateProject replaces a project's name and settings.
func (a Projects) UpdateProject(
	ctx context.Context, r *projectsv1.UpdateProjectRequest,
) (*projectsv1.UpdateProjectResponse, error) {
	p, err := a.Store.ChangeProject(ctx, orgID(ctx), r.ProjectId, func(p *domain.Project) (proto.Message, error) {
		changed := p.Change(settings(r))
		if changed == nil {
			return nil, nil
		}
		return &projectsv1.ProjectChanged{Changed: changed}, nil
	})
	if err != nil {
		return nil, err
	}
	return &projectsv1.UpdateProjectResponse{Details: resource.Changed(p.Record, p.OrgID)}, nil
}

// DeactivateProject ends the tokens of a project's applications.
func (a Projects) DeactivateProject(
	ctx context.Context, r *projectsv1.DeactivateProjectRequest,
) (*projectsv1.DeactivateProjectResponse, error) {
	p, err := a.Store.ChangeProject(ctx, orgID(ctx), r.ProjectId, func(p *domain.Project) (proto.Message, error) {
		err := p.Deactivate()
		return &projectsv1.ProjectDeactivated{Generation: uint64(p.Generation)}, err
	})
	if err != nil {
		return nil, err
	}
	return &projectsv1.DeactivateProjectResponse{Details: resource.Changed(p.Record, p.OrgID)}, nil
}

// ReactivateProject lets a project's applications get tokens again.
func (a Projects) ReactivateProject(
	ctx context.Context, r *projectsv1.ReactivateProjectRequest,
) (*projectsv1.ReactivateProjectResponse, error) {
	p, err := a.Store.ChangeProject(ctx, orgID(ctx), r.ProjectId, func(p *domain.Project) (proto.Message, error) {
		return &projectsv1.ProjectReactivated{}, p.Reactivate()
	})
	if err != nil {
		return nil, err
	}
	return &projectsv1.ReactivateProjectResponse{Details: resource.Changed(p.Record, p.OrgID)}, nil
}

// RemoveProject removes a project with everything in it.
func (a Projects) RemoveProject(
	ctx context.Context, r *projectsv1.RemoveProjectRequest,
) (*projectsv1.RemoveProjectResponse, error) {
	p, err := a.Store.RemoveProject(ctx, orgID(ctx), r.ProjectId, &projectsv1.ProjectRemoved{})
	if err != nil {
		return nil, err
	}
	return &projectsv1.RemoveProjectResponse{Details: resource.Changed(p.Record, p.OrgID)}, nil
}

// SearchProjects lists the projects of the organization acted on that the caller may read.
func (a Projects) SearchProjects(
	ctx context.Context, r *projectsv1.SearchProjectsRequest,
) (*projectsv1.SearchProjectsResponse, error) {
	p, err := search.Bounds(r.Query, a.MaxLimit)
	if err != nil {
		return nil, err
	}
	c := caller.From(ctx)
	query := a.Store.Projects(c.OrganizationID)
	if !c.Can("project.read", "") {
		query.Where("id = any (?)", readable(c))
	}
	for _, q := range r.Queries {
		if f := q.NameQuery; f != nil {
			query.Text(store.ProjectName, f.Method, f.Name)
		}
		if f := q.ProjectResourceOwnerQuery; f != nil {
			query.Where("org_id = ?", f.ResourceOwner)
		}
	}
	list, err := a.Store.SearchProjects(ctx, query, p)
	if err != nil {
		return nil, err
	}
	return &projectsv1.SearchProjectsResponse{Details: list.Details(), Result: search.Each(list.Rows, project)}, nil
}

// readable returns the ids of the projects that a caller may read by roles on these projects.
func readable(c caller.Caller) []string {
	ids := []string{} // nil would be null
	for _, m := range c.Memberships {
		if m.ProjectID != "" && permission.Holds([]permission.Membership{m}, "project.read", c.OrganizationID,
			m.ProjectID) {
			ids = append(ids, m.ProjectID)
		}
	}
	return ids
}

// ResolveProject returns a fault if the organization has no such project.
func (a Projects) ResolveProject(
	ctx context.Context, r *projectsv1.ResolveProjectRequest,
) (*projectsv1.ResolveProjectResponse, error) {
	_, err := a.Store.Project(ctx, r.OrgId, r.ProjectId)
	return &projectsv1.ResolveProjectResponse{}, err
}

// settings returns the settings of a creation or a change.
func settings(r interface {
	GetName() string
	GetProjectRoleAssertion() bool
	GetProjectRoleCheck() bool
	GetHasProjectCheck() bool
	GetPrivateLabelingSetting() projectsv1.PrivateLabelingSetting
}) domain.Settings {
	return domain.Settings{
		Name: r.GetName(), ProjectRoleAssertion: r.GetProjectRoleAssertion(), ProjectRoleCheck: r.GetProjectRoleCheck(),
		HasProjectCheck: r.GetHasProjectCheck(), PrivateLabelingSetting: int16(r.GetPrivateLabelingSetting()),
	}
}

func project(p domain.Project) *projectsv1.Project {
	return &projectsv1.Project{
		Id: p.ID, Details: resource.Details(p.Record, p.OrgID), Name: p.Name, State: projectsv1.ProjectState(p.State),
		ProjectRoleAssertion: p.ProjectRoleAssertion, ProjectRoleCheck: p.ProjectRoleCheck,
		HasProjectCheck:        p.HasProjectCheck,
		PrivateLabelingSetting: projectsv1.PrivateLabelingSetting(p.PrivateLabelingSetting),
	}
}
