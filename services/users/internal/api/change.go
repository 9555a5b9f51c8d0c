package api

import (
	"context"

	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// SearchUserChanges lists the changes of a user of the organization acted on, and of the user's
// credentials.
func (u Users) SearchUserChanges(
	ctx context.Context, r *usersv1.SearchUserChangesRequest,
) (*heraldv1.SearchChangesResponse, error) {
	p, err := u.pageOf(ctx, orgID(ctx), r.UserId, r.Query)
	if err != nil {
		return nil, err
	}
	return u.Store.Changes(ctx, "user", orgID(ctx), r.UserId, p)
}

// SearchMyChanges lists the changes of the caller.
func (u Users) SearchMyChanges(
	ctx context.Context, r *usersv1.SearchMyChangesRequest,
) (*heraldv1.SearchChangesResponse, error) {
	c := caller.From(ctx)
	p, err := search.Bounds(r.Query, u.MaxLimit)
	if err != nil {
		return nil, err
	}
	return u.Store.Changes(ctx, "user", c.HomeOrganizationID, c.UserID, p)
}

// SearchMyOrgChanges lists the changes of the organization acted on.
func (u Users) SearchMyOrgChanges(
	ctx context.Context, r *usersv1.SearchMyOrgChangesRequest,
) (*heraldv1.SearchChangesResponse, error) {
	p, err := search.Bounds(r.Query, u.MaxLimit)
	if err != nil {
		return nil, err
	}
	return u.Store.Changes(ctx, "org", orgID(ctx), orgID(ctx), p)
}
