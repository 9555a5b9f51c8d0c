package domain_test

import (
	"errors"
	"testing"
	"time"

	"herald/services/users/internal/domain"
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
		"changed since":        {domain.UserActive, 2, true, domain.ErrLoginOver},
		"need not be replaced": {domain.UserActive, 3, false, domain.ErrLoginOver},
		"locked since":         {domain.UserLocked, 3, true, domain.ErrLoginOver},
		"never active":         {domain.UserInitial, 3, true, domain.ErrLoginOver},
	} {
		u := domain.User{Type: domain.Human, State: c.state, Generation: 3, PasswordHash: "old",
			PasswordChangeRequired: c.required}
		_, err := u.ReplaceRequired(c.generation, "new")
		if !errors.Is(err, c.want) || (u.PasswordHash == "new") != (c.want == nil) {
			t.Errorf("%s: %v, %+v", name, err, u)
		}
		if c.want == nil && (u.Generation != 4 || u.PasswordChangeRequired) {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

// Guesses at a name that nobody has are refused like those for a user.
func TestStrangers(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	s := domain.NewStrangers(func() time.Time { return now })
	try := func(want time.Duration) {
		t.Helper()
		if got := s.Try("nobody"); got != want {
			t.Errorf("waits %v, want %v", got, want)
		}
	}
	for range 9 {
		try(0)
	}
	now = now.Add(domain.PasswordQuiet)
	for range domain.PasswordTries { // the nine are forgotten
		try(0)
	}
	try(15 * time.Minute)
	s.Untry("nobody")
	try(0)
	now = now.Add(14 * time.Minute)
	try(time.Minute)
	now = now.Add(time.Minute)
	try(0)
	s.Untry("nobody") // refused for lack of room: the next one need not wait
	try(0)
	try(30 * time.Minute)
	if wait := s.Try("another"); wait != 0 {
		t.Errorf("another name waits %v", wait)
	}
	now = now.Add(domain.PasswordMemory)
	for range domain.PasswordTries {
		try(0)
	}
	try(15 * time.Minute)
}
