package domain

import "testing"

import "herald/shared/gen/fault/projectsfault"

func TestProjectGrantStates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, then GrantState
		change     func(*ProjectGrant) error
		want       error
	}{
		"deactivate, active": {GrantActive, GrantInactive, (*ProjectGrant).Deactivate, nil},
		"deactivate, inactive": {GrantInactive, GrantInactive, (*ProjectGrant).Deactivate,
			projectsfault.ErrProjectGrantNotActive},
		"reactivate, inactive": {GrantInactive, GrantActive, (*ProjectGrant).Reactivate, nil},
		"reactivate, active": {GrantActive, GrantActive, (*ProjectGrant).Reactivate,
			projectsfault.ErrProjectGrantNotInactive},
	} {
		g := ProjectGrant{State: c.from}
		if err := c.change(&g); err != c.want || g.State != c.then {
			t.Errorf("%s: %v, became %d", name, err, g.State)
		}
	}
}
