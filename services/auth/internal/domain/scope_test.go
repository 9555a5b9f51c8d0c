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
	granted := []string{"openid", "email"}
	for _, c := range []struct {
		parameter string
		want      []string
		err       error
	}{
		{"", granted, nil}, {"email", []string{"email"}, nil}, {"email openid", []string{"email", "openid"}, nil},
		{"profile", nil, ErrInvalidScope}, {"openid profile", nil, ErrInvalidScope}, {"\n", nil, ErrInvalidScope},
	} {
		if got, err := Narrow(granted, c.parameter); !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%q: %v, %v", c.parameter, got, err)
		}
	}
}
