package domain_test

import (
	"errors"
	"testing"

	"herald/services/idp/internal/domain"
	"herald/shared/gen/fault/idpfault"
)

const (
	company  = "11111111-1111-4111-8111-111111111111"
	personal = "9188040d-6c67-4c5b-b112-36a304b66dad"
)

func TestAdmits(t *testing.T) {
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
		err := c.Admits(c.tenantID, c.published)
		if c.admitted != (err == nil) || err != nil && !errors.Is(err, idpfault.ErrIdpTenantRefused) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestTenantOf(t *testing.T) {
	t.Parallel()
	const base = "https://login.example.com"
	for issuer, want := range map[string]string{
		base + "/" + company + "/v2.0": company, base + "/{tenantid}/v2.0": "{tenantid}",
		base + "/common/v2.0": "", base + "//v2.0": "", base + "/v2.0": "", base + "/" + company + "/v2.0/": "",
		base + ".evil/" + company + "/v2.0": "", "http://login.example.com/" + company + "/v2.0": "", "": "",
		base + "/x/" + company + "/v2.0": "", base + "/" + company: "",
	} {
		if got := domain.TenantOf(base, issuer); got != want {
			t.Errorf("%q: %q", issuer, got)
		}
	}
	if got := domain.Issuer(base, company); domain.TenantOf(base, got) != company {
		t.Error(got)
	}
}

func TestSegments(t *testing.T) {
	t.Parallel()
	for want, tenant := range map[string]domain.Tenant{
		"common": {}, "organizations": {TenantType: domain.TenantOrganizations},
		"consumers": {TenantType: domain.TenantConsumers}, "example.com": {TenantID: "example.com"},
	} {
		if got := tenant.Segment(); got != want {
			t.Errorf("%+v: %q", tenant, got)
		}
	}
}
