package domain

import "herald/shared/gen/fault/usersfault"

// ExternalLogin is who is linked to an account at an identity provider.
type ExternalLogin struct {
	Candidate
	// TenantID is that of the link: empty if nobody knew it when the link was made.
	TenantID   string
	Credential string
}

// CheckTenant refuses an account of another tenant than the link's. The link may name the only tenant that the provider
// admitted when it was made, perhaps as a domain: then it counts if that is still the only one. A link without a tenant
// counts for none, as whoever changes the provider would choose whose accounts it is to.
func (l ExternalLogin) CheckTenant(tenantID, only string) error {
	if tenantID != "" && l.TenantID != "" && (l.TenantID == tenantID || l.TenantID == only) {
		return nil
	}
	return usersfault.ErrIdpLinkOtherTenant
}
