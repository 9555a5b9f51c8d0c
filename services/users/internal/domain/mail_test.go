package domain_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/mail"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	lifetimes := map[string]time.Duration{
		"init": 72 * time.Hour, "verifyemail": 72 * time.Hour, "passwordreset": time.Hour,
	}
	for _, kind := range mail.Kinds() {
		if _, known := domain.ParseKind(string(kind)); known != (kind.Page().Path != "") {
			t.Errorf("%s has the page %q; its code has rules: %t", kind, kind.Page().Path, known)
		}
	}
	if n := len(domain.Kinds()); n != len(lifetimes) {
		t.Errorf("%d kinds", n)
	}
	for name, want := range lifetimes {
		t.Run(name, func(t *testing.T) {
			if k, known := domain.ParseKind(name); !known || k.Lifetime() != want {
				t.Errorf("%t, lives for %s", known, k.Lifetime())
			}
		})
	}
	for _, name := range []string{"", "Init", "init ", "phone"} {
		if _, known := domain.ParseKind(name); known {
			t.Errorf("there is a kind %q", name)
		}
	}
}

func TestAwaits(t *testing.T) {
	t.Parallel()
	human := func(state domain.UserState, verified bool) domain.User {
		return domain.User{Type: domain.Human, State: state, EmailVerified: verified}
	}
	outranked := func(u domain.User) domain.User {
		u.EmailOutranked = true
		return u
	}
	for name, c := range map[string]struct {
		user                domain.User
		init, verify, reset *fault.Fault
	}{
		"initial, outranked": {outranked(human(domain.UserInitial, false)), usersfault.ErrEmailOutranked,
			usersfault.ErrUserNotInitialized, usersfault.ErrUserNotInitialized},
		"active, outranked": {outranked(human(domain.UserActive, false)), usersfault.ErrUserNotInitial,
			usersfault.ErrEmailOutranked, usersfault.ErrEmailNotVerified},
		"verified, outranked": {outranked(human(domain.UserActive, true)), usersfault.ErrUserNotInitial,
			usersfault.ErrEmailAlreadyVerified, usersfault.ErrEmailOutranked},
		"machine": {domain.User{Type: domain.Machine, State: domain.UserActive, EmailVerified: true},
			usersfault.ErrUserNotHuman, usersfault.ErrUserNotHuman, usersfault.ErrUserNotHuman},
		"initial": {human(domain.UserInitial, false), nil,
			usersfault.ErrUserNotInitialized, usersfault.ErrUserNotInitialized},
		"initial, verified": {human(domain.UserInitial, true), nil,
			usersfault.ErrUserNotInitialized, usersfault.ErrUserNotInitialized},
		"active": {human(domain.UserActive, false), usersfault.ErrUserNotInitial, nil,
			usersfault.ErrEmailNotVerified},
		"active, verified": {human(domain.UserActive, true), usersfault.ErrUserNotInitial,
			usersfault.ErrEmailAlreadyVerified, nil},
		"inactive": {human(domain.UserInactive, false), usersfault.ErrUserNotInitial, usersfault.ErrUserNotActive,
			usersfault.ErrUserNotActive},
		"inactive, verified": {human(domain.UserInactive, true), usersfault.ErrUserNotInitial,
			usersfault.ErrUserNotActive,
			usersfault.ErrUserNotActive},
		"locked": {human(domain.UserLocked, false), usersfault.ErrUserNotInitial, usersfault.ErrUserNotActive,
			usersfault.ErrUserNotActive},
		"locked, verified": {human(domain.UserLocked, true), usersfault.ErrUserNotInitial, usersfault.ErrUserNotActive,
			usersfault.ErrUserNotActive},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, want := range map[domain.Kind]*fault.Fault{
				domain.KindInit: c.init, domain.KindVerifyEmail: c.verify, domain.KindPasswordReset: c.reset,
			} {
				if err := c.user.Awaits(kind); want == nil && err != nil || want != nil && err != error(want) {
					t.Errorf("%s: %v, want %v", kind, err, want)
				}
			}
		})
	}
}

