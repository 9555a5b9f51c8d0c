package internals

import (
	"context"
	"errors"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// MakeProjectOwner makes the creator of a project its owner. It works once for each project, so
// that a user who lost the role does not get it again.
func (s Server) MakeProjectOwner(
	ctx context.Context, r *usersv1.MakeProjectOwnerRequest,
) (*usersv1.MakeProjectOwnerResponse, error) {
	m := domain.Member{UserID: r.UserId, OrgID: r.OrgId, ProjectID: r.ProjectId, Roles: []string{"PROJECT_OWNER"}}
	err := s.Store.CreateProjectOwner(ctx, m, &usersv1.MemberAdded{
		UserId: m.UserID, Roles: m.Roles, ProjectId: m.ProjectID,
		State: usersv1.MembershipState_MEMBERSHIP_STATE_ACTIVE,
	})
	if errors.Is(err, usersfault.ErrProjectOwnerMade) || errors.Is(err, usersfault.ErrMemberExists) ||
		errors.Is(err, usersfault.ErrProjectRemoved) {
		err = nil
	}
	return &usersv1.MakeProjectOwnerResponse{}, err
}

// ResolveOrg returns the name and state of an organization, and whether a user has a permission in it.
func (s Server) ResolveOrg(ctx context.Context, r *usersv1.ResolveOrgRequest) (*usersv1.ResolveOrgResponse, error) {
	o, err := s.Store.Org(ctx, r.OrgId)
	if err != nil {
		return nil, err
	}
	out := &usersv1.ResolveOrgResponse{Name: o.Name, State: usersv1.OrgState(o.State)}
	if r.UserId == "" {
		return out, nil
	}
	rows, err := s.Store.UserHolders(ctx, r.UserId, r.OrgId)
	var memberships []caller.Membership
	for _, row := range rows {
		memberships = append(memberships, row.Memberships()...)
	}
	out.Permitted = caller.Holds(memberships, r.Permission, r.OrgId, "")
	return out, err
}

// ResolveUser returns the organization, state and type of a user. A user of another organization than the one in the
// request, if it names one, is not found.
func (s Server) ResolveUser(ctx context.Context, r *usersv1.ResolveUserRequest) (*usersv1.ResolveUserResponse, error) {
	resolve := s.Store.AnyUser
	if r.OrgId != "" {
		resolve = func(ctx context.Context, id string) (domain.User, error) { return s.Store.User(ctx, r.OrgId, id) }
	}
	found, err := resolve(ctx, r.UserId)
	return &usersv1.ResolveUserResponse{
		OrgId: found.OrgID, State: usersv1.UserState(found.State), Type: usersv1.UserType(found.Type),
	}, err
}
