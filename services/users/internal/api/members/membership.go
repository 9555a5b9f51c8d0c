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
		State: usersv1.MembershipState(m.State), OrgName: m.OrgName,
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

// AcceptMembership accepts a pending membership of a user of the organization acted on.
func (s Server) AcceptMembership(
	ctx context.Context, r *usersv1.AcceptMembershipRequest,
) (*usersv1.MemberResponse, error) {
	m, err := s.Store.ChangeMembership(ctx, base.OrgID(ctx), r.UserId, r.MembershipId, accept)
	return changed(m), err
}

// AcceptMyMembership accepts one of the caller's pending memberships.
func (s Server) AcceptMyMembership(
	ctx context.Context, r *usersv1.AcceptMyMembershipRequest,
) (*usersv1.MemberResponse, error) {
	c := caller.From(ctx)
	m, err := s.Store.ChangeMembership(ctx, c.HomeOrganizationID, c.UserID, r.MembershipId, accept)
	return changed(m), err
}

func accept(m *domain.Member) (proto.Message, error) {
	return &usersv1.MemberAccepted{UserId: m.UserID, ProjectId: m.ProjectID}, m.Accept()
}

// RemoveMembership ends a membership of a user of the organization acted on, in any place.
func (s Server) RemoveMembership(
	ctx context.Context, r *usersv1.RemoveMembershipRequest,
) (*usersv1.MemberResponse, error) {
	m, err := s.Store.ChangeMembership(ctx, base.OrgID(ctx), r.UserId, r.MembershipId, remove)
	return changed(m), err
}

// RemoveMyMembership ends one of the caller's memberships.
func (s Server) RemoveMyMembership(
	ctx context.Context, r *usersv1.RemoveMyMembershipRequest,
) (*usersv1.MemberResponse, error) {
	c := caller.From(ctx)
	m, err := s.Store.ChangeMembership(ctx, c.HomeOrganizationID, c.UserID, r.MembershipId, remove)
	return changed(m), err
}
