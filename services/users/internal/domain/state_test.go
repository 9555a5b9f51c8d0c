package domain_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

// The result of each change in each state: the new state or the fault.
func TestUserStates(t *testing.T) {
	t.Parallel()
	type end struct {
		state domain.UserState
		fault *fault.Fault
	}
	to := func(s domain.UserState) end { return end{state: s} }
	no := func(f *fault.Fault) end { return end{fault: f} }
	const (
		active, inactive = domain.UserActive, domain.UserInactive
		locked, initial  = domain.UserLocked, domain.UserInitial
	)
	now := time.Now()
	later := now.Add(time.Minute)
	changes := map[string]func(*domain.User) error{
		"deactivate": (*domain.User).Deactivate, "reactivate": (*domain.User).Reactivate,
		"lock": (*domain.User).Lock, "unlock": func(u *domain.User) error { return u.Unlock(now) },
		"token": func(u *domain.User) error { return u.MayHaveTokens() },
	}
	for from, ends := range map[domain.User]map[string]end{
		{State: active}: {"deactivate": to(inactive), "lock": to(locked), "token": to(active),
			"reactivate": no(usersfault.ErrUserNotInactive), "unlock": no(usersfault.ErrUserNotLocked)},
		{State: inactive}: {"reactivate": to(active), "deactivate": no(usersfault.ErrUserAlreadyInactive),
			"lock": no(usersfault.ErrUserNotActive), "unlock": no(usersfault.ErrUserNotLocked),
			"token": no(usersfault.ErrUserNotActive)},
		{State: locked}: {"unlock": to(active), "deactivate": to(inactive), "lock": no(usersfault.ErrUserAlreadyLocked),
			"reactivate": no(usersfault.ErrUserNotInactive), "token": no(usersfault.ErrUserNotActive)},
		{State: initial}: {"deactivate": to(inactive), "lock": to(locked),
			"token":      no(usersfault.ErrUserNotInitialized),
			"reactivate": no(usersfault.ErrUserNotInactive), "unlock": no(usersfault.ErrUserNotLocked)},
		// Guesses at the password are refused, or were.
		{State: active, LockedUntil: &later}: {"unlock": to(active)},
		{State: active, LockedUntil: &now}:   {"unlock": no(usersfault.ErrUserNotLocked)},
		// A user who still had to use a mailed code must do so afterwards.
		{State: inactive, Uninitialized: true}: {"reactivate": to(initial)},
		{State: locked, Uninitialized: true}:   {"unlock": to(initial), "deactivate": to(inactive)},
		// The user got a verified address and a password in the meantime.
		{State: locked, Uninitialized: true, EmailVerified: true, PasswordHash: "x"}: {"unlock": to(active)},
	} {
		for name, want := range ends {
			u := from
			err := changes[name](&u)
			if want.fault == nil && (err != nil || u.State != want.state) ||
				want.fault != nil && (!errors.Is(err, want.fault) || u != from) {
				t.Errorf("%s of %+v: %d, %v; want %d, %v", name, from, u.State, err, want.state, want.fault)
			}
			if name == "unlock" && err == nil && u.LockedUntil != nil {
				t.Errorf("%+v is unlocked until %v", from, u.LockedUntil)
			}
			out := u.State == inactive || u.State == locked
			if err == nil && out != (u.Generation > from.Generation) {
				t.Errorf("%s of %+v has generation %d", name, from, u.Generation)
			}
		}
	}
	u := domain.User{State: initial}
	for _, change := range []string{"lock", "deactivate", "reactivate"} {
		if err := changes[change](&u); err != nil {
			t.Fatal(err)
		}
	}
	if u.State != initial || u.Uninitialized || u.Generation != 2 {
		t.Errorf("after a lock and a deactivation: %+v", u)
	}
}

func TestChangeProfile(t *testing.T) {
	t.Parallel()
	u := domain.User{Type: domain.Human, FirstName: "Mini", LastName: "Mouse", DisplayName: "Mini Mouse", Gender: 1}
	same := domain.Profile{FirstName: "Mini", LastName: "Mouse", Gender: 1}
	if changed, err := u.ChangeProfile(same); len(changed) != 0 || err != nil {
		t.Errorf("the same profile changes %v, %v", changed, err)
	}
	changed, err := u.ChangeProfile(domain.Profile{FirstName: "Maxi", LastName: "Mouse", PreferredLanguage: "de"})
	if want := "[profile.firstName profile.displayName profile.preferredLanguage profile.gender]"; err != nil ||
		fmt.Sprint(changed) != want || u.DisplayName != "Maxi Mouse" {
		t.Errorf("%v, %v, %+v; want %s", changed, err, u, want)
	}
	machine := domain.User{Type: domain.Machine}
	if _, err := machine.ChangeProfile(same); !errors.Is(err, usersfault.ErrUserNotHuman) {
		t.Errorf("a machine: %v", err)
	}
	if _, err := machine.ChangePhone("+41791234567", true); !errors.Is(err, usersfault.ErrUserNotHuman) {
		t.Errorf("a machine: %v", err)
	}
	if err := machine.RemovePhone(); !errors.Is(err, usersfault.ErrUserNotHuman) {
		t.Errorf("a machine: %v", err)
	}
}

func TestRemovePhone(t *testing.T) {
	t.Parallel()
	u := domain.User{Type: domain.Human, Phone: "+41791234567", PhoneVerified: true}
	if err := u.RemovePhone(); err != nil || u.Phone != "" || u.PhoneVerified {
		t.Errorf("%v, %+v", err, u)
	}
	if err := u.RemovePhone(); !errors.Is(err, usersfault.ErrPhoneNotFound) {
		t.Errorf("a phone that is not there: %v", err)
	}
}

// A password that was replaced after it was verified is wrong.
func TestReplacePassword(t *testing.T) {
	t.Parallel()
	until := time.Now()
	u := domain.User{Type: domain.Human, State: domain.UserActive, PasswordHash: "a", PasswordChangeRequired: true,
		LockedUntil: &until}
	c, err := u.ReplacePassword("a", "b")
	if err != nil || u.PasswordHash != "b" || u.PasswordChangeRequired ||
		fmt.Sprint(c.Ended) != "[passwordreset]" || u.LockedUntil != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := u.ReplacePassword("a", "c"); !errors.Is(err, usersfault.ErrPasswordWrong) || u.PasswordHash != "b" {
		t.Errorf("a password of before: %v", err)
	}
}
