package domain_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"herald/services/idp/internal/domain"
	"herald/shared/gen/fault/idpfault"
	"herald/shared/secret"
)

func newKeys(t *testing.T) secret.Keys {
	t.Helper()
	k, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// directory returns a provider whose fields all have values.
func directory(keys secret.Keys) domain.Idp {
	i := domain.Idp{ID: "company", OrgID: "org-a", State: domain.IdpActive, Name: "Company", ClientID: "herald",
		Settings: domain.Settings{
			Tenant: domain.Tenant{TenantID: "example.com"}, EmailVerified: true, Scopes: []string{"openid"},
			Options: domain.Options{IsLinkingAllowed: true},
		}}
	i.SetSecret(secret.NewText("first"), keys)
	return i
}

func TestUpdateReturnsTheChangedFields(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	for _, c := range []struct {
		update func(*domain.Update)
		want   []string
	}{
		{func(*domain.Update) {}, nil},
		{func(u *domain.Update) { u.Name, u.ClientID = new("Company"), new("herald") }, nil},
		{func(u *domain.Update) { u.ClientSecret = secret.NewText("first") }, nil},
		{func(u *domain.Update) { u.ClientSecret = secret.NewText("") }, nil},
		{func(u *domain.Update) { u.Settings.Scopes = []string{"openid"} }, nil},
		{func(u *domain.Update) { u.Name = new("company") }, []string{"name"}},
		{func(u *domain.Update) { u.ClientID = new("other") }, []string{"clientId"}},
		{func(u *domain.Update) { u.ClientSecret = secret.NewText("First") }, []string{"clientSecret"}},
		{func(u *domain.Update) { u.Settings.Tenant = domain.Tenant{} }, []string{"tenant"}},
		{func(u *domain.Update) { u.Settings.Tenant.TenantID = "example.org" }, []string{"tenant"}},
		{func(u *domain.Update) { u.Settings.EmailVerified = false }, []string{"emailVerified"}},
		{func(u *domain.Update) { u.Settings.Scopes = []string{"openid", "email"} }, []string{"scopes"}},
		{func(u *domain.Update) { u.Settings.Options.IsLinkingAllowed = false }, []string{"providerOptions"}},
		{func(u *domain.Update) { u.Settings.Options.IsCreationAllowed = true }, []string{"providerOptions"}},
		{func(u *domain.Update) { u.Settings.Options.IsAutoCreation = true }, []string{"providerOptions"}},
		{func(u *domain.Update) { u.Settings.Options.IsAutoUpdate = true }, []string{"providerOptions"}},
		{func(u *domain.Update) {
			*u = domain.Update{Name: new("Other"), ClientID: new("other"), ClientSecret: secret.NewText("second")}
		}, []string{"name", "clientId", "clientSecret", "tenant", "emailVerified", "scopes", "providerOptions"}},
	} {
		i := directory(keys)
		u := domain.Update{Settings: i.Settings}
		c.update(&u)
		t.Run(fmt.Sprintf("%+v", u), func(t *testing.T) {
			if got := i.Change(u, keys); !slices.Equal(got, c.want) {
				t.Errorf("changed %v, want %v", got, c.want)
			}
			if again := i.Change(u, keys); again != nil {
				t.Errorf("the same update once more changed %v", again)
			}
			if u.Name != nil && i.Name != *u.Name || u.ClientID != nil && i.ClientID != *u.ClientID {
				t.Errorf("it is %+v", i)
			}
		})
	}
}

func TestProviderWithoutScopesGetsTheDefaultScopes(t *testing.T) {
	t.Parallel()
	for _, scopes := range [][]string{nil, {}} {
		got := domain.Settings{Scopes: scopes}.WithDefaults()
		if !slices.Equal(got.Scopes, []string{"openid", "profile", "email"}) {
			t.Errorf("%v became %v", scopes, got.Scopes)
		}
	}
	if got := (domain.Settings{Scopes: []string{"api"}}).WithDefaults(); !slices.Equal(got.Scopes, []string{"api"}) {
		t.Errorf("became %v", got.Scopes)
	}
}

func TestClientSecretIsOpenedOnlyForItsProviderAndNotPrinted(t *testing.T) {
	t.Parallel()
	keys, others := newKeys(t), newKeys(t)
	i := directory(keys)
	plain, err := keys.Open(i.ClientSecret, domain.SealedClientSecret, "company")
	if err != nil || string(plain) != "first" {
		t.Errorf("%q, %v", plain, err)
	}
	if _, err := keys.Open(i.ClientSecret, domain.SealedClientSecret, "other"); !errors.Is(err, secret.ErrSeal) {
		t.Errorf("opened for another provider: %v", err)
	}
	if text := fmt.Sprintf("%+v %+v", i, domain.Update{ClientSecret: secret.NewText("first")}); strings.Contains(text,
		"first") {
		t.Error(text)
	}
	// A secret that the keys cannot open is replaced.
	if !i.SetSecret(secret.NewText("first"), others) || i.SetSecret(secret.NewText("first"), others) {
		t.Error("an unreadable secret counts as the same")
	}
}

func TestEachStateAllowsOneOfTheChanges(t *testing.T) {
	t.Parallel()
	const active, inactive = domain.IdpActive, domain.IdpInactive
	for name, c := range map[string]struct {
		from, to domain.IdpState
		change   func(*domain.Idp) error
		err      error
	}{
		"deactivate active":   {active, inactive, (*domain.Idp).Deactivate, nil},
		"deactivate inactive": {inactive, inactive, (*domain.Idp).Deactivate, idpfault.ErrIdpNotActive},
		"reactivate inactive": {inactive, active, (*domain.Idp).Reactivate, nil},
		"reactivate active":   {active, active, (*domain.Idp).Reactivate, idpfault.ErrIdpNotInactive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := domain.Idp{State: c.from}
			if err := c.change(&i); !errors.Is(err, c.err) || i.State != c.to {
				t.Errorf("%v, %+v", err, i)
			}
		})
	}
}
