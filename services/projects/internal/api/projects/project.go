// Package projects answers the requests of the service Projects.
package projects

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/api/base"
	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	"herald/shared/caller"
	"herald/shared/fault"
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

	// Users makes the creator of a project its owner.
	Users usersv1.InternalClient
}

// ownerLimit is how long the answer to a creation waits for the owner's role.
const ownerLimit = 2 * time.Second

// CreateProject creates a project. The caller becomes its owner, unless a wider role has the same
// permissions. Otherwise owners of organizations would collect a role for each project.
func (s Server) CreateProject(
	ctx context.Context, r *projectsv1.CreateProjectRequest,
) (*projectsv1.CreateProjectResponse, error) {
	p := domain.Project{ID: resource.NewID(), OrgID: base.OrgID(ctx), State: domain.ProjectActive,
		Settings: settings(r)}
	created := &projectsv1.ProjectCreated{}
	if c := caller.From(ctx); !caller.CoversProjects(c.Memberships, p.OrgID) {
		created.OwnerId = c.UserID
	}
	record, err := s.Store.CreateProject(ctx, p, created)
	if err != nil {
		return nil, err
	}
	if created.OwnerId != "" {
		if err := s.makeOwner(ctx, p, created.OwnerId); err != nil {
			return nil, err
		}
	}
	return &projectsv1.CreateProjectResponse{Id: p.ID, Details: resource.Details(record, p.OrgID)}, nil
}

// makeOwner grants the owner's role before the answer, so that the next request may use it. If it fails, users does the
// same when it receives the event. Until then the creator cannot read the project, so the answer is no success.
func (s Server) makeOwner(ctx context.Context, p domain.Project, userID string) error {
	ctx, cancel := context.WithTimeout(rpc.OnOwnBehalf(context.WithoutCancel(ctx)), ownerLimit)
	defer cancel()
	_, err := s.Users.MakeProjectOwner(ctx, &usersv1.MakeProjectOwnerRequest{
		OrgId: p.OrgID, ProjectId: p.ID, UserId: userID,
	})
	if err != nil {
		return fault.ErrOutcomeUnknown.Because(fmt.Errorf("project %s gets its owner by its event: %w", p.ID, err))
	}
	return nil
}

// GetProject reads a project.
func (s Server) GetProject(
	ctx context.Context, r *projectsv1.GetProjectRequest,
) (*projectsv1.GetProjectResponse, error) {
	p, err := s.Store.Project(ctx, base.OrgID(ctx), r.ProjectId)
	if err != nil {
		return nil, err
	}
	return &projectsv1.GetProjectResponse{Project: Message(p)}, nil
}

// UpdateProject replaces a project's name and settings.
func (s Server) UpdateProject(
	ctx context.Context, r *projectsv1.UpdateProjectRequest,
) (*projectsv1.UpdateProjectResponse, error) {
	details, err := s.change(ctx, r.ProjectId, func(p *domain.Project) (proto.Message, error) {
		changed := p.Change(settings(r))
		if changed == nil {
			return nil, nil
		}
		return &projectsv1.ProjectChanged{Changed: changed}, nil
	})
	return &projectsv1.UpdateProjectResponse{Details: details}, err
}

// DeactivateProject ends the tokens of a project's applications.
func (s Server) DeactivateProject(
	ctx context.Context, r *projectsv1.DeactivateProjectRequest,
) (*projectsv1.DeactivateProjectResponse, error) {
	details, err := s.change(ctx, r.ProjectId, func(p *domain.Project) (proto.Message, error) {
		err := p.Deactivate()
		return &projectsv1.ProjectDeactivated{Generation: uint64(p.Generation)}, err
	})
	return &projectsv1.DeactivateProjectResponse{Details: details}, err
}

