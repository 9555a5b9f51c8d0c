// Package roles answers the requests of the service Roles.
package roles

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/api/base"
	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	"herald/shared/gen/fault/projectsfault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// Server implements the service.
type Server struct{ base.Base }

// AddProjectRole adds a role to a project.
func (s Server) AddProjectRole(
	ctx context.Context, r *projectsv1.AddProjectRoleRequest,
) (*projectsv1.ProjectRoleResponse, error) {
	role := &projectsv1.NewProjectRole{Key: r.Key, DisplayName: r.DisplayName, Group: r.Group}
	return s.addRoles(ctx, r.ProjectId, []*projectsv1.NewProjectRole{role})
}

// AddProjectRoles adds several roles, all or none.
func (s Server) AddProjectRoles(
	ctx context.Context, r *projectsv1.AddProjectRolesRequest,
) (*projectsv1.ProjectRoleResponse, error) {
	added, err := s.addRoles(ctx, r.ProjectId, r.Roles)
	if !errors.Is(err, projectsfault.ErrProjectRoleExists) {
		return added, err
	}
	all := newRoles(r.Roles)
	taken, failed := s.Store.RoleKeys(ctx, base.OrgID(ctx), r.ProjectId,
		search.Each(all, func(role domain.Role) string { return role.Key }))
	if failed != nil {
		return nil, failed
	}
	if len(taken) == 0 { // removed meanwhile
		return nil, err
	}
	return nil, domain.TakenRoles(all, taken)
}

func newRoles(roles []*projectsv1.NewProjectRole) []domain.Role {
	return search.Each(roles, func(n *projectsv1.NewProjectRole) domain.Role {
		role := domain.Role{Key: n.Key}
		role.Change(n.DisplayName, n.Group)
		return role
	})
}

func (s Server) addRoles(
	ctx context.Context, projectID string, roles []*projectsv1.NewProjectRole,
) (*projectsv1.ProjectRoleResponse, error) {
	all := newRoles(roles)
	if err := domain.CheckDistinct(all); err != nil {
		return nil, err
	}
	record, err := s.Store.CreateRoles(ctx, base.OrgID(ctx), projectID, all, &projectsv1.RoleAdded{Key: all[0].Key})
	if err != nil {
		return nil, err
	}
	return &projectsv1.ProjectRoleResponse{Details: resource.Details(record, base.OrgID(ctx))}, nil
}

// UpdateProjectRole replaces a role's display name and group.
func (s Server) UpdateProjectRole(
	ctx context.Context, r *projectsv1.UpdateProjectRoleRequest,
) (*projectsv1.ProjectRoleResponse, error) {
	role, err := s.Store.ChangeRole(ctx, base.OrgID(ctx), r.ProjectId, r.Key,
		func(role *domain.Role) (proto.Message, error) {
			changed := role.Change(r.DisplayName, r.Group)
			if changed == nil {
				return nil, nil
			}
			return &projectsv1.RoleChanged{Key: role.Key, Changed: changed}, nil
		})
	if err != nil {
		return nil, err
	}
	return &projectsv1.ProjectRoleResponse{Details: resource.Changed(role.Record, role.OrgID)}, nil
}

// RemoveProjectRole removes a role, also from everybody who has it.
func (s Server) RemoveProjectRole(
	ctx context.Context, r *projectsv1.RemoveProjectRoleRequest,
) (*projectsv1.ProjectRoleResponse, error) {
	role, err := s.Store.RemoveRole(ctx, base.OrgID(ctx), r.ProjectId, r.Key, &projectsv1.RoleRemoved{Key: r.Key})
	if err != nil {
		return nil, err
	}
	return &projectsv1.ProjectRoleResponse{Details: resource.Changed(role.Record, role.OrgID)}, nil
}

// SearchProjectRoles lists a project's roles.
func (s Server) SearchProjectRoles(
	ctx context.Context, r *projectsv1.SearchProjectRolesRequest,
) (*projectsv1.SearchProjectRolesResponse, error) {
	p, err := s.PageOf(ctx, r.ProjectId, r.Query)
	if err != nil {
		return nil, err
	}
	query := s.Store.Roles(base.OrgID(ctx), r.ProjectId)
	for _, q := range r.Queries {
		if f := q.KeyQuery; f != nil {
			query.Text(store.RoleKey, f.Method, f.Key)
		}
		if f := q.DisplayNameQuery; f != nil {
			query.Text(store.RoleDisplayName, f.Method, f.DisplayName)
		}
	}
	list, err := store.Search[domain.Role](ctx, s.Store, query, p)
	if err != nil {
		return nil, err
	}
	return &projectsv1.SearchProjectRolesResponse{Details: list.Details(), Result: search.Each(list.Rows, message)}, nil
}

func message(r domain.Role) *projectsv1.ProjectRole {
	return &projectsv1.ProjectRole{Key: r.Key, Details: resource.Details(r.Record, r.OrgID),
		DisplayName: r.DisplayName, Group: r.Group}
}
