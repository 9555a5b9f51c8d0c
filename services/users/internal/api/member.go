package api

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/page"
	"herald/shared/permission"
)

// AddOrgMember gives a user roles in the organization acted on.
func (u Users) AddOrgMember(ctx context.Context, r *usersv1.AddMemberRequest) (*usersv1.MemberResponse, error) {
	return u.addMember(ctx, permission.Organization, orgID(ctx), r)
}

// AddIamMember gives a user roles in the instance.
func (u Users) AddIamMember(ctx context.Context, r *usersv1.AddMemberRequest) (*usersv1.MemberResponse, error) {
	return u.addMember(ctx, permission.Instance, "", r)
}

// UpdateOrgMember replaces a member's roles.
func (u Users) UpdateOrgMember(ctx context.Context, r *usersv1.UpdateMemberRequest) (*usersv1.MemberResponse, error) {
	return u.updateMember(ctx, permission.Organization, orgID(ctx), r)
}

// UpdateIamMember replaces an instance member's roles.
func (u Users) UpdateIamMember(ctx context.Context, r *usersv1.UpdateMemberRequest) (*usersv1.MemberResponse, error) {
	return u.updateMember(ctx, permission.Instance, "", r)
}

// RemoveOrgMember takes all roles in the organization acted on.
func (u Users) RemoveOrgMember(ctx context.Context, r *usersv1.RemoveMemberRequest) (*usersv1.MemberResponse, error) {
	return u.removeMember(ctx, orgID(ctx), r)
}

// RemoveIamMember takes all roles in the instance.
func (u Users) RemoveIamMember(ctx context.Context, r *usersv1.RemoveMemberRequest) (*usersv1.MemberResponse, error) {
	return u.removeMember(ctx, "", r)
}

func (u Users) addMember(ctx context.Context, scope permission.Scope, orgID string, r *usersv1.AddMemberRequest) (*usersv1.MemberResponse, error) {
	if err := domain.CheckRoles(scope, r.Roles); err != nil {
		return nil, err
	}
	m := domain.Member{UserID: r.UserId, OrgID: orgID}
	m.Assign(r.Roles)
	if err := mayGive(ctx, m); err != nil {
		return nil, err
	}
	record, err := u.Store.CreateMember(ctx, m, &usersv1.MemberAdded{UserId: m.UserID, Roles: m.Roles, Instance: orgID == ""})
	if err != nil {
		return nil, err
	}
	return &usersv1.MemberResponse{Details: page.Details(record, orgID)}, nil
}

func (u Users) updateMember(ctx context.Context, scope permission.Scope, orgID string, r *usersv1.UpdateMemberRequest) (*usersv1.MemberResponse, error) {
	if err := domain.CheckRoles(scope, r.Roles); err != nil {
		return nil, err
	}
	return u.changeMember(ctx, orgID, r.UserId, func(m *domain.Member) (proto.Message, error) {
		if !m.Assign(r.Roles) {
			return nil, nil
		}
		return &usersv1.MemberChanged{UserId: m.UserID, Roles: m.Roles, Instance: orgID == ""}, mayGive(ctx, *m)
	})
}

func (u Users) removeMember(ctx context.Context, orgID string, r *usersv1.RemoveMemberRequest) (*usersv1.MemberResponse, error) {
	return u.changeMember(ctx, orgID, r.UserId, func(m *domain.Member) (proto.Message, error) {
		m.Assign(nil)
		return &usersv1.MemberRemoved{UserId: m.UserID, Instance: orgID == ""}, nil
	})
}

// changeMember also refuses to take roles that the caller could not give.
func (u Users) changeMember(ctx context.Context, orgID, userID string, change func(*domain.Member) (proto.Message, error)) (*usersv1.MemberResponse, error) {
	m, err := u.Store.ChangeMember(ctx, orgID, "", userID, func(m *domain.Member) (proto.Message, error) {
		if err := mayGive(ctx, *m); err != nil {
			return nil, err
		}
		return change(m)
	})
	if err != nil {
		return nil, err
	}
	return &usersv1.MemberResponse{Details: page.Changed(m.Record, orgID)}, nil
}

func mayGive(ctx context.Context, m domain.Member) error {
	if !permission.Covers(caller.From(ctx).Memberships, []permission.Membership{m.Membership()}) {
		return domain.ErrEscalation
	}
	return nil
}

