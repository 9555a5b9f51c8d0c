package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/upstream"
	"herald/shared/caller"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// SearchMyAuthorizedApps lists the applications to which the caller gave access.
func (s Server) SearchMyAuthorizedApps(
	ctx context.Context, r *authv1.SearchMyAuthorizedAppsRequest,
) (*authv1.SearchMyAuthorizedAppsResponse, error) {
	asCaller := ctx
	ctx, u, p, err := s.asked(ctx, r.Query)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.AuthorizedApps(ctx, u, p)
	if err != nil {
		return nil, err
	}
	if err := s.Upstream.NameApps(ctx, list.Rows); err != nil {
		return nil, err
	}
	if err := upstream.SetMade(asCaller, s.Credentials, s.Factors, list.Rows); err != nil {
		return nil, err
	}
	return &authv1.SearchMyAuthorizedAppsResponse{
		Details: list.Details(), Result: search.Each(list.Rows, authorizedApp),
	}, nil
}

// RemoveMyAuthorizedApp ends the access of one of these applications.
func (s Server) RemoveMyAuthorizedApp(
	ctx context.Context, r *authv1.RemoveMyAuthorizedAppRequest,
) (*authv1.RemoveMyAuthorizedAppResponse, error) {
	c := caller.From(ctx)
	last, err := s.Store.RevokeApp(ctx, c.UserID, r.ClientId,
		&authv1.ConsentWithdrawn{UserId: c.UserID, ClientId: r.ClientId},
		&authv1.AuthorizationEnded{
			UserId: c.UserID, ClientId: r.ClientId, By: authv1.AuthorizationEnd_AUTHORIZATION_END_TAKEN_BACK,
		})
	if err != nil {
		return nil, err
	}
	return &authv1.RemoveMyAuthorizedAppResponse{Details: resource.Changed(last, c.HomeOrganizationID)}, nil
}

func authorizedApp(a domain.AuthorizedApp) *authv1.AuthorizedApp {
	return &authv1.AuthorizedApp{ClientId: a.ClientID, Name: a.Name, AuthorizationDate: timestamppb.New(a.GivenAt),
		Made: search.Each(a.Made, made)}
}

func made(m domain.MadeByApp) *authv1.MadeByApp {
	kind := authv1.MadeByAppType_MADE_BY_APP_TYPE_OTP
	if m.TokenID != "" {
		kind = authv1.MadeByAppType_MADE_BY_APP_TYPE_PERSONAL_ACCESS_TOKEN
	}
	return &authv1.MadeByApp{Type: kind, Id: m.TokenID, CreationDate: timestamppb.New(m.At)}
}
