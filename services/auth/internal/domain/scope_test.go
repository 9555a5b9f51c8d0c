package domain

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestScopes(t *testing.T) {
	t.Parallel()
	const aud = "urn:service:iam:org:project:id:p1:aud"
	const org = "urn:service:iam:org:id:x"
	for _, c := range []struct {
		parameter string
		want      []string
		refused   bool
	}{
		{"", nil, false},
		{"openid", []string{"openid"}, false},
		{"openid  profile openid", []string{"openid", "profile"}, false},
		{"profile openid unknown OPENID", []string{"profile", "openid"}, false},
		{aud + " urn:service:iam:org:project:id::aud urn:service:iam:org:project:id:p1", []string{aud}, false},
		{"urn:service:iam:org:project:role:admin urn:service:iam:org:project:role:",
			[]string{"urn:service:iam:org:project:role:admin"}, false},
		{org, []string{org}, false},
		{"urn:service:iam:org:id:" + strings.Repeat("x", 201), nil, false},
		{"openid\tprofile", nil, true},
		{"openid\"", nil, true},
		{"öpenid", nil, true},
		{strings.Repeat("x", 4097), nil, true},
	} {
		got, err := Scopes(c.parameter)
		if !slices.Equal(got, c.want) || errors.Is(err, ErrInvalidScope) != c.refused {
			t.Errorf("%.60q: %v, %v", c.parameter, got, err)
		}
	}
	var parameter strings.Builder
	for i := range maxScopes + 1 {
		parameter.WriteString(" urn:service:iam:org:id:" + strings.Repeat("x", i+1))
	}
	if _, err := Scopes(parameter.String()); !errors.Is(err, ErrInvalidScope) {
		t.Errorf("too many: %v", err)
	}
}

func TestAudience(t *testing.T) {
	t.Parallel()
	scopes, err := Scopes("openid urn:service:iam:org:project:id:service:aud urn:service:iam:org:project:id:p1:aud " +
		"urn:service:iam:org:project:id:p2:aud")
	if err != nil {
		t.Fatal(err)
	}
	if got := Audience("c1", "p1", scopes); !slices.Equal(got, []string{"c1", "p1", "service", "p2"}) {
		t.Error(got)
	}
	if got := Audience("u1", "", nil); !slices.Equal(got, []string{"u1"}) {
		t.Error(got)
	}
}

func TestAskedOrg(t *testing.T) {
	t.Parallel()
	const one, two = "urn:service:iam:org:id:o1", "urn:service:iam:org:id:o2"
	for _, c := range []struct {
		scopes []string
		want   string
		err    error
	}{
		{nil, "", nil}, {[]string{"openid"}, "", nil}, {[]string{"openid", one}, "o1", nil},
		{[]string{one, two}, "", ErrInvalidScope},
	} {
		if got, err := AskedOrg(c.scopes); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%v: %q, %v", c.scopes, got, err)
		}
	}
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	own, one, two := ScopeOfProject("own"), ScopeOfProject("1"), ScopeOfProject("2")
	granted := []string{"openid", one, "email", two}
	for _, c := range []struct {
		parameter string
		targets   []string
		want      []string
		err       error
	}{
		{"", nil, granted, nil}, {"email", nil, []string{"email"}, nil},
		{"email openid", nil, []string{"email", "openid"}, nil}, {"profile", nil, nil, ErrInvalidScope},
		{"openid profile", nil, nil, ErrInvalidScope}, {"\n", nil, nil, ErrInvalidScope},
		{"", []string{one}, []string{"openid", "email", one}, nil},
		{"", []string{two, one}, []string{"openid", "email", two, one}, nil},
		{"", []string{own}, []string{"openid", "email"}, nil},
		{"openid", []string{one}, []string{"openid", one}, nil},
		{"openid " + two, []string{one}, []string{"openid", one}, nil},
		{"", []string{ScopeOfProject("3")}, nil, ErrInvalidTarget},
		{"", []string{one, ScopeService}, nil, ErrInvalidTarget},
		{"profile", []string{one}, nil, ErrInvalidScope},
	} {
		if got, err := Narrow(granted, c.parameter, c.targets, "own"); !slices.Equal(got, c.want) ||
			!errors.Is(err, c.err) {
			t.Errorf("%q, %v: %v, %v", c.parameter, c.targets, got, err)
		}
	}
}

// A resource is the scope of its project.
func TestTargets(t *testing.T) {
	t.Parallel()
	const prefix = "urn:service:iam:org:project:id:"
	for name, c := range map[string]struct {
		resources, want []string
		err             error
	}{
		"none":            {nil, nil, nil},
		"empty":           {[]string{""}, nil, nil},
		"a project":       {[]string{prefix + "1"}, []string{ScopeOfProject("1")}, nil},
		"as in its scope": {[]string{prefix + "1:aud"}, []string{ScopeOfProject("1")}, nil},
		"Herald":          {[]string{prefix + "service"}, []string{ScopeService}, nil},
		"two, one of them once": {[]string{prefix + "2", prefix + "1", prefix + "2"},
			[]string{ScopeOfProject("2"), ScopeOfProject("1")}, nil},
		"only an id":           {[]string{"1"}, nil, ErrInvalidTarget},
		"no id":                {[]string{prefix}, nil, ErrInvalidTarget},
		"no id in a scope":     {[]string{prefix + ":aud"}, nil, ErrInvalidTarget},
		"an address":           {[]string{"https://api.example"}, nil, ErrInvalidTarget},
		"two in one":           {[]string{prefix + "1 " + prefix + "2"}, nil, ErrInvalidTarget},
		"a line break":         {[]string{prefix + "1\n"}, nil, ErrInvalidTarget},
		"no ASCII":             {[]string{prefix + "\u00e9"}, nil, ErrInvalidTarget},
		"a long id":            {[]string{prefix + strings.Repeat("1", maxScoped+1)}, nil, ErrInvalidTarget},
		"too many":             {slices.Repeat([]string{prefix + "1"}, maxResources+1), nil, ErrInvalidTarget},
		"a good one and a bad": {[]string{prefix + "1", "x"}, nil, ErrInvalidTarget},
	} {
		if got, err := Targets(c.resources); !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzTargets(f *testing.F) {
	f.Add("urn:service:iam:org:project:id:1", "urn:service:iam:org:project:id:service:aud")
	f.Fuzz(func(t *testing.T, one, two string) {
		targets, err := Targets([]string{one, two})
		if err != nil && !errors.Is(err, ErrInvalidTarget) {
			t.Fatal(err)
		}
		// Each is a scope that can be asked for as such.
		if got, err := Scopes(strings.Join(targets, " ")); err != nil || !slices.Equal(got, targets) {
			t.Fatalf("%q: %q, %v", targets, got, err)
		}
	})
}
