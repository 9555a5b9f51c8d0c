package api

import (
	"context"

	"herald/services/users/internal/domain"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// ResolveOrg returns the name and state of an organization.
func (u Users) ResolveOrg(ctx context.Context, r *usersv1.ResolveOrgRequest) (*usersv1.ResolveOrgResponse, error) {
	o, err := u.Store.Org(ctx, r.OrgId)
	if err != nil {
		return nil, err
	}
	return &usersv1.ResolveOrgResponse{Name: o.Name, State: usersv1.OrgState(o.State)}, nil
}

// ResolveUser returns the organization, state and type of a user. A user of another organization than the one in the
// request, if it names one, is not found.
func (u Users) ResolveUser(ctx context.Context, r *usersv1.ResolveUserRequest) (*usersv1.ResolveUserResponse, error) {
	resolve := u.Store.AnyUser
	if r.OrgId != "" {
		resolve = func(ctx context.Context, id string) (domain.User, error) { return u.Store.User(ctx, r.OrgId, id) }
	}
	found, err := resolve(ctx, r.UserId)
	if err != nil {
		return nil, err
	}
	return &usersv1.ResolveUserResponse{
		OrgId: found.OrgID, State: usersv1.UserState(found.State), Type: usersv1.UserType(found.Type),
	}, nil
}
