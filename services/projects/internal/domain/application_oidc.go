package domain

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
)

// The enums of a configuration, numbered as in the contract.
type (
	// ResponseType is what the authorization endpoint returns.
	ResponseType int16
	// GrantType is what an application exchanges for tokens, such as a code.
	GrantType int16
	// AppType is where an application runs (RFC 6749, 2.1).
	AppType int16
	// AuthMethod is how an application authenticates at the token endpoint.
	AuthMethod int16
	// TokenType is the format of its access tokens.
	TokenType int16
)

// The values of the enums.
const (
	ResponseCode ResponseType = 1

	GrantAuthorizationCode GrantType = 1
	GrantRefreshToken      GrantType = 2
	GrantDeviceCode        GrantType = 3

	AppWeb       AppType = 1
	AppUserAgent AppType = 2
	AppNative    AppType = 3

	AuthBasic         AuthMethod = 1
	AuthPost          AuthMethod = 2
	AuthNone          AuthMethod = 3
	AuthPrivateKeyJWT AuthMethod = 4

	TokenBearer TokenType = 1
	TokenJWT    TokenType = 2
)

// OIDCConfig is what the owner of an OpenID Connect application decides. It is stored as
// JSON.
type OIDCConfig struct {
	RedirectURIs             []string       `json:"redirectUris"`
	ResponseTypes            []ResponseType `json:"responseTypes"` // sorted
	GrantTypes               []GrantType    `json:"grantTypes"`    // sorted
	AppType                  AppType        `json:"appType"`
	AuthMethod               AuthMethod     `json:"authMethodType"`
	PostLogoutRedirectURIs   []string       `json:"postLogoutRedirectUris"`
	BackChannelLogoutURI     string         `json:"backChannelLogoutUri"`
	DevMode                  bool           `json:"devMode"`
	AccessTokenType          TokenType      `json:"accessTokenType"`
	AccessTokenRoleAssertion bool           `json:"accessTokenRoleAssertion"`
	IDTokenRoleAssertion     bool           `json:"idTokenRoleAssertion"`
	IDTokenUserinfoAssertion bool           `json:"idTokenUserinfoAssertion"`
	ClockSkew                time.Duration  `json:"clockSkew"` // nanoseconds
	AdditionalOrigins        []string       `json:"additionalOrigins"`
	// Trusted reports whether people of the own organization are not asked before the application acts for them.
	Trusted bool `json:"trusted"`
	// RolesClaim is the name of the claim with a flat list of roles; empty for the usual one.
	RolesClaim string `json:"rolesClaim"`
	// The lifetimes of tokens, in nanoseconds; 0 for those of the instance.
	AccessTokenLifetime        time.Duration `json:"accessTokenLifetime"`
	RefreshTokenIdleExpiration time.Duration `json:"refreshTokenIdleExpiration"`
	RefreshTokenExpiration     time.Duration `json:"refreshTokenExpiration"`
}

// WithDefaults returns the configuration with defaults for the fields that a request left out. The defaults are the
// code flow of a web application that authenticates by HTTP Basic, with opaque tokens.
func (c OIDCConfig) WithDefaults() OIDCConfig {
	c.ResponseTypes, c.GrantTypes = slices.Sorted(slices.Values(c.ResponseTypes)),
		slices.Sorted(slices.Values(c.GrantTypes))
	if len(c.ResponseTypes) == 0 {
		c.ResponseTypes = []ResponseType{ResponseCode}
	}
	if len(c.GrantTypes) == 0 {
		c.GrantTypes = []GrantType{GrantAuthorizationCode}
	}
	if c.AppType == 0 {
		c.AppType = AppWeb
	}
	if c.AuthMethod == 0 {
		c.AuthMethod = AuthBasic
	}
	if c.AccessTokenType == 0 {
		c.AccessTokenType = TokenBearer
	}
	return c
}

