package domain_test

import (
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
)

// Only a deactivation increases the generation, which ends older tokens.
func TestOrgStates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from   domain.OrgState
		change func(*domain.Org) error
		want   error
		then   domain.Org
	}{
		"deactivate, active": {
			domain.OrgActive, (*domain.Org).Deactivate, nil, domain.Org{State: domain.OrgInactive, Generation: 2},
		},
		"deactivate, inactive": {domain.OrgInactive, (*domain.Org).Deactivate, usersfault.ErrOrgNotActive,
			domain.Org{State: domain.OrgInactive, Generation: 1}},
		"reactivate, inactive": {
			domain.OrgInactive, (*domain.Org).Reactivate, nil, domain.Org{State: domain.OrgActive, Generation: 1},
		},
		"reactivate, active": {domain.OrgActive, (*domain.Org).Reactivate, usersfault.ErrOrgNotInactive,
			domain.Org{State: domain.OrgActive, Generation: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			o := domain.Org{State: c.from, Generation: 1}
			if err := c.change(&o); err != c.want || o != c.then {
				t.Errorf("%v, became %+v", err, o)
			}
		})
	}
}

func TestOrgRename(t *testing.T) {
	t.Parallel()
	o := domain.Org{Name: "Shop"}
	for _, c := range []struct {
		name    string
		changed bool
	}{{"Shop", false}, {"shop", true}, {"shop", false}} {
		if o.Rename(c.name) != c.changed || o.Name != c.name {
			t.Errorf("renamed to %q: %+v, want changed %t", c.name, o, c.changed)
		}
	}
}