func TestChangeEmail(t *testing.T) {
	t.Parallel()
	const same, other = "old@example.com", "new@example.com"
	address, flag, state := "email.email", "email.isEmailVerified", "state"
	all := []domain.Kind{domain.KindPasswordReset, domain.KindVerifyEmail}
	withInit, reset := append(slices.Clone(all), domain.KindInit), all[:1]
	for name, c := range map[string]struct {
		state, then domain.UserState
		verified    bool
		hash        domain.Hidden
		to          domain.Email
		changed     []string
		mail        domain.Kind
		ended       []domain.Kind
	}{
		"same":             {1, 1, true, "h", domain.Email{same, true}, nil, "", nil},
		"same, unverified": {1, 1, false, "h", domain.Email{same, false}, nil, "", nil},
		"other, verified":  {1, 1, true, "h", domain.Email{other, true}, []string{address}, "", all},
		"other, unverified": {1, 1, true, "h", domain.Email{other, false}, []string{address, flag},
			"verifyemail", reset},
		"other, still unverified": {1, 1, false, "h", domain.Email{other, false}, []string{address},
			"verifyemail", reset},
		"now verified": {1, 1, false, "h", domain.Email{same, true}, []string{flag}, "", all},
		"doubted": {1, 1, true, "h", domain.Email{same, false}, []string{flag},
			"verifyemail", reset},
		"inactive, other": {2, 2, true, "h", domain.Email{other, false},
			[]string{address, flag}, "", all},
		"locked, other": {3, 3, true, "h", domain.Email{other, false},
			[]string{address, flag}, "", all},
		"waiting, same":            {4, 4, false, "", domain.Email{same, false}, nil, "", nil},
		"waiting, other":           {4, 4, false, "", domain.Email{other, false}, []string{address}, "init", all},
		"waiting, other, password": {4, 4, false, "h", domain.Email{other, false}, []string{address}, "init", all},
		"waiting, other, verified": {4, 4, false, "", domain.Email{other, true}, []string{address, flag},
			"init", all},
		"waiting, verified": {4, 4, false, "", domain.Email{same, true}, []string{flag}, "", all},
		"waiting, doubted":  {4, 4, true, "", domain.Email{same, false}, []string{flag}, "", all},
		"waiting, verified, password": {4, 1, false, "h", domain.Email{same, true}, []string{flag, state},
			"", withInit},
		"waiting, other, verified, p/w": {4, 1, false, "h", domain.Email{other, true}, []string{address, flag, state},
			"", withInit},
	} {
		t.Run(name, func(t *testing.T) {
			u := domain.User{
				Type: domain.Human, State: c.state, Email: same, EmailVerified: c.verified, PasswordHash: c.hash,
			}
			got, err := u.ChangeEmail(c.to)
			if err != nil || !slices.Equal(got.Changed, c.changed) || got.Mail != c.mail ||
				!slices.Equal(got.Ended, c.ended) {
				t.Errorf("%+v, %v", got, err)
			}
			was := domain.Email{Address: same, Verified: c.verified}
			if noticed := got.Noticed.Address != ""; noticed != (c.state != 4 && slices.Contains(c.changed, address)) ||
				noticed && got.Noticed != was {
				t.Errorf("a notice to %v", got.Noticed)
			}
			if u.State != c.then || u.Email != c.to.Address || u.EmailVerified != c.to.Verified {
				t.Errorf("became %+v", u)
			}
			if got.Mail != "" && (u.Awaits(got.Mail) != nil || slices.Contains(got.Ended, got.Mail)) {
				t.Errorf("a mail %s goes to somebody who cannot use its code", got.Mail)
			}
		})
	}
	machine := domain.User{Type: domain.Machine, State: domain.UserActive}
	if _, err := machine.ChangeEmail(domain.Email{other, true}); err != error(usersfault.ErrUserNotHuman) ||
		machine.Email != "" {
		t.Errorf("machine: %v, %+v", err, machine)
	}
}

