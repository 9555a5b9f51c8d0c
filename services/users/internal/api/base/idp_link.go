package base

import (
	"context"
	"slices"
	"strings"

	"herald/services/users/internal/domain"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
	"herald/shared/search"
)

// CheckIdpLinks returns a fault if a link names a provider that the user's organization does not
// have.
func (b Base) CheckIdpLinks(ctx context.Context, orgID string, links []domain.IdpLink) error {
	known, err := b.KnownIdps(ctx, orgID, links)
	if err != nil {
		return err
	}
	return domain.CheckIdpLinks(links, known)
}

// KnownIdps returns the providers of the links that belong to the organization, by id. The value is the only tenant
// that the provider admits, or "".
func (b Base) KnownIdps(ctx context.Context, orgID string, links []domain.IdpLink) (map[string]string, error) {
	if len(links) == 0 {
		return nil, nil
	}
	found, err := b.Idps.ResolveIdps(rpc.OnOwnBehalf(ctx), &idpv1.ResolveIdpsRequest{
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

// NewIdpLinks returns the links of a new user.
func NewIdpLinks(data []*usersv1.IdpLink) []domain.IdpLink {
	return search.Each(data, func(l *usersv1.IdpLink) domain.IdpLink {
		return domain.IdpLink{IdpID: l.ConfigId, ExternalUserID: l.ExternalUserId,
			TenantID: strings.ToLower(l.TenantId), DisplayName: l.DisplayName}
	})
}
