package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/rpc"
	"herald/shared/search"
)

// SearchUserIdpLinks lists a user's accounts at identity providers.
func (u Users) SearchUserIdpLinks(
	ctx context.Context, r *usersv1.SearchUserIdpLinksRequest,
) (*usersv1.SearchUserIdpLinksResponse, error) {
	return u.searchIdpLinks(ctx, orgID(ctx), r.UserId, r.Query)
}

// SearchMyIdpLinks lists the caller's accounts at identity providers.
func (u Users) SearchMyIdpLinks(
	ctx context.Context, r *usersv1.SearchMyIdpLinksRequest,
) (*usersv1.SearchUserIdpLinksResponse, error) {
	c := caller.From(ctx)
	return u.searchIdpLinks(ctx, c.HomeOrganizationID, c.UserID, r.Query)
}

func (u Users) searchIdpLinks(
	ctx context.Context, orgID, userID string, q *heraldv1.ListQuery,
) (*usersv1.SearchUserIdpLinksResponse, error) {
	p, err := u.pageOf(ctx, orgID, userID, q)
	if err != nil {
		return nil, err
	}
	list, err := u.Store.SearchIdpLinks(ctx, orgID, userID, p)
	if err != nil {
		return nil, err
	}
	return &usersv1.SearchUserIdpLinksResponse{Details: list.Details(), Result: search.Each(list.Rows, idpLink)}, nil
}

// RemoveUserIdpLink unlinks a user from an account at an identity provider.
func (u Users) RemoveUserIdpLink(
	ctx context.Context, r *usersv1.RemoveUserIdpLinkRequest,
) (*usersv1.RemoveUserIdpLinkResponse, error) {
	return u.removeIdpLink(ctx, domain.IdpLink{
		OrgID: orgID(ctx), UserID: r.UserId, IdpID: r.IdpId, ExternalUserID: r.ExternalUserId,
	})
}

// RemoveMyIdpLink unlinks the caller from an account at an identity provider.
func (u Users) RemoveMyIdpLink(
	ctx context.Context, r *usersv1.RemoveMyIdpLinkRequest,
) (*usersv1.RemoveUserIdpLinkResponse, error) {
	c := caller.From(ctx)
	return u.removeIdpLink(ctx, domain.IdpLink{
		OrgID: c.HomeOrganizationID, UserID: c.UserID, IdpID: r.IdpId, ExternalUserID: r.ExternalUserId,
	})
}

func (u Users) removeIdpLink(
	ctx context.Context, key domain.IdpLink,
) (*usersv1.RemoveUserIdpLinkResponse, error) {
	l, err := u.Store.RemoveIdpLink(ctx, key, &usersv1.IdpLinkRemoved{IdpId: key.IdpID})
	if err != nil {
		return nil, err
	}
	return &usersv1.RemoveUserIdpLinkResponse{Details: resource.Changed(l.Record, l.OrgID)}, nil
}

// checkIdpLinks returns a fault if a link names a provider that the user's organization does not
// have.
func (u Users) checkIdpLinks(ctx context.Context, orgID string, links []domain.IdpLink) error {
	if len(links) == 0 {
		return nil
	}
	known, err := u.knownIdps(ctx, orgID, links)
	if err != nil {
		return err
	}
	return domain.CheckIdpLinks(links, known)
}

// knownIdps returns those providers of the links that belong to the organization, by their ids, with the tenant whose
// accounts alone they let log in.
func (u Users) knownIdps(ctx context.Context, orgID string, links []domain.IdpLink) (map[string]string, error) {
	if len(links) == 0 {
		return nil, nil
	}
	found, err := u.Idps.ResolveIdps(rpc.OnOwnBehalf(ctx), &idpv1.ResolveIdpsRequest{
		OrgId: orgID, IdpIds: idpIDs(links),
	})
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for _, i := range found.Idps {
		known[i.Id] = strings.ToLower(i.Directory.GetTenant().GetTenantId())
	}
	return known, nil
}

// idpIDs returns the ids of the providers of links, each once.
func idpIDs(links []domain.IdpLink) []string {
	ids := search.Each(links, func(l domain.IdpLink) string { return l.IdpID })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// newIdpLinks returns the links of a new user.
func newIdpLinks(data []*usersv1.IdpLink) []domain.IdpLink {
	return search.Each(data, func(l *usersv1.IdpLink) domain.IdpLink {
		return domain.IdpLink{IdpID: l.ConfigId, ExternalUserID: l.ExternalUserId,
			TenantID: strings.ToLower(l.TenantId), DisplayName: l.DisplayName}
	})
}

// idpLinksText returns links as a text that does not depend on their order. It is empty for no
// links.
func idpLinksText(data []*usersv1.IdpLink) string {
	all := search.Each(newIdpLinks(data), func(l domain.IdpLink) string {
		return fmt.Sprintf("%q %q %q %q", l.IdpID, l.ExternalUserID, l.TenantID, l.DisplayName)
	})
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func idpLink(l domain.IdpLink) *usersv1.UserIdpLink {
	return &usersv1.UserIdpLink{
		IdpId: l.IdpID, Details: resource.Details(l.Record, l.OrgID), ExternalUserId: l.ExternalUserID,
		TenantId: l.TenantID, DisplayName: l.DisplayName,
	}
}