func TestEmailIsCredentialUnlessTheUserWaits(t *testing.T) {
	t.Parallel()
	const same, other = "old@example.com", "new@example.com"
	waiting, active := domain.User{State: domain.UserInitial}, domain.User{State: domain.UserActive}
	waitingLocked, locked := domain.User{State: domain.UserLocked, Uninitialized: true}, domain.User{
		State: domain.UserLocked,
	}
	for _, c := range []struct {
		user     domain.User
		verified bool
		to       domain.Email
		want     bool
	}{
		{waiting, false, domain.Email{same, false}, false},
		{waiting, false, domain.Email{other, false}, false},
		{waiting, false, domain.Email{same, true}, true},
		{waiting, false, domain.Email{other, true}, true},
		{waiting, true, domain.Email{same, true}, false},
		{waiting, true, domain.Email{other, false}, false},
		{waiting, true, domain.Email{other, true}, true},
		{waitingLocked, false, domain.Email{other, false}, false},
		{waitingLocked, false, domain.Email{other, true}, true},
		{active, false, domain.Email{same, false}, false},
		{active, false, domain.Email{other, false}, true},
		{active, false, domain.Email{same, true}, true},
		{active, true, domain.Email{same, true}, false},
		{active, true, domain.Email{same, false}, true},
		{active, true, domain.Email{other, false}, true},
		{active, true, domain.Email{other, true}, true},
		{locked, false, domain.Email{other, false}, true},
	} {
		t.Run(fmt.Sprintf("state %d, verified %t, to %v", c.user.State, c.verified, c.to), func(t *testing.T) {
			t.Parallel()
			c.user.Email, c.user.EmailVerified = same, c.verified
			if got := c.user.EmailIsCredential(c.to); got != c.want {
				t.Error(got)
			}
		})
	}
}

func TestSetPassword(t *testing.T) {
	t.Parallel()
	reset := []domain.Kind{domain.KindPasswordReset}
	for name, c := range map[string]struct {
		state        domain.UserState
		verified     bool
		was, require bool
		changed      []string
		ended        []domain.Kind
	}{
		"active":             {1, true, false, false, []string{"password"}, reset},
		"change required":    {1, true, false, true, []string{"password", "passwordChangeRequired"}, reset},
		"required no more":   {1, true, true, false, []string{"password", "passwordChangeRequired"}, reset},
		"still required":     {1, true, true, true, []string{"password"}, reset},
		"inactive":           {2, true, false, false, []string{"password"}, reset},
		"locked":             {3, true, false, false, []string{"password"}, reset},
		"active, unverified": {1, false, false, false, []string{"password"}, reset},
	} {
		t.Run(name, func(t *testing.T) {
			u := domain.User{Type: domain.Human, State: c.state, EmailVerified: c.verified, PasswordHash: "old",
				PasswordChangeRequired: c.was}
			got, err := u.SetPassword(domain.Password{Hash: "new", ChangeRequired: c.require})
			if err != nil || !slices.Equal(got.Changed, c.changed) || !slices.Equal(got.Ended, c.ended) {
				t.Errorf("%+v, %v", got, err)
			}
			if u.State != c.state || u.PasswordHash != "new" || u.PasswordChangeRequired != c.require {
				t.Errorf("became %+v", u)
			}
		})
	}
	for u, want := range map[domain.User]*fault.Fault{
		{Type: domain.Machine, State: domain.UserActive}:                      usersfault.ErrUserNotHuman,
		{Type: domain.Human, State: domain.UserInitial}:                       usersfault.ErrUserNotInitialized,
		{Type: domain.Human, State: domain.UserInitial, EmailVerified: true}:  usersfault.ErrUserNotInitialized,
		{Type: domain.Human, State: domain.UserInactive, Uninitialized: true}: usersfault.ErrUserNotInitialized,
		{Type: domain.Human, State: domain.UserLocked, Uninitialized: true}:   usersfault.ErrUserNotInitialized,
	} {
		before := u
		if _, err := u.SetPassword(domain.Password{Hash: "new"}); err != error(want) || u != before {
			t.Errorf("%+v: %v, want %v", before, err, want)
		}
	}
}

