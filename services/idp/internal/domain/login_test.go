package domain_test

import (
	"errors"
	"fmt"
	"testing"

	"herald/services/idp/internal/domain"
	"herald/shared/gen/fault/idpfault"
)

const (
	company  = "11111111-1111-4111-8111-111111111111"
	personal = "9188040d-6c67-4c5b-b112-36a304b66dad"
)

func TestTenantAdmitsItsAccountsOnly(t *testing.T) {
	t.Parallel()
	anybody, organizations := domain.Tenant{}, domain.Tenant{TenantType: domain.TenantOrganizations}
	consumers := domain.Tenant{TenantType: domain.TenantConsumers}
	one, named := domain.Tenant{TenantID: company}, domain.Tenant{TenantID: "example.com"}
	for _, c := range []struct {
		domain.Tenant
		tenantID, published string
		admitted            bool
	}{
		{anybody, company, "{tenantid}", true}, {anybody, personal, "{tenantid}", true},
		{anybody, company, personal, false}, {anybody, "", "{tenantid}", false},
		{anybody, "{tenantid}", "{tenantid}", false},
		{anybody, "example.com", "{tenantid}", false}, {anybody, company + "\n", "{tenantid}", false},
		{organizations, company, "{tenantid}", true}, {organizations, personal, "{tenantid}", false},
		{consumers, company, "{tenantid}", false}, {consumers, personal, personal, true},
		{consumers, personal, "{tenantid}", true}, {one, company, company, true}, {one, personal, personal, false},
		{one, company, "{tenantid}", false}, {named, company, company, true}, {named, personal, company, false},
		{named, company, "{tenantid}", false},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			var want error
			if !c.admitted {
				want = idpfault.ErrIdpTenantRefused
			}
			if err := c.Admits(c.tenantID, c.published); !errors.Is(err, want) {
				t.Error(err)
			}
		})
	}
}

func TestIssuerNamesItsTenant(t *testing.T) {
	t.Parallel()
	const base = "https://login.example.com"
	for issuer, want := range map[string]string{
		base + "/" + company + "/v2.0": company, base + "/{tenantid}/v2.0": "{tenantid}",
		base + "/common/v2.0": "", base + "//v2.0": "", base + "/v2.0": "", base + "/" + company + "/v2.0/": "",
		base + ".evil/" + company + "/v2.0": "", "http://login.example.com/" + company + "/v2.0": "", "": "",
		base + "/x/" + company + "/v2.0": "", base + "/" + company: "",
	} {
		t.Run(issuer, func(t *testing.T) {
			if got := domain.TenantOf(base, issuer); got != want {
				t.Errorf("%q", got)
			}
		})
	}
	if got := domain.Issuer(base, company); domain.TenantOf(base, got) != company {
		t.Error(got)
	}
}

func TestTenantHasAPartOfThePath(t *testing.T) {
	t.Parallel()
	for want, tenant := range map[string]domain.Tenant{
		"common": {}, "organizations": {TenantType: domain.TenantOrganizations},
		"consumers": {TenantType: domain.TenantConsumers}, "example.com": {TenantID: "example.com"},
	} {
		t.Run(want, func(t *testing.T) {
			if got := tenant.Segment(); got != want {
				t.Errorf("%q", got)
			}
		})
	}
}
