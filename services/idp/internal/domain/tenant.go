package domain

import (
	"regexp"
	"strings"

	"herald/shared/gen/fault/idpfault"
)

// TenantType says which accounts may log in if no single tenant is named.
type TenantType int16

// The types of tenants, numbered as in their contract.
const (
	TenantCommon TenantType = iota
	TenantOrganizations
	TenantConsumers
)

// Tenant says which accounts of the directory may log in: those of one tenant, or, where
// TenantID is empty, those of a type.
type Tenant struct {
	TenantType TenantType
	TenantID   string
}

// maxTenantID is the length of the longest domain name (RFC 1035, 2.3.4).
const maxTenantID = 253

// labels are what an id consists of. It becomes a part of a path, in which an empty label
// could lead elsewhere.
var labels = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$`)

// NewTenant returns the tenant for a type and an id. A nil id names no tenant. If there is an id, the type is ignored,
// also if the id is the directory's own name of a type. An empty id is refused, because it may come from a script whose
// variable is not set, and would allow the login of all accounts. Ids ignore case and are kept in lower case.
func NewTenant(kind TenantType, id *string) (Tenant, error) {
	if id == nil {
		return Tenant{TenantType: kind}, nil
	}
	if len(*id) > maxTenantID || !labels.MatchString(*id) {
		return Tenant{}, idpfault.ErrIdpTenantInvalid
	}
	switch name := strings.ToLower(*id); name {
	case "common":
		return Tenant{TenantType: TenantCommon}, nil
	case "organizations":
		return Tenant{TenantType: TenantOrganizations}, nil
	case "consumers":
		return Tenant{TenantType: TenantConsumers}, nil
	default:
		return Tenant{TenantID: name}, nil
	}
}
