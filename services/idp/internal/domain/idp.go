// Package domain holds the rules of identity providers. It uses no database and no messages.
package domain

import (
	"slices"
	"time"

	"herald/shared/gen/fault/idpfault"
	"herald/shared/resource"
	"herald/shared/secret"
)

// IdpState is the state of a provider. Only active ones are on the login page.
type IdpState int16

// The states of a provider, numbered as in its contract.
const (
	IdpActive IdpState = iota + 1
	IdpInactive
)

// SealedClientSecret is the column of the sealed client secrets.
var SealedClientSecret = secret.Column{Table: "idps", Name: "client_secret", Key: "id"}

// Idp is an enterprise directory with whose accounts an organization's users log in.
type Idp struct {
	resource.Record
	ID       string
	OrgID    string
	State    IdpState
	Name     string
	ClientID string
	// ClientSecret is sealed; SetSecret seals it.
	ClientSecret []byte
	Settings
}

// Settings are the fields that a creation or a change of a provider sets.
type Settings struct {
	Tenant
	EmailVerified bool
	Scopes        []string
	// SecretExpiresAt is when the client secret ends, as an administrator has said. Nil if nobody knows it.
	SecretExpiresAt *time.Time
	Options
}

// Options say what users may do with an external account, and what Herald does automatically.
type Options struct {
	IsLinkingAllowed  bool
	IsCreationAllowed bool
	IsAutoCreation    bool
	IsAutoUpdate      bool
}

// WithDefaults returns the settings with the default scopes if none are set (OpenID Connect Core,
// 3.1.2.1 and 5.4).
func (s Settings) WithDefaults() Settings {
	if len(s.Scopes) == 0 {
		s.Scopes = []string{"openid", "profile", "email"}
	}
	return s
}

// Update is the new values of a provider. A nil pointer or an empty secret keeps the old value.
type Update struct {
	Name         *string
	ClientID     *string
	ClientSecret secret.Text
	Settings     Settings
}

// Change applies an update and returns the names of the changed fields. The keys seal the client
// secret.
func (i *Idp) Change(u Update, keys secret.Keys) (changed []string) {
	if u.Name != nil && *u.Name != i.Name {
		i.Name = *u.Name
		changed = append(changed, "name")
	}
	if u.ClientID != nil && *u.ClientID != i.ClientID {
		i.ClientID = *u.ClientID
		changed = append(changed, "clientId")
	}
	if !u.ClientSecret.Empty() && i.SetSecret(u.ClientSecret, keys) {
		changed = append(changed, "clientSecret")
	}
	changed = append(changed, i.differences(u.Settings)...)
	i.Settings = u.Settings
	return changed
}

func (s Settings) differences(other Settings) (names []string) {
	for _, f := range []struct {
		name    string
		differs bool
	}{
		{"tenant", s.Tenant != other.Tenant},
		{"emailVerified", s.EmailVerified != other.EmailVerified},
		{"scopes", !slices.Equal(s.Scopes, other.Scopes)},
		{"clientSecretExpiration", !sameTime(s.SecretExpiresAt, other.SecretExpiresAt)},
		{"providerOptions", s.Options != other.Options},
	} {
		if f.differs {
			names = append(names, f.name)
		}
	}
	return names
}

func sameTime(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

// SetSecret seals and stores a client secret. It returns false if the secret is the same. A stored
// secret that the keys cannot open counts as a different one.
func (i *Idp) SetSecret(s secret.Text, keys secret.Keys) bool {
	plain, err := keys.Open(i.ClientSecret, SealedClientSecret, i.ID)
	if err == nil && secret.Equal(plain, []byte(s.Reveal())) {
		return false
	}
	i.ClientSecret = keys.Seal([]byte(s.Reveal()), SealedClientSecret, i.ID)
	return true
}

// Deactivate removes the provider from the login page.
func (i *Idp) Deactivate() error {
	if i.State != IdpActive {
		return idpfault.ErrIdpNotActive
	}
	i.State = IdpInactive
	return nil
}

// Reactivate shows the provider on the login page, for the first time or again.
func (i *Idp) Reactivate() error {
	if i.State != IdpInactive {
		return idpfault.ErrIdpNotInactive
	}
	i.State = IdpActive
	return nil
}

// NeedsProfile reports whether logins use more of an account than its ids.
func (o Options) NeedsProfile() bool {
	return o.IsCreationAllowed || o.IsAutoCreation || o.IsAutoUpdate
}
