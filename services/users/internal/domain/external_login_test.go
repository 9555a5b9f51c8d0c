package domain_test

import (
	"errors"
	"testing"

	"herald/services/users/internal/domain"
)

func TestTenantOfALink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		linked, came string
		one, admits  bool
	}{
		{"a", "a", false, true}, {"a", "a", true, true}, {"a", "b", false, false}, {"a", "b", true, false},
		{"", "a", false, false}, {"", "a", true, true}, {"a", "", true, false}, {"", "", false, false},
	} {
		err := domain.ExternalLogin{TenantID: c.linked}.CheckTenant(c.came, c.one)
		if c.admits != (err == nil) || err != nil && !errors.Is(err, domain.ErrIdpLinkOtherTenant) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