// Codes have an effect only on users who wait for the kind of mail.
func TestCodesOfOthers(t *testing.T) {
	t.Parallel()
	for _, state := range []domain.UserState{
		domain.UserActive, domain.UserInactive, domain.UserLocked, domain.UserInitial,
	} {
		for _, verified := range []bool{false, true} {
			for kind, use := range map[domain.Kind]func(*domain.User) ([]string, error){
				domain.KindInit: func(u *domain.User) ([]string, error) { return u.Initialize("new") },
				domain.KindVerifyEmail: func(u *domain.User) ([]string, error) {
					c, err := u.VerifyEmail()
					return c.Changed, err
				},
				domain.KindPasswordReset: func(u *domain.User) ([]string, error) {
					c, err := u.ResetPassword("new")
					return c.Changed, err
				},
			} {
				u := domain.User{Type: domain.Human, State: state, EmailVerified: verified, PasswordHash: "old",
					PasswordChangeRequired: true}
				before := u
				changed, err := use(&u)
				if waits := before.Awaits(kind) == nil; waits != (err == nil) || waits != (len(changed) > 0) ||
					!waits && u != before {
					t.Errorf("%s in state %d, verified %t: %v, %v", kind, state, verified, changed, err)
				}
				if err == nil && (u.State != domain.UserActive || !u.EmailVerified) {
					t.Errorf("%s made %+v", kind, u)
				}
			}
		}
	}
}

// A verified address stays until another one is verified. Choosing it again cancels the change. Whoever has no verified
// address has the new one at once.
func TestVerifiedAddressStaysUntilTheNewOneIs(t *testing.T) {
	t.Parallel()
	active := domain.User{Type: domain.Human, State: domain.UserActive, Email: "old@x.ch", EmailVerified: true}
	pending := waiting(active, func(u *domain.User) { u.PendingEmail = "new@x.ch" })
	for name, c := range map[string]struct {
		was             domain.User
		chosen          string
		email, pending  string
		mail            domain.Kind
		ended           []domain.Kind
		changed, notice bool
	}{
		"another": {active, "new@x.ch", "old@x.ch", "new@x.ch", domain.KindVerifyEmail, nil, true, false},
		"a third": {pending, "third@x.ch", "old@x.ch",
			"third@x.ch", domain.KindVerifyEmail, nil, true, false},
		"the pending one": {pending, "new@x.ch", "old@x.ch",
			"new@x.ch", "", nil, false, false},
		"canceled": {pending, "old@x.ch", "old@x.ch", "", "",
			[]domain.Kind{domain.KindVerifyEmail}, true, false},
		"the same": {active, "old@x.ch", "old@x.ch", "", "", nil, false, false},
		"not verified": {waiting(active, func(u *domain.User) { u.EmailVerified = false }), "new@x.ch", "new@x.ch", "",
			domain.KindVerifyEmail, []domain.Kind{domain.KindPasswordReset}, true, true},
		"not activated": {waiting(active, func(u *domain.User) { u.State = domain.UserInitial }), "new@x.ch",
			"new@x.ch", "", domain.KindInit, []domain.Kind{domain.KindPasswordReset, domain.KindVerifyEmail}, true,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			u := c.was
			got, err := u.ChooseEmail(c.chosen)
			if err != nil || u.Email != c.email || u.PendingEmail != c.pending || got.Mail != c.mail ||
				!slices.Equal(got.Ended, c.ended) || (len(got.Changed) > 0) != c.changed ||
				(got.Noticed.Address != "") != c.notice {
				t.Errorf("%+v, %v: %+v", got, err, u)
			}
		})
	}
	u := pending
	if got := u.CodedEmail(domain.KindVerifyEmail); got != "new@x.ch" {
		t.Errorf("the code goes to %s", got)
	}
	if got := u.CodedEmail(domain.KindPasswordReset); got != "old@x.ch" {
		t.Errorf("a new password goes to %s", got)
	}
	c, err := u.VerifyEmail()
	if err != nil || u.Email != "new@x.ch" || !u.EmailVerified || u.PendingEmail != "" ||
		c.Noticed != (domain.Email{Address: "old@x.ch", Verified: true}) ||
		!slices.Equal(c.Ended, []domain.Kind{domain.KindPasswordReset}) {
		t.Errorf("%+v, %v: %+v", c, err, u)
	}
	u = pending
	if _, err := u.ChangeEmail(domain.Email{Address: "set@x.ch", Verified: true}); err != nil || u.PendingEmail != "" {
		t.Errorf("an administrator sets another address: %v, %+v", err, u)
	}
}

func waiting(u domain.User, change func(*domain.User)) domain.User {
	change(&u)
	return u
}
