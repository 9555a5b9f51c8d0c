package base

import (
	"context"
	"slices"
	"strings"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
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

// CheckLinked does the same for the links of a new user, whose address is verified if one of the providers says so.
func (b Base) CheckLinked(ctx context.Context, n *store.NewUser) error {
	known, err := b.KnownIdps(ctx, n.OrgID, n.IdpLinks)
	if err != nil {
		return err
	}
	n.EmailVerified = n.EmailVerified || domain.VerifiesEmail(n.IdpLinks, known)
	return domain.CheckIdpLinks(n.IdpLinks, known)
}

// KnownIdps returns the providers of the links that belong to the organization, by id.
func (b Base) KnownIdps(
	ctx context.Context, orgID string, links []domain.IdpLink,
) (map[string]domain.Provider, error) {
	if len(links) == 0 {
		return nil, nil
	}
	found, err := b.Idps.ResolveIdps(rpc.OnOwnBehalf(ctx), &idpv1.ResolveIdpsRequest{
		OrgId: orgID, IdpIds: idpIDs(links),
	})
	if err != nil {
		return nil, err
	}
	known := map[string]domain.Provider{}
	for _, i := range found.Idps {
		known[i.Id] = domain.Provider{
			OnlyTenant:    strings.ToLower(i.Directory.GetTenant().GetTenantId()),
			EmailVerified: i.Directory.GetEmailVerified(),
		}
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
