package members

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// SearchMemberships lists the memberships of a user of the organization acted on, in any place.
func (s Server) SearchMemberships(
	ctx context.Context, r *usersv1.SearchMembershipsRequest,
) (*usersv1.SearchMembershipsResponse, error) {
	p, err := s.PageOf(ctx, base.OrgID(ctx), r.UserId, r.Query)
	if err != nil {
		return nil, err
	}
	return s.memberships(ctx, base.OrgID(ctx), r.UserId, p)
}

// SearchMyMemberships lists the caller's memberships.
func (s Server) SearchMyMemberships(
	ctx context.Context, r *usersv1.SearchMyMembershipsRequest,
) (*usersv1.SearchMembershipsResponse, error) {
	p, err := search.Bounds(r.Query, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	c := caller.From(ctx)
	return s.memberships(ctx, c.HomeOrganizationID, c.UserID, p)
}

func (s Server) memberships(
	ctx context.Context, orgID, userID string, p search.Page,
) (*usersv1.SearchMembershipsResponse, error) {
	list, err := s.Store.SearchMemberships(ctx, orgID, userID, p)
	return &usersv1.SearchMembershipsResponse{Details: list.Details(), Result: search.Each(list.Rows, membership)}, err
}

func membership(m store.IdentifiedMember) *usersv1.Membership {
	out := &usersv1.Membership{
		Id: m.ID, UserId: m.UserID, Details: resource.Details(m.Record, m.OrgID), Roles: m.Roles,
	}
	switch {
	case m.ProjectID != "":
		out.Type = &usersv1.Membership_ProjectId{ProjectId: m.ProjectID}
	case m.OrgID != "":
		out.Type = &usersv1.Membership_OrgId{OrgId: m.OrgID}
	default:
		out.Type = &usersv1.Membership_Instance{Instance: true}
	}
	return out
}

// RemoveMembership ends a membership of a user of the organization acted on, in any place.
func (s Server) RemoveMembership(
	ctx context.Context, r *usersv1.RemoveMembershipRequest,
) (*usersv1.MemberResponse, error) {
	return s.removeMembership(ctx, base.OrgID(ctx), r.UserId, r.MembershipId)
}

// RemoveMyMembership ends one of the caller's memberships.
func (s Server) RemoveMyMembership(
	ctx context.Context, r *usersv1.RemoveMyMembershipRequest,
) (*usersv1.MemberResponse, error) {
	c := caller.From(ctx)
	return s.removeMembership(ctx, c.HomeOrganizationID, c.UserID, r.MembershipId)
}

func (s Server) removeMembership(ctx context.Context, orgID, userID, id string) (*usersv1.MemberResponse, error) {
	m, err := s.Store.RemoveMembership(ctx, orgID, userID, id,
		func(m domain.Member) proto.Message { return memberRemoved(m) })
	return &usersv1.MemberResponse{Details: resource.Changed(m.Record, m.OrgID)}, err
}
