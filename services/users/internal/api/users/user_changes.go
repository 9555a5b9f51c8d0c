package users

import (
	"context"

	"herald/services/users/internal/api/base"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// SearchUserChanges lists the changes of a user of the organization acted on, and of the user's
// credentials.
func (s Server) SearchUserChanges(
	ctx context.Context, r *usersv1.SearchUserChangesRequest,
) (*heraldv1.SearchChangesResponse, error) {
	p, err := s.PageOf(ctx, base.OrgID(ctx), r.UserId, r.Query)
	if err != nil {
		return nil, err
	}
	return s.Store.Changes(ctx, "user", base.OrgID(ctx), r.UserId, p)
}

// SearchMyChanges lists the changes of the caller.
func (s Server) SearchMyChanges(
	ctx context.Context, r *usersv1.SearchMyChangesRequest,
) (*heraldv1.SearchChangesResponse, error) {
	c := caller.From(ctx)
	p, err := search.Bounds(r.Query, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	return s.Store.Changes(ctx, "user", c.HomeOrganizationID, c.UserID, p)
}
