package domain_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
)

// Each role can be given in one kind of place: the instance, an organization or a project.
func TestCheckRoles(t *testing.T) {
	t.Parallel()
	places := map[string]domain.Member{
		"instance": {}, "organization": {OrgID: "o"}, "project": {OrgID: "o", ProjectID: "p"},
	}
	own := map[string][]caller.Role{
		"instance": caller.Roles(caller.Instance), "organization": caller.Roles(caller.Organization),
		"project": caller.Roles(caller.Project),
	}
	for place, m := range places {
		for of, roles := range own {
			if len(roles) == 0 {
				t.Errorf("%s: no roles", of)
			}
			for _, r := range roles {
				if err := m.CheckRoles([]string{r.Name}); (err == nil) != (of == place) ||
					err != nil && !errors.Is(err, usersfault.ErrRoleUnknown) {
					t.Errorf("%s of the %s in the %s: %v", r.Name, of, place, err)
				}
			}
		}
		if err := m.CheckRoles(nil); err != nil {
			t.Errorf("%s: no roles: %v", place, err)
		}
	}
	err := places["organization"].CheckRoles([]string{"ORG_OWNER", "org_owner", ""})
	const says = `roles[1]: there is no role "org_owner"`
	if !errors.Is(err, usersfault.ErrRoleUnknown) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want %s", err, says)
	}
}

// Roles are a set. Another order is not a change.
func TestMemberAssign(t *testing.T) {
	t.Parallel()
	m := domain.Member{Roles: []string{"A", "B"}}
	for _, c := range []struct {
		roles, then []string
		changed     bool
	}{
		{[]string{"B", "A"}, []string{"A", "B"}, false},
		{[]string{"B"}, []string{"B"}, true},
		{nil, nil, true},
		{[]string{"C", "A"}, []string{"A", "C"}, true},
	} {
		if m.Assign(c.roles) != c.changed || !slices.Equal(m.Roles, c.then) {
			t.Errorf("assigned %v: %v, want %v, changed %t", c.roles, m.Roles, c.then, c.changed)
		}
	}
}

// A membership is accepted once.
func TestMemberAccept(t *testing.T) {
	t.Parallel()
	m := domain.Member{State: domain.MembershipPending}
	if err := m.Accept(); err != nil || m.State != domain.MembershipActive {
		t.Errorf("pending: %v, %d", err, m.State)
	}
	if err := m.Accept(); !errors.Is(err, usersfault.ErrMembershipNotPending) || m.State != domain.MembershipActive {
		t.Errorf("active: %v, %d", err, m.State)
	}
}
