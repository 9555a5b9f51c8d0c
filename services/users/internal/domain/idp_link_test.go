package domain_test

import (
	"errors"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

// The links of a new user have each account once, at providers of the organization.
func TestCheckIdpLinks(t *testing.T) {
	t.Parallel()
	at := func(idp, external string) domain.IdpLink { return domain.IdpLink{IdpID: idp, ExternalUserID: external} }
	known := map[string]domain.Provider{"a": {}, "b": {OnlyTenant: "tenant"}}
	for name, c := range map[string]struct {
		links []domain.IdpLink
		want  *fault.Fault
		path  string
	}{
		"none":          {nil, nil, ""},
		"one":           {[]domain.IdpLink{at("a", "1")}, nil, ""},
		"two accounts":  {[]domain.IdpLink{at("a", "1"), at("a", "2")}, nil, ""},
		"two providers": {[]domain.IdpLink{at("a", "1"), at("b", "1")}, nil, ""},
		"unknown":       {[]domain.IdpLink{at("a", "1"), at("c", "1")}, usersfault.ErrIdpUnknown, "idps[1].configId"},
		"nowhere":       {[]domain.IdpLink{at("", "1")}, usersfault.ErrIdpUnknown, "idps[0].configId"},
		"twice": {
			[]domain.IdpLink{at("a", "1"), at("b", "1"), at("a", "1")}, usersfault.ErrIdpLinkTwice, "idps[2]",
		},
		"twice in one case": {[]domain.IdpLink{at("a", "m"), at("a", "M")}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := domain.CheckIdpLinks(c.links, known)
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %s", err, c.want.ID)
			} else if fields := fault.From(err).Fields; len(fields) != 1 || fields[0].Path != c.path {
				t.Errorf("%s names %v, want %s", name, fields, c.path)
			}
		})
	}
}

// Only an active person who has logged in with the password may link an account, while that login is valid.
func TestMayLink(t *testing.T) {
	t.Parallel()
	ada := domain.User{Type: domain.Human, State: domain.UserActive, Generation: 3}
	if err := ada.MayLink(domain.CredentialPassword, 3); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		change     func(*domain.User)
		credential string
		generation int64
	}{
		"a machine":      {func(u *domain.User) { u.Type = domain.Machine }, domain.CredentialPassword, 3},
		"locked":         {func(u *domain.User) { u.State = domain.UserLocked }, domain.CredentialPassword, 3},
		"inactive":       {func(u *domain.User) { u.State = domain.UserInactive }, domain.CredentialPassword, 3},
		"never active":   {func(u *domain.User) { u.State = domain.UserInitial }, domain.CredentialPassword, 3},
		"ended login":    {func(*domain.User) {}, domain.CredentialPassword, 2},
		"another's word": {func(*domain.User) {}, "idp:company:1", 3},
		"no credential":  {func(*domain.User) {}, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			u := ada
			c.change(&u)
			if err := u.MayLink(c.credential, c.generation); !errors.Is(err, fault.ErrTokenInvalid) {
				t.Error(err)
			}
		})
	}
}
