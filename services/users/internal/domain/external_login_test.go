package domain_test

import (
	"errors"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
)

func TestTenantOfALink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		linked, account, only string
		admits                bool
	}{
		{"a", "a", "", true}, {"a", "a", "a", true}, {"a", "b", "", false}, {"a", "b", "b", false},
		{"a.example", "a", "a.example", true}, {"a.example", "b", "b.example", false}, {"a.example", "a", "", false},
		{"", "a", "", false}, {"", "a", "a", false}, {"a", "", "a", false}, {"", "", "", false},
	} {
		err := domain.ExternalLogin{TenantID: c.linked}.CheckTenant(c.account, c.only)
		if c.admits != (err == nil) || err != nil && !errors.Is(err, usersfault.ErrIdpLinkOtherTenant) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
