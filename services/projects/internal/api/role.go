package api

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// AddProjectRole adds a role to a project.
func (a Projects) AddProjectRole(
	ctx context.Context, r *projectsv1.AddProjectRoleRequest,
) (*projectsv1.ProjectRoleResponse, error) {
	role := &projectsv1.NewProjectRole{Key: r.Key, DisplayName: r.DisplayName, Group: r.Group}
	return a.addRoles(ctx, r.ProjectId, []*projectsv1.NewProjectRole{role})
}

// AddProjectRoles adds several roles, all or none.
func (a Projects) AddProjectRoles(
	ctx context.Context, r *projectsv1.AddProjectRolesRequest,
) (*projectsv1.ProjectRoleResponse, error) {
	added, err := a.addRoles(ctx, r.ProjectId, r.Roles)
	if !errors.Is(err, domain.ErrRoleExists) {
		return added, err
	}
	all := newRoles(r.Roles)
	taken, failed := a.Store.RoleKeys(ctx, orgID(ctx), r.ProjectId,
		search.Each(all, func(role domain.Role) string { return role.Key }))
	if failed != nil {
		return nil, failed
	}
	if len(taken) == 0 { // removed meanwhile
		return nil, err
	}
	return nil, domain.RolesExist(all, taken)
}

func newRoles(roles []*projectsv1.NewProjectRole) []domain.Role {
	return search.Each(roles, func(n *projectsv1.NewProjectRole) domain.Role {
		role := domain.Role{Key: n.Key}
		role.Change(n.DisplayName, n.Group)
		return role
	})
}

func (a Projects) addRoles(
	ctx context.Context, projectID string, roles []*projectsv1.NewProjectRole,
) (*projectsv1.ProjectRoleResponse, error) {
	all := newRoles(roles)
	if err := domain.CheckDistinct(all); err != nil {
		return nil, err
	}
	record, err := a.Store.CreateRoles(ctx, orgID(ctx), projectID, all, &projectsv1.RoleAdded{Key: all[0].Key})
	if err != nil {
		return nil, err
	}
	return &projectsv1.ProjectRoleResponse{Details: resource.Details(record, orgID(ctx))}, nil
}

// UpdateProjectRole replaces a role's display name and group.
func (a Projects) UpdateProjectRole(
	ctx context.Context, r *projectsv1.UpdateProjectRoleRequest,
) (*projectsv1.ProjectRoleResponse, error) {
	role, err := a.Store.ChangeRole(ctx, orgID(ctx), r.ProjectId, r.Key,
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
func (a Projects) RemoveProjectRole(
	ctx context.Context, r *projectsv1.RemoveProjectRoleRequest,
) (*projectsv1.ProjectRoleResponse, error) {
	role, err := a.Store.RemoveRole(ctx, orgID(ctx), r.ProjectId, r.Key, &projectsv1.RoleRemoved{Key: r.Key})
	if err != nil {
		return nil, err
	}
	return &projectsv1.ProjectRoleResponse{Details: resource.Changed(role.Record, role.OrgID)}, nil
}

// SearchProjectRoles lists a project's roles.
func (a Projects) SearchProjectRoles(
	ctx context.Context, r *projectsv1.SearchProjectRolesRequest,
) (*projectsv1.SearchProjectRolesResponse, error) {
	p, err := a.pageOf(ctx, r.ProjectId, r.Query)
	if err != nil {
		return nil, err
	}
	query := a.Store.Roles(orgID(ctx), r.ProjectId)
	for _, q := range r.Queries {
		if f := q.KeyQuery; f != nil {
			query.Text(store.RoleKey, f.Method, f.Key)
		}
		if f := q.DisplayNameQuery; f != nil {
			query.Text(store.RoleDisplayName, f.Method, f.DisplayName)
		}
	}
	list, err := a.Store.SearchRoles(ctx, query, p)
	if err != nil {
		return nil, err
	}
	return &projectsv1.SearchProjectRolesResponse{Details: list.Details(), Result: search.Each(list.Rows, role)}, nil
}

func role(r domain.Role) *projectsv1.ProjectRole {
	return &projectsv1.ProjectRole{Key: r.Key, Details: resource.Details(r.Record, r.OrgID),
		DisplayName: r.DisplayName, Group: r.Group}
}
