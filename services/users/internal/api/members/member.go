// Package members answers the requests of the service Members.
package members

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/rpc"
	"herald/shared/search"
)

// Server implements the service.
type Server struct {
	base.Base
	// Projects calls the service projects.
	Projects projectsv1.InternalClient
}

// AddOrgMember gives a user roles in the organization acted on.
func (s Server) AddOrgMember(ctx context.Context, r *usersv1.AddMemberRequest) (*usersv1.MemberResponse, error) {
	return s.addMember(ctx, domain.Member{OrgID: base.OrgID(ctx), UserID: r.UserId}, r.Roles)
}

// AddIamMember gives a user roles in the instance.
func (s Server) AddIamMember(ctx context.Context, r *usersv1.AddMemberRequest) (*usersv1.MemberResponse, error) {
	return s.addMember(ctx, domain.Member{UserID: r.UserId}, r.Roles)
}

// AddProjectMember gives a user roles on a project of the organization acted on.
func (s Server) AddProjectMember(
	ctx context.Context, r *usersv1.AddProjectMemberRequest,
) (*usersv1.MemberResponse, error) {
	m := domain.Member{OrgID: base.OrgID(ctx), ProjectID: r.ProjectId, UserID: r.UserId}
	// Wrong roles are refused whether the project exists or not.
	if err := m.CheckRoles(r.Roles); err != nil {
		return nil, err
	}
	if err := s.hasProject(ctx, r.ProjectId); err != nil {
		return nil, err
	}
	return s.addMember(ctx, m, r.Roles)
}

// UpdateOrgMember replaces a member's roles.
func (s Server) UpdateOrgMember(ctx context.Context, r *usersv1.UpdateMemberRequest) (*usersv1.MemberResponse, error) {
	return s.updateMember(ctx, domain.Member{OrgID: base.OrgID(ctx), UserID: r.UserId}, r.Roles)
}

// UpdateIamMember replaces an instance member's roles.
func (s Server) UpdateIamMember(ctx context.Context, r *usersv1.UpdateMemberRequest) (*usersv1.MemberResponse, error) {
	return s.updateMember(ctx, domain.Member{UserID: r.UserId}, r.Roles)
}

// UpdateProjectMember replaces a project member's roles.
func (s Server) UpdateProjectMember(
	ctx context.Context, r *usersv1.UpdateProjectMemberRequest,
) (*usersv1.MemberResponse, error) {
	return s.updateMember(ctx, domain.Member{OrgID: base.OrgID(ctx), ProjectID: r.ProjectId, UserID: r.UserId}, r.Roles)
}

// RemoveOrgMember removes all roles of a user in the organization acted on.
func (s Server) RemoveOrgMember(ctx context.Context, r *usersv1.RemoveMemberRequest) (*usersv1.MemberResponse, error) {
	return s.removeMember(ctx, domain.Member{OrgID: base.OrgID(ctx), UserID: r.UserId})
}

// RemoveIamMember removes all roles of a user in the instance.
func (s Server) RemoveIamMember(ctx context.Context, r *usersv1.RemoveMemberRequest) (*usersv1.MemberResponse, error) {
	return s.removeMember(ctx, domain.Member{UserID: r.UserId})
}

// RemoveProjectMember removes all roles of a user on a project.
func (s Server) RemoveProjectMember(
	ctx context.Context, r *usersv1.RemoveProjectMemberRequest,
) (*usersv1.MemberResponse, error) {
	return s.removeMember(ctx, domain.Member{OrgID: base.OrgID(ctx), ProjectID: r.ProjectId, UserID: r.UserId})
}

// hasProject returns the fault of the service projects if it has no such project.
func (s Server) hasProject(ctx context.Context, projectID string) error {
	_, err := s.Projects.ResolveProject(rpc.OnOwnBehalf(ctx), &projectsv1.ResolveProjectRequest{OrgId: base.OrgID(ctx),
		ProjectId: projectID})
	return err
}

func (s Server) addMember(ctx context.Context, m domain.Member, roles []string) (*usersv1.MemberResponse, error) {
	if err := m.CheckRoles(roles); err != nil {
		return nil, err
	}
	m.Assign(roles)
	if err := base.Covers(ctx, m); err != nil {
		return nil, err
	}
	m, err := s.Store.CreateMember(ctx, m, func(m domain.Member) proto.Message {
		return &usersv1.MemberAdded{UserId: m.UserID, Roles: m.Roles, Instance: m.OrgID == "", ProjectId: m.ProjectID,
			State: usersv1.MembershipState(m.State)}
	})
	return &usersv1.MemberResponse{Details: resource.Details(m.Record, m.OrgID), State: state(m)}, err
}

// state returns the state of a member who is left.
func state(m domain.Member) *usersv1.MembershipState {
	if len(m.Roles) == 0 {
		return nil
	}
	return usersv1.MembershipState(m.State).Enum()
}

