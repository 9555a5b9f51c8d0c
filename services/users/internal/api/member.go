package api

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/rpc"
	"herald/shared/search"
)

// AddOrgMember gives a user roles in the organization acted on.
func (u Users) AddOrgMember(ctx context.Context, r *usersv1.AddMemberRequest) (*usersv1.MemberResponse, error) {
	return u.addMember(ctx, domain.Member{OrgID: orgID(ctx), UserID: r.UserId}, r.Roles)
}

// AddIamMember gives a user roles in the instance.
func (u Users) AddIamMember(ctx context.Context, r *usersv1.AddMemberRequest) (*usersv1.MemberResponse, error) {
	return u.addMember(ctx, domain.Member{UserID: r.UserId}, r.Roles)
}

// AddProjectMember gives a user roles on a project of the organization acted on.
func (u Users) AddProjectMember(
	ctx context.Context, r *usersv1.AddProjectMemberRequest,
) (*usersv1.MemberResponse, error) {
	m := domain.Member{OrgID: orgID(ctx), ProjectID: r.ProjectId, UserID: r.UserId}
	// Wrong roles are refused whether the project exists or not.
	if err := m.CheckRoles(r.Roles); err != nil {
		return nil, err
	}
	if err := u.hasProject(ctx, r.ProjectId); err != nil {
		return nil, err
	}
	return u.addMember(ctx, m, r.Roles)
}

// UpdateOrgMember replaces a member's roles.
func (u Users) UpdateOrgMember(ctx context.Context, r *usersv1.UpdateMemberRequest) (*usersv1.MemberResponse, error) {
	return u.updateMember(ctx, domain.Member{OrgID: orgID(ctx), UserID: r.UserId}, r.Roles)
}

// UpdateIamMember replaces an instance member's roles.
func (u Users) UpdateIamMember(ctx context.Context, r *usersv1.UpdateMemberRequest) (*usersv1.MemberResponse, error) {
	return u.updateMember(ctx, domain.Member{UserID: r.UserId}, r.Roles)
}

// UpdateProjectMember replaces a project member's roles.
func (u Users) UpdateProjectMember(
	ctx context.Context, r *usersv1.UpdateProjectMemberRequest,
) (*usersv1.MemberResponse, error) {
	return u.updateMember(ctx, domain.Member{OrgID: orgID(ctx), ProjectID: r.ProjectId, UserID: r.UserId}, r.Roles)
}

// RemoveOrgMember takes all roles in the organization acted on.
func (u Users) RemoveOrgMember(ctx context.Context, r *usersv1.RemoveMemberRequest) (*usersv1.MemberResponse, error) {
	return u.removeMember(ctx, domain.Member{OrgID: orgID(ctx), UserID: r.UserId})
}

// RemoveIamMember takes all roles in the instance.
func (u Users) RemoveIamMember(ctx context.Context, r *usersv1.RemoveMemberRequest) (*usersv1.MemberResponse, error) {
	return u.removeMember(ctx, domain.Member{UserID: r.UserId})
}

// RemoveProjectMember takes all roles on a project.
func (u Users) RemoveProjectMember(
	ctx context.Context, r *usersv1.RemoveProjectMemberRequest,
) (*usersv1.MemberResponse, error) {
	return u.removeMember(ctx, domain.Member{OrgID: orgID(ctx), ProjectID: r.ProjectId, UserID: r.UserId})
}

// hasProject returns the fault of the service projects if it has no such project.
func (u Users) hasProject(ctx context.Context, projectID string) error {
	_, err := u.Projects.ResolveProject(rpc.OnOwnBehalf(ctx), &projectsv1.ResolveProjectRequest{OrgId: orgID(ctx),
		ProjectId: projectID})
	return err
}

func (u Users) addMember(ctx context.Context, m domain.Member, roles []string) (*usersv1.MemberResponse, error) {
	if err := m.CheckRoles(roles); err != nil {
		return nil, err
	}
	m.Assign(roles)
	if err := covers(ctx, m); err != nil {
		return nil, err
	}
	record, err := u.Store.CreateMember(ctx, m, &usersv1.MemberAdded{
		UserId: m.UserID, Roles: m.Roles, Instance: m.OrgID == "", ProjectId: m.ProjectID,
	})
	if err != nil {
		return nil, err
	}
	return &usersv1.MemberResponse{Details: resource.Details(record, m.OrgID)}, nil
}

func (u Users) updateMember(
	ctx context.Context, place domain.Member, roles []string,
) (*usersv1.MemberResponse, error) {
	if err := place.CheckRoles(roles); err != nil {
		return nil, err
	}
	return u.changeMember(ctx, place, func(m *domain.Member) (proto.Message, error) {
		if !m.Assign(roles) {
			return nil, nil
		}
		return &usersv1.MemberChanged{UserId: m.UserID, Roles: m.Roles, Instance: m.OrgID == "",
			ProjectId: m.ProjectID}, covers(ctx, *m)
	})
}

