package domain

import "herald/shared/fault"

// ErrIdpLinkOtherTenant is returned for an account of another tenant than the one of the link.
var ErrIdpLinkOtherTenant = fault.New(fault.Precondition, "IDP_LINK_OTHER_TENANT",
	"The link to the account at the identity provider names another tenant or none")

// ExternalLogin is who is linked to an account at an identity provider.
type ExternalLogin struct {
	Candidate
	// TenantID is that of the link: empty if whoever made the link did not say it.
	TenantID   string
	Credential string
}

// CheckTenant refuses an account of another tenant than the link's. A link without a tenant is to an account of any:
// it counts only if the provider lets accounts of one tenant alone log in.
func (l ExternalLogin) CheckTenant(tenantID string, oneTenant bool) error {
	if l.TenantID == tenantID && tenantID != "" || l.TenantID == "" && oneTenant {
		return nil
	}
	return ErrIdpLinkOtherTenant
}
