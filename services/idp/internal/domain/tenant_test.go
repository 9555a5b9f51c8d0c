package domain_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"herald/services/idp/internal/domain"
	"herald/shared/gen/fault/idpfault"
)

// A nil want stands for ErrIdpTenantInvalid.
func TestTenantIsATypeOrAnID(t *testing.T) {
	t.Parallel()
	common, organizations, consumers := domain.Tenant{}, domain.Tenant{TenantType: domain.TenantOrganizations},
		domain.Tenant{TenantType: domain.TenantConsumers}
	of := func(id string) *domain.Tenant { return &domain.Tenant{TenantID: id} }
	label := strings.Repeat("a", 62) + "."
	longest := strings.Repeat(label, 4) + "a"
	for _, c := range []struct {
		kind domain.TenantType
		id   *string
		want *domain.Tenant
	}{
		{domain.TenantCommon, nil, &common},
		{domain.TenantOrganizations, nil, &organizations},
		{domain.TenantConsumers, nil, &consumers},
		// If there is an id, the type is ignored.
		{domain.TenantConsumers, new("contoso.example.com"), of("contoso.example.com")},
		{domain.TenantCommon, new("72F988BF-86F1-41AF-91AB-2D7CD011DB47"),
			of("72f988bf-86f1-41af-91ab-2d7cd011db47")},
		{domain.TenantCommon, new("Contoso"), of("contoso")},
		{domain.TenantCommon, new("9-"), of("9-")},
		{domain.TenantCommon, &longest, of(longest)},
		// An id that is the name of a type stands for the type.
		{domain.TenantConsumers, new("common"), &common},
		{domain.TenantCommon, new("organizations"), &organizations},
		{domain.TenantOrganizations, new("Consumers"), &consumers},

		{domain.TenantCommon, new(""), nil},
		{domain.TenantOrganizations, new(""), nil},
		{domain.TenantCommon, new(" "), nil},
		{domain.TenantCommon, new(longest + "a"), nil},
		{domain.TenantCommon, new("."), nil},
		{domain.TenantCommon, new(".."), nil},
		{domain.TenantCommon, new(".example.com"), nil},
		{domain.TenantCommon, new("example.com."), nil},
		{domain.TenantCommon, new("example..com"), nil},
		{domain.TenantCommon, new("example.com\n"), nil},
		{domain.TenantCommon, new("a/../common"), nil},
		{domain.TenantCommon, new("a%2fb"), nil},
		{domain.TenantCommon, new("{72f988bf-86f1-41af-91ab-2d7cd011db47}"), nil},
		{domain.TenantCommon, new("a@evil.example"), nil},
		{domain.TenantCommon, new("127.0.0.1:80"), nil},
		{domain.TenantCommon, new("a_b"), nil},
		{domain.TenantCommon, new("bücher.example"), nil},
		{domain.TenantCommon, new("\u212aelvin.example"), nil}, // its lower-case letter is k
		{domain.TenantCommon, new("organisations\x00"), nil},
	} {
		t.Run(fmt.Sprintf("%d %q", c.kind, text(c.id)), func(t *testing.T) {
			got, err := domain.NewTenant(c.kind, c.id)
			if c.want == nil {
				if !errors.Is(err, idpfault.ErrIdpTenantInvalid) {
					t.Errorf("%+v, %v", got, err)
				}
			} else if err != nil || got != *c.want {
				t.Errorf("%+v, %v, want %+v", got, err, *c.want)
			}
		})
	}
}

// text returns an id, or "no id".
func text(id *string) string {
	if id == nil {
		return "no id"
	}
	return *id
}

// An accepted id is one part of a path, and always has the same form.
func FuzzTenant(f *testing.F) {
	for _, id := range []string{"", "common", "Contoso.Example.com", "a..b", "../x", "a/b", "%2e", "\u212aelvin",
		"a\n"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		kept, err := domain.NewTenant(domain.TenantCommon, &id)
		if err != nil || kept.TenantID == "" {
			return
		}
		part := kept.TenantID
		if url.PathEscape(part) != part || strings.ToLower(part) != part || !strings.EqualFold(part, id) {
			t.Errorf("%q is kept as %q", id, part)
		}
		if joined, err := url.JoinPath("https://directory.example", part, "v2.0"); err != nil ||
			joined != "https://directory.example/"+part+"/v2.0" {
			t.Errorf("%q leads to %q, %v", part, joined, err)
		}
		if again, err := domain.NewTenant(domain.TenantConsumers, &part); err != nil || again != kept {
			t.Errorf("%q is kept as %+v and then as %+v, %v", id, kept, again, err)
		}
	})
}
