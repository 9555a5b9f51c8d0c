package api

import (
	"context"

	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/history"
	"herald/shared/search"
)

// SearchUserChanges lists what happened to a user of the organization acted on.
func (u Users) SearchUserChanges(ctx context.Context,
	r *usersv1.SearchUserChangesRequest) (*heraldv1.SearchChangesResponse, error) {
	p, err := search.Bounds(r.Query, u.MaxLimit)
	if err != nil {
		return nil, err
	}
	if _, err := u.Store.User(ctx, orgID(ctx), r.UserId); err != nil {
		return nil, err
	}
	return history.Response(u.Store.Changes(ctx, event.Aggregate{OrganizationID: orgID(ctx),
		Names: contract.Aggregates("user"), ID: r.UserId}, p))
}

// SearchMyChanges lists what happened to the caller.
func (u Users) SearchMyChanges(ctx context.Context,
	r *usersv1.SearchMyChangesRequest) (*heraldv1.SearchChangesResponse, error) {
	c := caller.From(ctx)
	return u.changes(ctx, event.Aggregate{OrganizationID: c.HomeOrganizationID,
		Names: contract.Aggregates("user"), ID: c.UserID}, r.Query)
}

// SearchMyOrgChanges lists what happened to the organization acted on.
func (u Users) SearchMyOrgChanges(ctx context.Context,
	r *usersv1.SearchMyOrgChangesRequest) (*heraldv1.SearchChangesResponse, error) {
	return u.changes(ctx, event.Aggregate{OrganizationID: orgID(ctx),
		Names: contract.Aggregates("org"), ID: orgID(ctx)}, r.Query)
}

func (u Users) changes(ctx context.Context, a event.Aggregate, q *heraldv1.ListQuery) (*heraldv1.SearchChangesResponse,
	error) {
	p, err := search.Bounds(q, u.MaxLimit)
	if err != nil {
		return nil, err
	}
	return history.Response(u.Store.Changes(ctx, a, p))
}