// ReactivateProject lets a project's applications get tokens again.
func (s Server) ReactivateProject(
	ctx context.Context, r *projectsv1.ReactivateProjectRequest,
) (*projectsv1.ReactivateProjectResponse, error) {
	details, err := s.change(ctx, r.ProjectId, func(p *domain.Project) (proto.Message, error) {
		return &projectsv1.ProjectReactivated{}, p.Reactivate()
	})
	return &projectsv1.ReactivateProjectResponse{Details: details}, err
}

func (s Server) change(
	ctx context.Context, projectID string, change func(*domain.Project) (proto.Message, error),
) (*heraldv1.ObjectDetails, error) {
	p, err := s.Store.ChangeProject(ctx, base.OrgID(ctx), projectID, change)
	return resource.Changed(p.Record, p.OrgID), err
}

// RemoveProject removes a project with everything in it.
func (s Server) RemoveProject(
	ctx context.Context, r *projectsv1.RemoveProjectRequest,
) (*projectsv1.RemoveProjectResponse, error) {
	p, err := s.Store.RemoveProject(ctx, base.OrgID(ctx), r.ProjectId, &projectsv1.ProjectRemoved{})
	if err != nil {
		return nil, err
	}
	return &projectsv1.RemoveProjectResponse{Details: resource.Changed(p.Record, p.OrgID)}, nil
}

// SearchProjects lists the projects of the organization acted on that the caller may read.
func (s Server) SearchProjects(
	ctx context.Context, r *projectsv1.SearchProjectsRequest,
) (*projectsv1.SearchProjectsResponse, error) {
	c := caller.From(ctx)
	query := s.Store.Projects(c.OrganizationID)
	if !c.Can("project.read", "") {
		query.Where("id = any (?)", readable(c))
	}
	for _, q := range r.Queries {
		if f := q.NameQuery; f != nil {
			query.Text(store.ProjectName, f.Method, domain.Name(f.Name))
		}
		if f := q.ProjectResourceOwnerQuery; f != nil {
			query.Where("org_id = ?", f.ResourceOwner)
		}
	}
	list, err := base.Search[domain.Project](ctx, s.Base, query, r.Query)
	if err != nil {
		return nil, err
	}
	return &projectsv1.SearchProjectsResponse{Details: list.Details(), Result: search.Each(list.Rows, Message)}, nil
}

// readable returns the ids of the projects that a caller may read by roles on these projects.
func readable(c caller.Caller) []string {
	ids := []string{} // nil would be null
	for _, m := range c.Memberships {
		if m.ProjectID != "" && caller.Holds([]caller.Membership{m}, "project.read", c.OrganizationID,
			m.ProjectID) {
			ids = append(ids, m.ProjectID)
		}
	}
	return ids
}

// SearchProjectChanges lists the events of a project and of the objects in it. Events of roles that
// another organization grants its users by a project grant belong to that organization and are not
// listed.
func (s Server) SearchProjectChanges(
	ctx context.Context, r *projectsv1.SearchProjectChangesRequest,
) (*heraldv1.SearchChangesResponse, error) {
	p, err := s.PageOf(ctx, r.ProjectId, r.Query)
	if err != nil {
		return nil, err
	}
	return s.Store.Changes(ctx, "project", base.OrgID(ctx), r.ProjectId, p)
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
		Name:                 domain.Name(r.GetName()),
		ProjectRoleAssertion: r.GetProjectRoleAssertion(), ProjectRoleCheck: r.GetProjectRoleCheck(),
		HasProjectCheck: r.GetHasProjectCheck(), PrivateLabelingSetting: int16(r.GetPrivateLabelingSetting()),
	}
}

// Message returns the message of a project.
func Message(p domain.Project) *projectsv1.Project {
	return &projectsv1.Project{
		Id: p.ID, Details: resource.Details(p.Record, p.OrgID), Name: p.Name, State: projectsv1.ProjectState(p.State),
		ProjectRoleAssertion: p.ProjectRoleAssertion, ProjectRoleCheck: p.ProjectRoleCheck,
		HasProjectCheck:        p.HasProjectCheck,
		PrivateLabelingSetting: projectsv1.PrivateLabelingSetting(p.PrivateLabelingSetting),
	}
}
