package domain

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
)

func TestChangeOfAProjectNamesWhatChanged(t *testing.T) {
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
		t.Run(fmt.Sprint(c.want), func(t *testing.T) {
			p := Project{Settings: old}
			if got := p.Change(c.to); !slices.Equal(got, c.want) || p.Settings != c.to {
				t.Errorf("changed %v to %+v", got, p.Settings)
			}
		})
	}
}

// Only a deactivation increases a project's generation.
func TestEachStateOfAProjectAllowsOneChange(t *testing.T) {
	t.Parallel()
	active, inactive := Project{State: ProjectActive, Generation: 7}, Project{State: ProjectInactive, Generation: 7}
	for name, c := range map[string]struct {
		from   Project
		change func(*Project) error
		to     Project
		err    error
	}{
		"deactivate active":   {active, (*Project).Deactivate, Project{State: ProjectInactive, Generation: 8}, nil},
		"deactivate inactive": {inactive, (*Project).Deactivate, inactive, projectsfault.ErrProjectNotActive},
		"reactivate inactive": {inactive, (*Project).Reactivate, active, nil},
		"reactivate active":   {active, (*Project).Reactivate, active, projectsfault.ErrProjectNotInactive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.from
			if err := c.change(&p); !errors.Is(err, c.err) || p != c.to {
				t.Errorf("%v, %+v", err, p)
			}
		})
	}
}

func TestChangeOfARoleNamesWhatChanged(t *testing.T) {
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
		t.Run(c.displayName+" "+c.group, func(t *testing.T) {
			r := Role{Key: "clerk", DisplayName: "Clerk", Group: "Staff"}
			got := r.Change(c.displayName, c.group)
			want := Role{Key: "clerk", DisplayName: c.shown, Group: c.group}
			if r != want || !slices.Equal(got, c.want) {
				t.Errorf("changed %v to %+v", got, r)
			}
		})
	}
}

func TestFaultNamesTheNewRolesThatExist(t *testing.T) {
	t.Parallel()
	f := TakenRoles([]Role{{Key: "a"}, {Key: "b"}, {Key: "c"}}, []string{"c", "a", "x"})
	want := projectsfault.ErrProjectRoleExists.Naming(
		fault.Field{Path: "roles[0].key", Reason: `the project has a role "a" already`},
		fault.Field{Path: "roles[2].key", Reason: `the project has a role "c" already`})
	if !reflect.DeepEqual(f, want) {
		t.Errorf("%+v, want %+v", f, want)
	}
	many := make([]Role, 200)
	if f := TakenRoles(many, []string{""}); len(f.Fields) != 20 || len(projectsfault.ErrProjectRoleExists.Fields) != 1 {
		t.Errorf("%d fields", len(f.Fields))
	}
}

func TestOnlyGrantableKeysAreAccepted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys, grantable []string
		field           string
	}{
		"none of none":       {nil, nil, ""},
		"none of one":        {nil, []string{"a"}, ""},
		"some":               {[]string{"b", "a"}, []string{"a", "b", "c"}, ""},
		"in another case":    {[]string{"a", "A"}, []string{"a"}, "roleKeys[1]"},
		"one that is absent": {[]string{"x"}, nil, "roleKeys[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckGrantable(c.keys, c.grantable)
			if c.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if f := fault.From(err); !errors.Is(err, projectsfault.ErrProjectRoleUnknown) || len(f.Fields) != 1 ||
				f.Fields[0].Path != c.field {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestRoleKeysAreASortedSet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to []string
		changed  bool
		want     []string
	}{
		"another order": {[]string{"a", "b"}, []string{"b", "a"}, false, []string{"a", "b"}},
		"nothing again": {[]string{}, nil, false, []string{}},
		"nothing":       {[]string{"a"}, nil, true, []string{}},
		"one more":      {[]string{"a"}, []string{"b", "a"}, true, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, u := ProjectGrant{RoleKeys: c.from}, UserGrant{RoleKeys: c.from}
			if g.Assign(c.to) != c.changed || u.Assign(c.to) != c.changed {
				t.Errorf("changed: not %t", c.changed)
			}
			if !reflect.DeepEqual(g.RoleKeys, c.want) || !reflect.DeepEqual(u.RoleKeys, c.want) {
				t.Errorf("%v and %v, want %v", g.RoleKeys, u.RoleKeys, c.want)
			}
		})
	}
}

func TestTwoNewRolesWithTheSameKeyAreRefused(t *testing.T) {
	t.Parallel()
	if err := CheckDistinct([]Role{{Key: "a"}, {Key: "A"}, {Key: "a"}}); !errors.Is(err,
		projectsfault.ErrProjectRoleTwice) {
		t.Error(err)
	}
	if err := CheckDistinct([]Role{{Key: "a"}, {Key: "A"}}); err != nil {
		t.Error(err)
	}
}
