package domain_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
)

func TestReplaceRequired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state      domain.UserState
		generation int64
		required   bool
		want       error
	}{
		"as at the check":      {domain.UserActive, 3, true, nil},
		"changed since":        {domain.UserActive, 2, true, usersfault.ErrLoginOver},
		"need not be replaced": {domain.UserActive, 3, false, usersfault.ErrLoginOver},
		"locked since":         {domain.UserLocked, 3, true, usersfault.ErrLoginOver},
		"never active":         {domain.UserInitial, 3, true, usersfault.ErrLoginOver},
	} {
		t.Run(name, func(t *testing.T) {
			u := domain.User{Type: domain.Human, State: c.state, Generation: 3, PasswordHash: "old",
				PasswordChangeRequired: c.required}
			_, err := u.ReplaceRequired(c.generation, "new")
			if !errors.Is(err, c.want) || (u.PasswordHash == "new") != (c.want == nil) {
				t.Errorf("%v, %+v", err, u)
			}
			if c.want == nil && (u.Generation != 4 || u.PasswordChangeRequired) {
				t.Errorf("%+v", u)
			}
		})
	}
}

func TestLoginRefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user domain.UserState
		org  domain.OrgState
		want error
	}{
		"active":                {domain.UserActive, domain.OrgActive, nil},
		"never activated":       {domain.UserInitial, domain.OrgActive, usersfault.ErrUserNotInitialized},
		"inactive":              {domain.UserInactive, domain.OrgActive, usersfault.ErrUserNotActive},
		"locked":                {domain.UserLocked, domain.OrgActive, usersfault.ErrUserNotActive},
		"inactive organization": {domain.UserActive, domain.OrgInactive, usersfault.ErrOrgNotActive},
	} {
		who := domain.Candidate{User: domain.User{State: c.user}, OrgState: c.org}
		if f := who.Refusal(); c.want == nil && f != nil || c.want != nil && !errors.Is(f, c.want) {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// The guesses at a name are found again by every replica, and by nobody without the key.
func TestStranger(t *testing.T) {
	t.Parallel()
	one, other := lasting(t), lasting(t)
	ada := one.Stranger("login name", "ada")
	if len(ada.Name) != 16 || ada.Slot < 0 || ada.Slot >= 1<<22 ||
		!reflect.DeepEqual(one.Stranger("login name", "ada"), ada) {
		t.Errorf("%+v", ada)
	}
	for who, stranger := range map[string]domain.Stranger{
		"another name": one.Stranger("login name", "bob"), "another key": other.Stranger("login name", "ada"),
		"another kind": one.Stranger("init", "ada"),
	} {
		if bytes.Equal(stranger.Name, ada.Name) {
			t.Errorf("%s is the same", who)
		}
	}
}
