package domain

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
)

func TestProjectChange(t *testing.T) {
	t.Parallel()
	old := Settings{Name: "Shop", ProjectRoleCheck: true, PrivateLabelingSetting: 1}
	for _, c := range []struct {
		to   Settings
		want []string
	}{
		{old, nil},
		{Settings{Name: "shop", ProjectRoleCheck: true, PrivateLabelingSetting: 1}, []string{"name"}},
		{Settings{Name: "Shop", ProjectRoleCheck: true}, []string{"privateLabelingSetting"}},
		{Settings{Name: "Shop", ProjectRoleAssertion: true, HasProjectCheck: true, PrivateLabelingSetting: 1},
			[]string{"projectRoleAssertion", "projectRoleCheck", "hasProjectCheck"}},
	} {
		p := Project{Settings: old}
		if got := p.Change(c.to); !slices.Equal(got, c.want) || p.Settings != c.to {
			t.Errorf("%+v: changed %v, want %v", c.to, got, c.want)
		}
	}
}

// Each state allows one of the two changes. Only a deactivation increases a project's generation.
func TestProjectStates(t *testing.T) {
	t.Parallel()
	for _, state := range []ProjectState{ProjectActive, ProjectInactive} {
		p := Project{State: state, Generation: 7}
		off := p.Deactivate()
		if state == ProjectActive && (off != nil || p.State != ProjectInactive || p.Generation != 8) ||
			state == ProjectInactive && (!errors.Is(off, projectsfault.ErrProjectNotActive) || p.State != state ||
				p.Generation != 7) {
			t.Errorf("deactivated from %d: %v, %+v", state, off, p)
		}
		p = Project{State: state, Generation: 7}
		on := p.Reactivate()
		if state == ProjectInactive && (on != nil || p.State != ProjectActive) ||
			state == ProjectActive && (!errors.Is(on, projectsfault.ErrProjectNotInactive) || p.State != state) ||
			p.Generation != 7 {
			t.Errorf("reactivated from %d: %v, %+v", state, on, p)
		}
	}
}

func TestRoleChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		displayName, group string
		want               []string
		shown              string
	}{
		{"Clerk", "Staff", nil, "Clerk"},
		{"Clerk", "", []string{"group"}, "Clerk"},
		{"", "Staff", []string{"displayName"}, "clerk"},
		{"CLERK", "staff", []string{"displayName", "group"}, "CLERK"},
	} {
		r := Role{Key: "clerk", DisplayName: "Clerk", Group: "Staff"}
		if got := r.Change(c.displayName, c.group); !slices.Equal(got, c.want) || r.DisplayName != c.shown ||
			r.Group != c.group {
			t.Errorf("%q, %q: changed %v to %+v", c.displayName, c.group, got, r)
		}
	}
}

// The fault names the new roles that the project has already.
func TestRolesExist(t *testing.T) {
	t.Parallel()
	f := RolesExist([]Role{{Key: "a"}, {Key: "b"}, {Key: "c"}}, []string{"c", "a", "x"})
	if !errors.Is(f, projectsfault.ErrProjectRoleExists) || len(f.Fields) != 2 || f.Fields[0].Path != "roles[0].key" ||
		f.Fields[1].Path != "roles[2].key" || !strings.Contains(f.Message, `roles[2].key: the project has a role "c"`) {
		t.Errorf("%v %v", f, f.Fields)
	}
	many := make([]Role, 200)
	if f := RolesExist(many, []string{""}); len(f.Fields) != 20 || len(projectsfault.ErrProjectRoleExists.Fields) != 1 {
		t.Errorf("%d fields", len(f.Fields))
	}
}

func TestRoleKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys, grantable []string
		field           string
	}{
		{nil, nil, ""},
		{nil, []string{"a"}, ""},
		{[]string{"b", "a"}, []string{"a", "b", "c"}, ""},
		{[]string{"a", "A"}, []string{"a"}, "roleKeys[1]"},
		{[]string{"x"}, nil, "roleKeys[0]"},
	} {
		err := CheckGrantable(c.keys, c.grantable)
		f, refused := errors.AsType[*fault.Fault](err)
		if refused != (c.field != "") || refused && (len(f.Fields) != 1 || f.Fields[0].Path != c.field ||
			f.ID != projectsfault.ErrProjectRoleUnknown.ID) {
			t.Errorf("%v of %v: %v", c.keys, c.grantable, err)
		}
	}
	for _, c := range []struct {
		from, to []string
		changed  bool
	}{
		{[]string{"a", "b"}, []string{"b", "a"}, false},
		{[]string{}, nil, false},
		{[]string{"a"}, nil, true},
		{[]string{"a"}, []string{"a", "b"}, true},
	} {
		g, u := ProjectGrant{RoleKeys: c.from}, UserGrant{RoleKeys: c.from}
		if g.Assign(c.to) != c.changed || u.Assign(c.to) != c.changed || g.RoleKeys == nil ||
			!slices.IsSorted(u.RoleKeys) || len(u.RoleKeys) != len(c.to) {
			t.Errorf("from %v to %v: %v, %v", c.from, c.to, g.RoleKeys, u.RoleKeys)
		}
	}
	if err := CheckDistinct([]Role{{Key: "a"}, {Key: "A"}, {Key: "a"}}); !errors.Is(err,
		projectsfault.ErrProjectRoleTwice) {
		t.Errorf("%v", err)
	}
	if err := CheckDistinct([]Role{{Key: "a"}, {Key: "A"}}); err != nil {
		t.Errorf("%v", err)
	}
}
