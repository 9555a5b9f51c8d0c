// Package logins answers the requests of the service Logins.
package logins

import (
	"context"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// Server implements the service.
type Server struct {
	base.Base
}

// SearchUserIdpLinks lists a user's accounts at identity providers.
func (s Server) SearchUserIdpLinks(
	ctx context.Context, r *usersv1.SearchUserIdpLinksRequest,
) (*usersv1.SearchUserIdpLinksResponse, error) {
	return s.searchIdpLinks(ctx, base.OrgID(ctx), r.UserId, r.Query)
}

// SearchMyIdpLinks lists the caller's accounts at identity providers.
func (s Server) SearchMyIdpLinks(
	ctx context.Context, r *usersv1.SearchMyIdpLinksRequest,
) (*usersv1.SearchUserIdpLinksResponse, error) {
	c := caller.From(ctx)
	return s.searchIdpLinks(ctx, c.HomeOrganizationID, c.UserID, r.Query)
}

func (s Server) searchIdpLinks(
	ctx context.Context, orgID, userID string, q *heraldv1.ListQuery,
) (*usersv1.SearchUserIdpLinksResponse, error) {
	p, err := s.PageOf(ctx, orgID, userID, q)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.SearchIdpLinks(ctx, orgID, userID, p)
	return &usersv1.SearchUserIdpLinksResponse{Details: list.Details(), Result: search.Each(list.Rows, idpLink)}, err
}

// RemoveUserIdpLink unlinks a user from an account at an identity provider.
func (s Server) RemoveUserIdpLink(
	ctx context.Context, r *usersv1.RemoveUserIdpLinkRequest,
) (*usersv1.RemoveUserIdpLinkResponse, error) {
	return s.removeIdpLink(ctx, domain.IdpLink{
		OrgID: base.OrgID(ctx), UserID: r.UserId, IdpID: r.IdpId, ExternalUserID: r.ExternalUserId,
	})
}

// RemoveMyIdpLink unlinks the caller from an account at an identity provider.
func (s Server) RemoveMyIdpLink(
	ctx context.Context, r *usersv1.RemoveMyIdpLinkRequest,
) (*usersv1.RemoveUserIdpLinkResponse, error) {
	c := caller.From(ctx)
	return s.removeIdpLink(ctx, domain.IdpLink{
		OrgID: c.HomeOrganizationID, UserID: c.UserID, IdpID: r.IdpId, ExternalUserID: r.ExternalUserId,
	})
}

func (s Server) removeIdpLink(
	ctx context.Context, key domain.IdpLink,
) (*usersv1.RemoveUserIdpLinkResponse, error) {
	l, err := s.Store.RemoveIdpLink(ctx, key, &usersv1.IdpLinkRemoved{IdpId: key.IdpID})
	return &usersv1.RemoveUserIdpLinkResponse{Details: resource.Changed(l.Record, l.OrgID)}, err
}

func idpLink(l domain.IdpLink) *usersv1.UserIdpLink {
	return &usersv1.UserIdpLink{
		IdpId: l.IdpID, Details: resource.Details(l.Record, l.OrgID), ExternalUserId: l.ExternalUserID,
		TenantId: l.TenantID, DisplayName: l.DisplayName,
	}
}
