package grants

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/api/base"
	"herald/services/projects/internal/domain"
	"herald/shared/gen/fault/projectsfault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/rpc"
	"herald/shared/search"
)

// AddUserGrant grants a user roles on a project of the organization acted on, or on a project that is granted to it. On
// its own project the organization can grant roles to any user. On a granted project it can grant them to its own users
// only, and other users are not found.
func (s Server) AddUserGrant(
	ctx context.Context, r *projectsv1.AddUserGrantRequest,
) (*projectsv1.AddUserGrantResponse, error) {
	g := domain.UserGrant{ID: resource.NewID(), OrgID: base.OrgID(ctx), UserID: r.UserId, ProjectID: r.ProjectId,
		ProjectGrantID: r.ProjectGrantId}
	g.Assign(r.RoleKeys)
	if err := s.checkGrant(ctx, g, r.RoleKeys); err != nil {
		return nil, err
	}
	// The user is checked last, so that a request that is refused for another reason does not show whether the user
	// exists.
	who := &usersv1.ResolveUserRequest{UserId: g.UserID}
	if g.ProjectGrantID != "" {
		who.OrgId = g.OrgID
	}
	if _, err := s.Users.ResolveUser(rpc.OnOwnBehalf(ctx), who); err != nil {
		return nil, err
	}
	record, err := s.Store.CreateUserGrant(ctx, g, &projectsv1.UserGrantAdded{UserId: g.UserID, ProjectId: g.ProjectID})
	if err != nil {
		return nil, err
	}
	return &projectsv1.AddUserGrantResponse{GrantId: g.ID, Details: resource.Details(record, g.OrgID)}, nil
}

// checkGrant returns a fault with the reason if the roles cannot be granted. The store checks again when it writes
// them.
func (s Server) checkGrant(ctx context.Context, g domain.UserGrant, keys []string) error {
	if g.ProjectGrantID == "" {
		_, err := s.Store.Project(ctx, g.OrgID, g.ProjectID)
		if errors.Is(err, projectsfault.ErrProjectNotFound) {
			return projectsfault.ErrUserGrantProjectUnknown
		}
		if err != nil {
			return err
		}
		return s.checkRoles(ctx, g.ProjectID, keys)
	}
	granted, err := s.Store.GrantTo(ctx, g.OrgID, g.ProjectID, g.ProjectGrantID)
	switch {
	case errors.Is(err, projectsfault.ErrProjectGrantNotFound):
		return projectsfault.ErrUserGrantProjectGrantUnknown
	case err != nil:
		return err
	}
	if err := granted.Usable(); err != nil {
		return err
	}
	return domain.CheckGrantable(keys, granted.RoleKeys)
}

// GetUserGrant reads the roles that a user has on a project.
func (s Server) GetUserGrant(
	ctx context.Context, r *projectsv1.GetUserGrantRequest,
) (*projectsv1.GetUserGrantResponse, error) {
	g, err := s.Store.UserGrant(ctx, base.OrgID(ctx), r.UserId, r.GrantId)
	if err != nil {
		return nil, err
	}
	return &projectsv1.GetUserGrantResponse{UserGrant: userGrant(g)}, nil
}

// UpdateUserGrant replaces the roles that a user has on a project.
func (s Server) UpdateUserGrant(
	ctx context.Context, r *projectsv1.UpdateUserGrantRequest,
) (*projectsv1.UserGrantResponse, error) {
	g, err := s.Store.UserGrant(ctx, base.OrgID(ctx), r.UserId, r.GrantId)
	if err != nil {
		return nil, err
	}
	if err := s.checkGrant(ctx, g, r.RoleKeys); err != nil {
		return nil, err
	}
	g, err = s.Store.ChangeUserGrant(ctx, g.OrgID, g.UserID, g.ID, func(g *domain.UserGrant) (proto.Message, error) {
		if !g.Assign(r.RoleKeys) {
			return nil, nil
		}
		return &projectsv1.UserGrantChanged{UserId: g.UserID, ProjectId: g.ProjectID,
			Changed: []string{"roleKeys"}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &projectsv1.UserGrantResponse{Details: resource.Changed(g.Record, g.OrgID)}, nil
}

// RemoveUserGrant takes a user's roles on a project.
func (s Server) RemoveUserGrant(
	ctx context.Context, r *projectsv1.RemoveUserGrantRequest,
) (*projectsv1.UserGrantResponse, error) {
	g, err := s.Store.RemoveUserGrant(ctx, base.OrgID(ctx), r.UserId, r.GrantId,
		func(g *domain.UserGrant) (proto.Message, error) {
			return &projectsv1.UserGrantRemoved{UserId: g.UserID, ProjectId: g.ProjectID}, nil
		})
	if err != nil {
		return nil, err
	}
	return &projectsv1.UserGrantResponse{Details: resource.Changed(g.Record, g.OrgID)}, nil
}

// SearchUserGrants lists who has which roles on which project.
func (s Server) SearchUserGrants(
	ctx context.Context, r *projectsv1.SearchUserGrantsRequest,
) (*projectsv1.SearchUserGrantsResponse, error) {
	query := s.Store.UserGrants(base.OrgID(ctx))
	for _, q := range r.Queries {
		if f := q.UserIdQuery; f != nil {
			query.Where("u.user_id = ?", f.UserId)
		}
		if f := q.ProjectIdQuery; f != nil {
			query.Where("u.project_id = ?", f.ProjectId)
		}
		if f := q.ProjectGrantIdQuery; f != nil {
			query.Where("coalesce(u.project_grant_id, '') = ?", f.ProjectGrantId)
		}
		if f := q.RoleKeyQuery; f != nil {
			query.Where("? = any (u.role_keys)", f.RoleKey)
		}
	}
	list, err := base.Search[domain.UserGrant](ctx, s.Base, query, r.Query)
	if err != nil {
		return nil, err
	}
	return &projectsv1.SearchUserGrantsResponse{Details: list.Details(), Result: search.Each(list.Rows, userGrant)}, nil
}

func userGrant(g domain.UserGrant) *projectsv1.UserGrant {
	return &projectsv1.UserGrant{
		Id: g.ID, Details: resource.Details(g.Record, g.OrgID), UserId: g.UserID, ProjectId: g.ProjectID,
		ProjectName: g.ProjectName, ProjectGrantId: g.ProjectGrantID, RoleKeys: g.RoleKeys,
	}
}
