package domain

import "herald/shared/gen/fault/usersfault"

// ExternalLogin is the user who is linked to an account at an identity provider.
type ExternalLogin struct {
	Candidate
	// TenantID is the tenant of the link. It is empty if the tenant was not known when the link was made.
	TenantID   string
	Credential string
}

// CheckTenant returns a fault if an account belongs to another tenant than the link. only is the single tenant that the
// provider admits, or "". A link can have that tenant as a domain, and then it is valid only while the provider admits
// the same single tenant. A link without a tenant is never valid, because otherwise whoever changes the provider could
// choose the tenant of the account.
func (l ExternalLogin) CheckTenant(tenantID, only string) error {
	if tenantID != "" && l.TenantID != "" && (l.TenantID == tenantID || l.TenantID == only) {
		return nil
	}
	return usersfault.ErrIdpLinkOtherTenant
}
