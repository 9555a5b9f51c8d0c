package api

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// AddRole adds a role to a project.
func (a Projects) AddRole(ctx context.Context, r *projectsv1.AddRoleRequest) (*projectsv1.RoleResponse, error) {
	return a.addRoles(ctx, r.ProjectId, []*projectsv1.NewRole{{Key: r.Key, DisplayName: r.DisplayName, Group: r.Group}})
}

// AddRoles adds several roles, all or none.
func (a Projects) AddRoles(ctx context.Context, r *projectsv1.AddRolesRequest) (*projectsv1.RoleResponse, error) {
	return a.addRoles(ctx, r.ProjectId, r.Roles)
}

func (a Projects) addRoles(
	ctx context.Context, projectID string, roles []*projectsv1.NewRole,
) (*projectsv1.RoleResponse, error) {
	all := search.Each(roles, func(n *projectsv1.NewRole) domain.Role {
		role := domain.Role{Key: n.Key}
		role.Change(n.DisplayName, n.Group)
		return role
	})
	if err := domain.CheckDistinct(all); err != nil {
		return nil, err
	}
	record, err := a.Store.CreateRoles(ctx, orgID(ctx), projectID, all, &projectsv1.RoleAdded{Key: all[0].Key})
	if err != nil {
		return nil, err
	}
	return &projectsv1.RoleResponse{Details: resource.Details(record, orgID(ctx))}, nil
}

// UpdateRole replaces a role's display name and group.
func (a Projects) UpdateRole(ctx context.Context, r *projectsv1.UpdateRoleRequest) (*projectsv1.RoleResponse, error) {
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
	return &projectsv1.RoleResponse{Details: resource.Changed(role.Record, role.OrgID)}, nil
}

// RemoveRole removes a role, also from everybody who has it.
func (a Projects) RemoveRole(ctx context.Context, r *projectsv1.RemoveRoleRequest) (*projectsv1.RoleResponse, error) {
	role, err := a.Store.RemoveRole(ctx, orgID(ctx), r.ProjectId, r.Key, &projectsv1.RoleRemoved{Key: r.Key})
	if err != nil {
		return nil, err
	}
	return &projectsv1.RoleResponse{Details: resource.Changed(role.Record, role.OrgID)}, nil
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