func (s Server) updateMember(
	ctx context.Context, place domain.Member, roles []string,
) (*usersv1.MemberResponse, error) {
	if err := place.CheckRoles(roles); err != nil {
		return nil, err
	}
	return s.changeMember(ctx, place, func(m *domain.Member) (proto.Message, error) {
		if !m.Assign(roles) {
			return nil, nil
		}
		return &usersv1.MemberChanged{UserId: m.UserID, Roles: m.Roles, Instance: m.OrgID == "",
			ProjectId: m.ProjectID}, base.Covers(ctx, *m)
	})
}

func (s Server) removeMember(ctx context.Context, place domain.Member) (*usersv1.MemberResponse, error) {
	return s.changeMember(ctx, place, remove)
}

func remove(m *domain.Member) (proto.Message, error) {
	m.Assign(nil)
	return &usersv1.MemberRemoved{UserId: m.UserID, Instance: m.OrgID == "", ProjectId: m.ProjectID}, nil
}

// changeMember changes a member's roles. It refuses to remove roles that the caller may not grant.
func (s Server) changeMember(
	ctx context.Context, place domain.Member, change func(*domain.Member) (proto.Message, error),
) (*usersv1.MemberResponse, error) {
	m, err := s.Store.ChangeMember(ctx, place.OrgID, place.ProjectID, place.UserID,
		func(m *domain.Member) (proto.Message, error) {
			if err := base.Covers(ctx, *m); err != nil {
				return nil, err
			}
			return change(m)
		})
	return changed(m), err
}

func changed(m domain.Member) *usersv1.MemberResponse {
	return &usersv1.MemberResponse{Details: resource.Changed(m.Record, m.OrgID), State: state(m)}
}

// SearchOrgMembers lists the members of the organization acted on.
func (s Server) SearchOrgMembers(
	ctx context.Context, r *usersv1.SearchMembersRequest,
) (*usersv1.SearchMembersResponse, error) {
	return s.searchMembers(ctx, s.Store.Members(base.OrgID(ctx), ""), r)
}

// SearchIamMembers lists the instance's members.
func (s Server) SearchIamMembers(
	ctx context.Context, r *usersv1.SearchMembersRequest,
) (*usersv1.SearchMembersResponse, error) {
	return s.searchMembers(ctx, s.Store.Members("", ""), r)
}

// SearchProjectMembers lists the members of a project of the organization acted on.
func (s Server) SearchProjectMembers(
	ctx context.Context, r *usersv1.SearchProjectMembersRequest,
) (*usersv1.SearchMembersResponse, error) {
	// A wrong query is refused whether the project exists or not.
	if _, err := search.Bounds(r.Query, s.MaxLimit); err != nil {
		return nil, err
	}
	if err := s.hasProject(ctx, r.ProjectId); err != nil {
		return nil, err
	}
	return s.searchMembers(ctx, s.Store.Members(base.OrgID(ctx), r.ProjectId),
		&usersv1.SearchMembersRequest{Query: r.Query, Queries: r.Queries})
}

func (s Server) searchMembers(
	ctx context.Context, query *search.Query, r *usersv1.SearchMembersRequest,
) (*usersv1.SearchMembersResponse, error) {
	p, err := search.Bounds(r.Query, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	for _, q := range r.Queries {
		if f := q.UserIdQuery; f != nil {
			query.Where("m.user_id = ?", f.UserId)
		}
	}
	list, err := s.Store.SearchMembers(ctx, query, p)
	return &usersv1.SearchMembersResponse{Details: list.Details(), Result: search.Each(list.Rows, member)}, err
}

func member(m store.NamedMember) *usersv1.Member {
	return &usersv1.Member{UserId: m.UserID, Details: resource.Details(m.Record, m.OrgID), Roles: m.Roles,
		UserName: m.UserName, DisplayName: m.DisplayName, UserOrgId: m.UserOrgID,
		State: usersv1.MembershipState(m.State)}
}

// SearchOrgMemberRoles lists the roles of organizations.
func (s Server) SearchOrgMemberRoles(
	context.Context, *usersv1.SearchRolesRequest,
) (*usersv1.SearchRolesResponse, error) {
	return s.roles(caller.Organization), nil
}

// SearchProjectMemberRoles lists the roles of projects.
func (s Server) SearchProjectMemberRoles(
	context.Context, *usersv1.SearchRolesRequest,
) (*usersv1.SearchRolesResponse, error) {
	return s.roles(caller.Project), nil
}

// SearchIamMemberRoles lists the roles of the instance.
func (s Server) SearchIamMemberRoles(
	context.Context, *usersv1.SearchRolesRequest,
) (*usersv1.SearchRolesResponse, error) {
	return s.roles(caller.Instance), nil
}

func (s Server) roles(level caller.Level) *usersv1.SearchRolesResponse {
	all := caller.Roles(level)
	list := search.List[caller.Role]{Rows: all, Total: uint64(len(all)), At: s.Now()}
	return &usersv1.SearchRolesResponse{Details: list.Details(),
		Result: search.Each(all, func(r caller.Role) *usersv1.Role {
			return &usersv1.Role{Role: r.Name, Permissions: r.Permissions}
		})}
}