// SearchOrgMembers lists the members of the organization acted on.
func (u Users) SearchOrgMembers(ctx context.Context, r *usersv1.SearchMembersRequest) (*usersv1.SearchMembersResponse, error) {
	return u.searchMembers(ctx, orgID(ctx), r)
}

// SearchIamMembers lists the instance's members.
func (u Users) SearchIamMembers(ctx context.Context, r *usersv1.SearchMembersRequest) (*usersv1.SearchMembersResponse, error) {
	return u.searchMembers(ctx, "", r)
}

func (u Users) searchMembers(ctx context.Context, orgID string, r *usersv1.SearchMembersRequest) (*usersv1.SearchMembersResponse, error) {
	p, err := page.Bounds(r.Query, u.MaxLimit)
	if err != nil {
		return nil, err
	}
	search := u.Store.Members(orgID)
	for _, q := range r.Queries {
		if f := q.UserIdQuery; f != nil {
			search.Where("m.user_id = ?", f.UserId)
		}
	}
	list, err := u.Store.SearchMembers(ctx, search, p)
	if err != nil {
		return nil, err
	}
	return &usersv1.SearchMembersResponse{Details: list.Details(), Result: each(list.Rows, member)}, nil
}

func member(m store.NamedMember) *usersv1.Member {
	return &usersv1.Member{UserId: m.UserID, Details: page.Details(m.Record, m.OrgID), Roles: m.Roles, UserName: m.UserName, DisplayName: m.DisplayName}
}

// SearchOrgMemberRoles lists the roles of organizations.
func (Users) SearchOrgMemberRoles(context.Context, *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error) {
	return roles(permission.Organization), nil
}

// SearchProjectMemberRoles lists the roles of projects.
func (Users) SearchProjectMemberRoles(context.Context, *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error) {
	return roles(permission.Project), nil
}

// SearchIamMemberRoles lists the roles of the instance.
func (Users) SearchIamMemberRoles(context.Context, *usersv1.SearchRolesRequest) (*usersv1.SearchRolesResponse, error) {
	return roles(permission.Instance), nil
}

func roles(scope permission.Scope) *usersv1.SearchRolesResponse {
	return &usersv1.SearchRolesResponse{Result: each(permission.Roles(scope), func(r permission.Role) *usersv1.Role {
		return &usersv1.Role{Role: r.Name, Permissions: r.Permissions}
	})}
}

// SearchMemberships lists the places in which a user of the organization has roles;
// members of that organization alone see those in it.
func (u Users) SearchMemberships(ctx context.Context, r *usersv1.SearchMembershipsRequest) (*usersv1.SearchMembershipsResponse, error) {
	c := caller.From(ctx)
	if _, err := u.Store.User(ctx, c.OrganizationID, r.UserId); err != nil {
		return nil, err
	}
	scope := c.OrganizationID
	if c.InInstance() {
		scope = ""
	}
	p, err := page.Bounds(r.Query, u.MaxLimit)
	if err != nil {
		return nil, err
	}
	return u.memberships(ctx, r.UserId, scope, p)
}

// SearchMyMemberships lists the places in which the caller has roles.
func (u Users) SearchMyMemberships(ctx context.Context, r *usersv1.SearchMyMembershipsRequest) (*usersv1.SearchMembershipsResponse, error) {
	p, err := page.Bounds(r.Query, u.MaxLimit)
	if err != nil {
		return nil, err
	}
	return u.memberships(ctx, caller.From(ctx).UserID, "", p)
}

func (u Users) memberships(ctx context.Context, userID, orgID string, p page.Page) (*usersv1.SearchMembershipsResponse, error) {
	list, err := u.Store.SearchMemberships(ctx, userID, orgID, p)
	if err != nil {
		return nil, err
	}
	return &usersv1.SearchMembershipsResponse{Details: list.Details(), Result: each(list.Rows, membership)}, nil
}

func membership(m domain.Member) *usersv1.Membership {
	out := &usersv1.Membership{UserId: m.UserID, Details: page.Details(m.Record, m.OrgID), Roles: m.Roles}
	switch {
	case m.ProjectID != "":
		out.Type = &usersv1.Membership_ProjectId{ProjectId: m.ProjectID}
	case m.OrgID != "":
		out.Type = &usersv1.Membership_OrgId{OrgId: m.OrgID}
	default:
		out.Type = &usersv1.Membership_Iam{Iam: true}
	}
	return out
}
