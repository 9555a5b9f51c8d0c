package domain_test

import (
	"errors"
	"slices"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
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
		t.Run(label, func(t *testing.T) {
			u := domain.NewMachine("org-a", "m1", ci)
			changed, err := u.ChangeMachine(c.to)
			want := domain.NewMachine("org-a", "m1", c.to)
			if u != want || err != nil || !slices.Equal(changed, c.changed) {
				t.Errorf("%q, %v, %+v", changed, err, u)
			}
		})
	}
	person := domain.User{Type: domain.Human, UserName: "mini"}
	if _, err := person.ChangeMachine(ci); !errors.Is(err, usersfault.ErrUserNotMachine) || person.UserName != "mini" {
		t.Errorf("a person: %v, %+v", err, person)
	}
}

func with(d domain.MachineData, change func(*domain.MachineData)) domain.MachineData {
	change(&d)
	return d
}

func TestMachineSecrets(t *testing.T) {
	t.Parallel()
	of := func(kind domain.UserType, state domain.UserState, hash domain.Hidden) domain.User {
		return domain.User{Type: kind, State: state, SecretHash: hash}
	}
	set := func(u *domain.User) error { return u.SetSecret("new") }
	remove := (*domain.User).RemoveSecret
	for label, c := range map[string]struct {
		user domain.User
		do   func(*domain.User) error
		want error
		hash domain.Hidden
	}{
		"first":       {of(domain.Machine, domain.UserActive, ""), set, nil, "new"},
		"another":     {of(domain.Machine, domain.UserActive, "old"), set, nil, "new"},
		"of a person": {of(domain.Human, domain.UserActive, ""), set, usersfault.ErrUserNotMachine, ""},
		"while inactive": {of(domain.Machine, domain.UserInactive, "old"), set, usersfault.ErrUserNotActive,
			"old"},
		"while locked":        {of(domain.Machine, domain.UserLocked, "old"), set, usersfault.ErrUserNotActive, "old"},
		"removed":             {of(domain.Machine, domain.UserActive, "old"), remove, nil, ""},
		"removed locked":      {of(domain.Machine, domain.UserLocked, "old"), remove, nil, ""},
		"removed twice":       {of(domain.Machine, domain.UserActive, ""), remove, usersfault.ErrSecretNotFound, ""},
		"removed of a person": {of(domain.Human, domain.UserActive, ""), remove, usersfault.ErrUserNotMachine, ""},
	} {
		t.Run(label, func(t *testing.T) {
			if err := c.do(&c.user); !errors.Is(err, c.want) || c.user.SecretHash != c.hash {
				t.Errorf("%v, not %q", err, string(c.hash))
			}
		})
	}
}

func TestMayHaveKeys(t *testing.T) {
	t.Parallel()
	for state, want := range map[domain.UserState]error{
		domain.UserActive: nil, domain.UserInactive: usersfault.ErrUserNotActive,
		domain.UserLocked: usersfault.ErrUserNotActive, domain.UserInitial: usersfault.ErrUserNotInitialized,
	} {
		if err := (&domain.User{Type: domain.Machine, State: state}).MayHaveKeys(); !errors.Is(err, want) {
			t.Errorf("machine in state %d: %v", state, err)
		}
		if err := (&domain.User{Type: domain.Human, State: state}).MayHaveKeys(); !errors.Is(err,
			usersfault.ErrUserNotMachine) {
			t.Errorf("person in state %d: %v", state, err)
		}
	}
}
