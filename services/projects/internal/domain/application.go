package domain

import (
	"time"

	"herald/shared/gen/fault/projectsfault"
	"herald/shared/resource"
)

// AppState is the state of an application. Only active ones get tokens.
type AppState int16

// The states of an application, numbered as in its contract.
const (
	AppActive AppState = iota + 1
	AppInactive
)

// Application is a program of a project that logs users in or only checks tokens. Its id is its
// client id too.
type Application struct {
	resource.Record
	ID        string
	ProjectID string
	OrgID     string // of the project
	Name      string
	State     AppState
	// Every deactivation increases Generation. Tokens of an older generation are invalid.
	Generation int64
	// Exactly one of OIDC and API is set. It stays the same one for as long as the application exists.
	OIDC *OIDCConfig `db:"oidc_config"`
	API  *APIConfig  `db:"api_config"`
	ClientSecret
}

// ClientSecret has the hash of an application's client secret, or nil. It also has the hash of the former secret while
// that one still works. No older secret works.
type ClientSecret struct {
	SecretHash        []byte
	FormerSecretHash  []byte
	FormerSecretUntil *time.Time
}

// APIAuthMethod is how an API application authenticates.
type APIAuthMethod int16

// The methods, numbered as in the contract.
const (
	APIBasic APIAuthMethod = iota + 1
	APIPrivateKeyJWT
)

// APIConfig is the configuration of an API application. It is stored as JSON.
type APIConfig struct {
	AuthMethod APIAuthMethod `json:"authMethodType"`
}

// WithDefaults returns the configuration with defaults for missing fields.
func (c APIConfig) WithDefaults() APIConfig {
	if c.AuthMethod == 0 {
		c.AuthMethod = APIBasic
	}
	return c
}

// UsesSecret reports whether the application authenticates by a client secret.
func (a *Application) UsesSecret() bool {
	if a.OIDC != nil {
		return a.OIDC.AuthMethod == AuthBasic || a.OIDC.AuthMethod == AuthPost
	}
	return a.API.AuthMethod == APIBasic
}

// Rename sets the application's name. It returns false if the name is the same.
func (a *Application) Rename(name string) bool {
	changed := a.Name != name
	a.Name = name
	return changed
}

// ConfigureOIDC replaces the configuration and returns the names of the changed fields. It removes a
// secret that is not used any more.
func (a *Application) ConfigureOIDC(c OIDCConfig) (changed []string, err error) {
	if a.OIDC == nil {
		return nil, projectsfault.ErrAppNotOIDC
	}
	changed = a.OIDC.differences(c)
	a.OIDC = &c
	a.forgetUnused()
	return changed, nil
}

// ConfigureAPI does the same for an API application.
func (a *Application) ConfigureAPI(c APIConfig) (changed []string, err error) {
	if a.API == nil {
		return nil, projectsfault.ErrAppNotAPI
	}
	if *a.API != c {
		changed = []string{"authMethodType"}
	}
	a.API = &c
	a.forgetUnused()
	return changed, nil
}

func (a *Application) forgetUnused() {
	if !a.UsesSecret() {
		a.ClientSecret = ClientSecret{}
	}
}

// RenewOIDCSecret replaces the client secret of an OpenID Connect application by the one with that
// hash. The secret before it works for the overlap, if that is not zero. An older one does not work.
func (a *Application) RenewOIDCSecret(hash []byte, overlap time.Duration, now time.Time) error {
	if a.OIDC == nil {
		return projectsfault.ErrAppNotOIDC
	}
	return a.renewSecret(hash, overlap, now)
}

// RenewAPISecret does the same for an API application.
func (a *Application) RenewAPISecret(hash []byte, overlap time.Duration, now time.Time) error {
	if a.API == nil {
		return projectsfault.ErrAppNotAPI
	}
	return a.renewSecret(hash, overlap, now)
}

func (a *Application) renewSecret(hash []byte, overlap time.Duration, now time.Time) error {
	if !a.UsesSecret() {
		return projectsfault.ErrAppUsesNoSecret
	}
	renewed := ClientSecret{SecretHash: hash}
	if overlap > 0 && a.SecretHash != nil {
		until := now.Add(overlap)
		renewed.FormerSecretHash, renewed.FormerSecretUntil = a.SecretHash, &until
	}
	a.ClientSecret = renewed
	return nil
}

// Deactivate ends the application's tokens for good. The application gets no new ones.
func (a *Application) Deactivate() error {
	if a.State != AppActive {
		return projectsfault.ErrAppNotActive
	}
	a.State = AppInactive
	a.Generation++
	return nil
}

// Reactivate lets the application get tokens again.
func (a *Application) Reactivate() error {
	if a.State != AppInactive {
		return projectsfault.ErrAppNotInactive
	}
	a.State = AppActive
	return nil
}
