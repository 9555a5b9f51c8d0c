package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/authorizedapps"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/shared/caller"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/resource"
	"herald/shared/rpc"
	"herald/shared/search"
)

// AuthorizedApps has the service's methods for the applications to which the caller gave access.
type AuthorizedApps struct {
	Store    store.Store
	Upstream *upstream.Services
	// MaxLimit is the largest page of a search.
	MaxLimit int64
}

// SearchMyAuthorizedApps lists these applications.
func (a AuthorizedApps) SearchMyAuthorizedApps(
	ctx context.Context, r *authv1.SearchMyAuthorizedAppsRequest,
) (*authv1.SearchMyAuthorizedAppsResponse, error) {
	p, err := search.Bounds(r.Query, a.MaxLimit)
	if err != nil {
		return nil, err
	}
	own := rpc.OnOwnBehalf(ctx)
	u, err := user(own, a.Upstream)
	if err != nil {
		return nil, err
	}
	list, err := a.given().Search(own, u, p)
	if err != nil {
		return nil, err
	}
	return &authv1.SearchMyAuthorizedAppsResponse{
		Details: list.Details(), Result: search.Each(list.Rows, authorizedApp),
	}, nil
}

// RemoveMyAuthorizedApp ends the access of one of these applications.
func (a AuthorizedApps) RemoveMyAuthorizedApp(
	ctx context.Context, r *authv1.RemoveMyAuthorizedAppRequest,
) (*authv1.RemoveMyAuthorizedAppResponse, error) {
	c := caller.From(ctx)
	last, err := a.given().Revoke(ctx, c.UserID, r.ClientId)
	if err != nil {
		return nil, err
	}
	return &authv1.RemoveMyAuthorizedAppResponse{Details: resource.Changed(last, c.HomeOrganizationID)}, nil
}

func (a AuthorizedApps) given() authorizedapps.Apps {
	return authorizedapps.Apps{Store: a.Store, Upstream: a.Upstream}
}

func authorizedApp(a authorizedapps.Application) *authv1.AuthorizedApp {
	return &authv1.AuthorizedApp{
		ClientId: a.ClientID, Name: a.Name, AuthorizationDate: timestamppb.New(a.GivenAt),
	}
}
