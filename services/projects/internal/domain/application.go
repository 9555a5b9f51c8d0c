package domain

import (
	"time"

	"herald/shared/fault"
	"herald/shared/resource"
)

// AppState is whether an application gets tokens.
type AppState int16

// The states of an application, numbered as in its contract.
const (
	AppActive AppState = iota + 1
	AppInactive
)

// Faults of applications.
var (
	ErrAppNotFound  = fault.New(fault.NotFound, "APP_NOT_FOUND", "Application not found")
	ErrAppNameTaken = fault.New(fault.Exists, "APP_NAME_TAKEN", "The name of the application is taken").On("name",
		"is taken")
	ErrAppNotActive   = fault.New(fault.Precondition, "APP_NOT_ACTIVE", "The application is not active")
	ErrAppNotInactive = fault.New(fault.Precondition, "APP_NOT_INACTIVE", "The application is not inactive")
	ErrAppNotOIDC     = fault.New(fault.Precondition, "APP_NOT_OIDC",
		"The application is not an OpenID Connect application")
	ErrAppNotAPI   = fault.New(fault.Precondition, "APP_NOT_API", "The application is not an API application")
	ErrAppNoSecret = fault.New(fault.Precondition, "APP_USES_NO_SECRET",
		"The application does not authenticate by a client secret")
)

// Application is a program of a project: one that logs users in, or one that only checks
// tokens. Its id is its client id too: one identity, under which it is managed, logs
// users in and shows in events.
type Application struct {
	resource.Record
	ID        string
	ProjectID string
	OrgID     string // the project's
	Name      string
	State     AppState
	// Generation is raised by every deactivation: tokens of an older one are dead.
	Generation int64
	// One of the two, which never becomes the other.
	OIDC *OIDCConfig `db:"oidc_config"`
	API  *APIConfig  `db:"api_config"`
	ClientSecret
}

// ClientSecret is what is kept of an application's client secret: hashes of the one that
// it has, nil for none, and of the one before it as long as that works too. There is no
// place for a third.
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

// APIConfig is what the owner of an API application decides. It is stored as JSON.
type APIConfig struct {
	AuthMethod APIAuthMethod `json:"authMethodType"`
}

// WithDefaults fills what a request left out.
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

// Rename gives the application another name; false where it has that one.
func (a *Application) Rename(name string) bool {
	changed := a.Name != name
	a.Name = name
	return changed
}

// ConfigureOIDC replaces the configuration and returns the names of the fields that
// differ. A secret that is used no more is forgotten for good.
func (a *Application) ConfigureOIDC(c OIDCConfig) (changed []string, err error) {
	if a.OIDC == nil {
		return nil, ErrAppNotOIDC
	}
	changed = a.OIDC.differences(c)
	a.OIDC = &c
	a.forgetUnused()
	return changed, nil
}

// ConfigureAPI does the same for an API application.
func (a *Application) ConfigureAPI(c APIConfig) (changed []string, err error) {
	if a.API == nil {
		return nil, ErrAppNotAPI
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

// RenewOIDCSecret gives an OpenID Connect application another client secret, of which it
// gets the hash. The one before it works for the overlap, which zero is none; one before
// that works no more.
func (a *Application) RenewOIDCSecret(hash []byte, overlap time.Duration, now time.Time) error {
	if a.OIDC == nil {
		return ErrAppNotOIDC
	}
	return a.renewSecret(hash, overlap, now)
}

// RenewAPISecret does the same for an API application.
func (a *Application) RenewAPISecret(hash []byte, overlap time.Duration, now time.Time) error {
	if a.API == nil {
		return ErrAppNotAPI
	}
	return a.renewSecret(hash, overlap, now)
}

func (a *Application) renewSecret(hash []byte, overlap time.Duration, now time.Time) error {
	if !a.UsesSecret() {
		return ErrAppNoSecret
	}
	renewed := ClientSecret{SecretHash: hash}
	if overlap > 0 && a.SecretHash != nil {
		until := now.Add(overlap)
		renewed.FormerSecretHash, renewed.FormerSecretUntil = a.SecretHash, &until
	}
	a.ClientSecret = renewed
	return nil
}

// Deactivate ends the application's tokens for good and refuses new ones.
func (a *Application) Deactivate() error {
	if a.State != AppActive {
		return ErrAppNotActive
	}
	a.State = AppInactive
	a.Generation++
	return nil
}

// Reactivate lets the application have tokens again.
func (a *Application) Reactivate() error {
	if a.State != AppInactive {
		return ErrAppNotInactive
	}
	a.State = AppActive
	return nil
}
