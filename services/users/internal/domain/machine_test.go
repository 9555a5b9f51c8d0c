package domain_test

import (
	"errors"
	"slices"
	"testing"

	"herald/services/users/internal/domain"
)

func TestNewMachine(t *testing.T) {
	t.Parallel()
	want := domain.User{
		ID: "m1", OrgID: "org-a", Type: domain.Machine, State: domain.UserActive, UserName: "ci", DisplayName: "CI",
		Description: "builds", AccessTokenType: domain.AccessTokenBearer,
	}
	if got := domain.NewMachine("org-a", "m1", domain.MachineData{
		UserName: "ci", Name: "CI", Description: "builds",
	}); got != want {
		t.Errorf("%+v", got)
	}
}

func TestChangeMachine(t *testing.T) {
	t.Parallel()
	ci := domain.MachineData{
		UserName: "ci", Name: "CI", Description: "builds", AccessTokenType: domain.AccessTokenJWT,
	}
	for label, c := range map[string]struct {
		to      domain.MachineData
		changed []string
	}{
		"same":           {ci, nil},
		"user name":      {with(ci, func(d *domain.MachineData) { d.UserName = "CI" }), []string{"userName"}},
		"name":           {with(ci, func(d *domain.MachineData) { d.Name = "Ci" }), []string{"name"}},
		"no description": {with(ci, func(d *domain.MachineData) { d.Description = "" }), []string{"description"}},
		"default type": {with(ci, func(d *domain.MachineData) { d.AccessTokenType = 0 }),
			[]string{"accessTokenType"}},
		"all": {domain.MachineData{UserName: "cd", Name: "CD", Description: "ships", AccessTokenType: 1},
			[]string{"userName", "name", "description", "accessTokenType"}},
	} {
		u := domain.NewMachine("org-a", "m1", ci)
		changed, err := u.ChangeMachine(c.to)
		want := domain.NewMachine("org-a", "m1", c.to)
		if u != want || err != nil || !slices.Equal(changed, c.changed) {
			t.Errorf("%s: %q, %v, %+v", label, changed, err, u)
		}
	}
	person := domain.User{Type: domain.Human, UserName: "mini"}
	if _, err := person.ChangeMachine(ci); !errors.Is(err, domain.ErrUserNotMachine) || person.UserName != "mini" {
		t.Errorf("a person: %v, %+v", err, person)
	}
}

func with(d domain.MachineData, change func(*domain.MachineData)) domain.MachineData {
	change(&d)
	return d
}