func (u Users) removeMember(ctx context.Context, place domain.Member) (*usersv1.MemberResponse, error) {
	return u.changeMember(ctx, place, func(m *domain.Member) (proto.Message, error) {
		m.Assign(nil)
		return memberRemoved(*m), nil
	})
}

func memberRemoved(m domain.Member) *usersv1.MemberRemoved {
	return &usersv1.MemberRemoved{UserId: m.UserID, Instance: m.OrgID == "", ProjectId: m.ProjectID}
}

// changeMember changes a member's roles. It refuses to remove roles that the caller may not grant.
func (u Users) changeMember(
	ctx context.Context, place domain.Member, change func(*domain.Member) (proto.Message, error),
) (*usersv1.MemberResponse, error) {
	m, err := u.Store.ChangeMember(ctx, place.OrgID, place.ProjectID, place.UserID,
		func(m *domain.Member) (proto.Message, error) {
			if err := covers(ctx, *m); err != nil {
				return nil, err
			}
			return change(m)
		})
	if err != nil {
		return nil, err
	}
	return &usersv1.MemberResponse{Details: resource.Changed(m.Record, m.OrgID)}, nil
}

// SearchOrgMembers lists the members of the organization acted on.
func (u Users) SearchOrgMembers(
	ctx context.Context, r *usersv1.SearchMembersRequest,
) (*usersv1.SearchMembersResponse, error) {
	return u.searchMembers(ctx, u.Store.Members(orgID(ctx), ""), r)
}

// SearchIamMembers lists the instance's members.
func (u Users) SearchIamMembers(
	ctx context.Context, r *usersv1.SearchMembersRequest,
) (*usersv1.SearchMembersResponse, error) {
	return u.searchMembers(ctx, u.Store.Members("", ""), r)
}

// SearchProjectMembers lists the members of a project of the organization acted on.
func (u Users) SearchProjectMembers(
	ctx context.Context, r *usersv1.SearchProjectMembersRequest,
) (*usersv1.SearchMembersResponse, error) {
	// A wrong query is refused whether the project exists or not.
	if _, err := search.Bounds(r.Query, u.MaxLimit); err != nil {
		return nil, err
	}
	if err := u.hasProject(ctx, r.ProjectId); err != nil {
		return nil, err
	}
	return u.searchMembers(ctx, u.Store.Members(orgID(ctx), r.ProjectId),
		&usersv1.SearchMembersRequest{Query: r.Query, Queries: r.Queries})
}

func (u Users) searchMembers(
	ctx context.Context, query *search.Query, r *usersv1.SearchMembersRequest,
) (*usersv1.SearchMembersResponse, error) {
	p, err := search.Bounds(r.Query, u.MaxLimit)
	if err != nil {
		return nil, err
	}
	for _, q := range r.Queries {
		if f := q.UserIdQuery; f != nil {
			query.Where("m.user_id = ?", f.UserId)
		}
	}
	list, err := u.Store.SearchMembers(ctx, query, p)
	if err != nil {
		return nil, err
	}
	return &usersv1.SearchMembersResponse{Details: list.Details(), Result: search.Each(list.Rows, member)}, nil
}

func member(m store.NamedMember) *usersv1.Member {
	return &usersv1.Member{UserId: m.UserID, Details: resource.Details(m.Record, m.OrgID), Roles: m.Roles,
		UserName: m.UserName, DisplayName: m.DisplayName, UserOrgId: m.UserOrgID}
}

// SearchOrgMemberRoles lists the roles of organizations.
func (u Users) SearchOrgMemberRoles(
	context.Context, *usersv1.SearchRolesRequest,
) (*usersv1.SearchRolesResponse, error) {
	return u.roles(domain.OrgRoles()), nil
}

// SearchProjectMemberRoles lists the roles of projects.
func (u Users) SearchProjectMemberRoles(
	context.Context, *usersv1.SearchRolesRequest,
) (*usersv1.SearchRolesResponse, error) {
	return u.roles(domain.ProjectRoles()), nil
}

// SearchIamMemberRoles lists the roles of the instance.
func (u Users) SearchIamMemberRoles(
	context.Context, *usersv1.SearchRolesRequest,
) (*usersv1.SearchRolesResponse, error) {
	return u.roles(domain.InstanceRoles()), nil
}

func (u Users) roles(all []domain.Role) *usersv1.SearchRolesResponse {
	list := search.List[domain.Role]{Rows: all, Total: uint64(len(all)), At: u.Now()}
	return &usersv1.SearchRolesResponse{Details: list.Details(),
		Result: search.Each(all, func(r domain.Role) *usersv1.Role {
			return &usersv1.Role{Role: r.Name, Permissions: r.Permissions}
		})}
}
