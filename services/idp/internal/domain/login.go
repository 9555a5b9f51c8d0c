package domain

import (
	"regexp"
	"strings"
	"time"

	"herald/shared/gen/fault/idpfault"
)

// personalTenant is the tenant of all personal accounts.
const personalTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"

// tenantOfAny stands in the issuer of a directory's metadata for the tenant of an account.
const tenantOfAny = "{tenantid}"

var guid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Segment returns the part of the directory's addresses that says which accounts can log in.
func (t Tenant) Segment() string {
	switch {
	case t.TenantID != "":
		return t.TenantID
	case t.TenantType == TenantOrganizations:
		return "organizations"
	case t.TenantType == TenantConsumers:
		return "consumers"
	default:
		return "common"
	}
}

// Admits returns an error if the accounts of a tenant cannot log in. published is the tenant in the issuer that the
// directory publishes at the address of Segment.
func (t Tenant) Admits(tenantID, published string) error {
	personal := tenantID == personalTenant
	switch {
	case !guid.MatchString(tenantID),
		guid.MatchString(t.TenantID) && tenantID != t.TenantID,
		t.TenantID != "" && published == tenantOfAny, // the metadata do not say which tenant has that domain
		t.TenantID == "" && t.TenantType == TenantOrganizations && personal,
		t.TenantID == "" && t.TenantType == TenantConsumers && !personal,
		published != tenantOfAny && published != tenantID:
		return idpfault.ErrIdpTenantRefused
	}
	return nil
}

// Issuer returns the issuer of a tenant's tokens (OpenID Connect Core section 2). base is the directory's address.
func Issuer(base, tenantID string) string { return base + "/" + tenantID + "/v2.0" }

// TenantOf returns the tenant in an issuer, which can be {tenantid} in metadata. It returns "" for the issuer of
// another directory.
func TenantOf(base, issuer string) string {
	rest, begins := strings.CutPrefix(issuer, base+"/")
	tenant, ends := strings.CutSuffix(rest, "/v2.0")
	if !begins || !ends || tenant != tenantOfAny && !guid.MatchString(tenant) {
		return ""
	}
	return tenant
}

// RefusalsEvery is the pause between two events about refused logins at a provider.
const RefusalsEvery = time.Minute

// Account is an account of a directory. Everything but the two ids may be empty.
type Account struct {
	TenantID, ObjectID                 string
	UserName, DisplayName, First, Last string
	Email, PreferredLanguage           string
	Nick, Phone                        string
	PhoneVerified                      bool
	// AuthTime is when the person authenticated, in seconds since 1970; 0 if the directory does not say it.
	AuthTime int64
	// AMR is how the person authenticated (RFC 8176).
	AMR []string
}
