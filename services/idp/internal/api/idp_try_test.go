package api_test

import (
	"slices"
	"strings"
	"testing"

	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// wrong returns the settings that the findings of a test name.
func wrong(r *idpv1.TestIdpResponse) (settings []string) {
	for _, f := range r.GetFindings() {
		settings = append(settings, f.Settings...)
	}
	return settings
}

// An administrator tests a provider before anybody sees it: before it is created, while it is inactive, and after a
// change. A test changes nothing.
func TestProviderIsTestedBeforeAnybodySeesIt(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	test := func(secret string) *idpv1.TestIdpResponse {
		t.Helper()
		r, err := l.TestNewDirectoryIdp(l.InA, &idpv1.CreateDirectoryIdpRequest{
			Name: "Company", ClientId: outside.ClientID, ClientSecret: secret,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if got := wrong(test("another")); !slices.Equal(got, []string{"clientId", "clientSecret"}) {
		t.Errorf("with a wrong secret the settings %q are wrong", got)
	}
	if r := test(outside.ClientSecret); len(wrong(r)) != 0 || len(r.Findings) != 4 ||
		slices.ContainsFunc(r.Findings, func(f *idpv1.IdpTestFinding) bool { return !f.Ok }) {
		t.Errorf("found is %v", r)
	}
	if n := testkit.Rows(t, l.Service.DB, "events"); n != 0 {
		t.Errorf("%d events of tests", n)
	}
	made, err := l.CreateDirectoryIdp(l.InA, &idpv1.CreateDirectoryIdpRequest{
		Name: "Company", ClientId: outside.ClientID, ClientSecret: "another",
	})
	l.Must(made, err)
	id := made.Id
	_, err = l.begin("org-a", id)
	refused(t, err, "IDP_NOT_ACTIVE")
	before := testkit.Rows(t, l.Service.DB, "events")
	r, err := l.TestIdp(l.InA, &idpv1.IdpRequest{Id: id})
	if got := wrong(r); err != nil || !slices.Equal(got, []string{"clientId", "clientSecret"}) {
		t.Errorf("%v: the settings %q are wrong", err, got)
	}
	if strings.Contains(r.String(), "private") {
		t.Errorf("an answer of the directory is in %v", r)
	}
	l.Must(l.UpdateDirectoryIdp(l.InA, &idpv1.UpdateDirectoryIdpRequest{Id: id, ClientSecret: outside.ClientSecret}))
	if r, err = l.TestIdp(l.InA, &idpv1.IdpRequest{Id: id}); err != nil || len(wrong(r)) != 0 {
		t.Errorf("%v, %v", r, err)
	}
	if n := testkit.Rows(t, l.Service.DB, "events"); n != before+1 { // the new secret
		t.Errorf("%d events of tests", n-before-1)
	}
	_, err = l.TestIdp(l.InB, &idpv1.IdpRequest{Id: id})
	testkit.Refused(t, err, "IDP_NOT_FOUND")
	bad := &idpv1.CreateDirectoryIdpRequest{Name: "Company", ClientId: "c", ClientSecret: "s",
		Tenant: &idpv1.DirectoryTenant{TenantId: new("a b")}}
	_, err = l.TestNewDirectoryIdp(l.InA, bad)
	testkit.Refused(t, err, "IDP_TENANT_INVALID", "tenant.tenantId")
}