// Check returns ErrOIDCConfigInvalid with all fields that contradict others or have a wrong address. It does not check
// the response type that the code grant needs, because WithDefaults sets it.
func (c OIDCConfig) Check() error {
	var fields []fault.Field
	refuse := func(path, reason string) {
		if reason != "" {
			fields = append(fields, fault.Field{Path: path, Reason: reason})
		}
	}
	if !slices.Contains(c.GrantTypes, GrantAuthorizationCode) && !slices.Contains(c.GrantTypes, GrantDeviceCode) {
		refuse("grantTypes", "holds nothing that a refresh token could come from")
	}
	for i, uri := range c.RedirectURIs {
		refuse(fmt.Sprintf("redirectUris[%d]", i), c.redirectFault(uri))
	}
	for i, uri := range c.PostLogoutRedirectURIs {
		refuse(fmt.Sprintf("postLogoutRedirectUris[%d]", i), c.redirectFault(uri))
	}
	if c.BackChannelLogoutURI != "" {
		refuse("backChannelLogoutUri", c.webFault(c.BackChannelLogoutURI))
	}
	for i, origin := range c.AdditionalOrigins {
		refuse(fmt.Sprintf("additionalOrigins[%d]", i), c.originFault(origin))
	}
	refuse("rolesClaim", claimFault(c.RolesClaim))
	refuse("accessTokenLifetime", lifetimeFault(c.AccessTokenLifetime))
	refuse("refreshTokenIdleExpiration", lifetimeFault(c.RefreshTokenIdleExpiration))
	refuse("refreshTokenExpiration", lifetimeFault(c.RefreshTokenExpiration))
	if fields == nil {
		return nil
	}
	return projectsfault.ErrOIDCConfigInvalid.Naming(fields...)
}

// Problems of a configuration that are allowed but unwise.
const (
	// A program on a server could keep a secret but has none (RFC 6749, 2.1).
	ProblemWebWithoutAuthentication = "WEB_WITHOUT_AUTHENTICATION"
	// A program on users' devices cannot keep a secret (RFC 6749, 2.1; RFC 8252, 8.5). It is
	// allowed, because each installation may have its own application.
	ProblemPublicWithCredential = "PUBLIC_WITH_CREDENTIAL"
	// The code grant needs a redirect URI, but there is none.
	ProblemNoRedirectURI = "NO_REDIRECT_URI"
	// Codes and tokens are sent without encryption (RFC 6749, 3.1.2.1).
	ProblemHTTP = "HTTP_BEYOND_LOOPBACK"
	// The application authenticates by a client secret but has none, because it had another method before.
	ProblemNoSecret = "NO_CLIENT_SECRET"
)

// ComplianceProblems returns the reasons why an OpenID Connect application cannot be used as OAuth 2.0 requires. They
// are shown to its owner.
func (a *Application) ComplianceProblems() (problems []string) {
	c := a.OIDC
	addresses := slices.Concat(c.RedirectURIs, c.PostLogoutRedirectURIs, c.AdditionalOrigins,
		[]string{c.BackChannelLogoutURI})
	for _, p := range []struct {
		id    string
		there bool
	}{
		{ProblemWebWithoutAuthentication, c.AppType == AppWeb && c.AuthMethod == AuthNone},
		{ProblemPublicWithCredential, c.AppType != AppWeb && c.AuthMethod != AuthNone},
		{ProblemNoRedirectURI, len(c.RedirectURIs) == 0 && slices.Contains(c.GrantTypes, GrantAuthorizationCode)},
		{ProblemHTTP, slices.ContainsFunc(addresses, isOpenHTTP)},
		{ProblemNoSecret, a.UsesSecret() && a.SecretHash == nil},
	} {
		if p.there {
			problems = append(problems, p.id)
		}
	}
	return problems
}

// oidcFields are the names in JSON of the fields of OIDCConfig, in their order.
var oidcFields = func(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("json")
	}
	return names
}(reflect.TypeFor[OIDCConfig]())

// Fields yields the fields, which can be set, by their names in JSON.
func (c *OIDCConfig) Fields() iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		v := reflect.ValueOf(c).Elem()
		for i, name := range oidcFields {
			if !yield(name, v.Field(i)) {
				return
			}
		}
	}
}

// differences returns the names of the fields in which two configurations differ. A missing list equals an empty one.
func (c *OIDCConfig) differences(d OIDCConfig) (names []string) {
	is, was := reflect.ValueOf(d), reflect.ValueOf(*c)
	for i, name := range oidcFields {
		is, was := is.Field(i), was.Field(i)
		empty := is.Kind() == reflect.Slice && is.Len()+was.Len() == 0
		if !empty && !reflect.DeepEqual(is.Interface(), was.Interface()) {
			names = append(names, name)
		}
	}
	return names
}
