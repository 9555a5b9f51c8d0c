package domain

import (
	"errors"
	"testing"

	"herald/shared/gen/fault/projectsfault"
)

// Roles are given by a grant while its owner has it active and the other organization has not ended it.
func TestRolesAreGivenByUsableGrants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state GrantState
		said  AcceptanceState
		want  error
	}{
		"pending":            {GrantActive, AcceptancePending, nil},
		"accepted":           {GrantActive, AcceptanceAccepted, nil},
		"ended":              {GrantActive, AcceptanceEnded, projectsfault.ErrProjectGrantEnded},
		"inactive":           {GrantInactive, AcceptanceAccepted, projectsfault.ErrProjectGrantNotActive},
		"inactive and ended": {GrantInactive, AcceptanceEnded, projectsfault.ErrProjectGrantNotActive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := ProjectGrant{State: c.state, Answered: Answered{Acceptance: c.said}}
			if err := g.Usable(); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

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
