package domain

import (
	"errors"
	"testing"

	"herald/shared/gen/fault/projectsfault"
)

func TestEachStateOfAProjectGrantAllowsOneChange(t *testing.T) {
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := ProjectGrant{State: c.from}
			if err := c.change(&g); !errors.Is(err, c.want) || g.State != c.then {
				t.Errorf("%v, became %d", err, g.State)
			}
		})
	}
}
