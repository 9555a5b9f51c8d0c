package domain

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// AuthMethod is how a client authenticates at the token endpoint (RFC 7591 section 2).
type AuthMethod string

// The methods of authentication.
const (
	AuthBasic         AuthMethod = "client_secret_basic"
	AuthPost          AuthMethod = "client_secret_post"
	AuthPrivateKeyJWT AuthMethod = "private_key_jwt"
	AuthNone          AuthMethod = "none"
)

// GrantType is the name of a grant (RFC 6749, RFC 7523, RFC 8628).
type GrantType string

// The grants.
const (
	GrantCode        GrantType = "authorization_code"
	GrantRefresh     GrantType = "refresh_token"
	GrantCredentials GrantType = "client_credentials"
	GrantJWTBearer   GrantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	GrantDevice      GrantType = "urn:ietf:params:oauth:grant-type:device_code"
)

// Client is an application as its owner has configured it, or a machine user who logs in by itself.
type Client struct {
	ID   string
	Name string
	// Methods are the methods by which it may authenticate.
	Methods []AuthMethod
	Grants  []GrantType
	// Active reports whether the application and its project are active.
	Active     bool
	Generation int64
	OrgID      string
	Project    Project

	// API reports whether it is an application that only checks tokens, and logs nobody in.
	API bool
	// Native reports whether a redirect may have any port on a loopback host.
	Native                 bool
	RedirectURIs           []string
	PostLogoutRedirectURIs []string
	BackChannelLogoutURI   string
	Origins                []string
	// JWT reports whether its access tokens are JSON Web Tokens.
	JWT                      bool
	AccessTokenRoleAssertion bool
	IDTokenRoleAssertion     bool
	IDTokenUserinfoAssertion bool
	// RolesClaim is the name of the claim with a flat list of roles; empty for the usual one.
	RolesClaim string
	ClockSkew  time.Duration
	// Lifetimes are 0 where those of the instance hold.
	Lifetimes Lifetimes
	// Trusted reports whether people of the client's organization are not asked before it acts for them.
	Trusted bool

	// SecretMatches reports whether the secret of the request is the client's. PublicKey is that of the key id of the
	// request, as SubjectPublicKeyInfo in DER, nil if the client has no such key.
	SecretMatches bool
	PublicKey     []byte
	// Credential names the secret or key with which an application authenticated; empty for none.
	Credential string
	// Machine is set for a machine user. The fields about applications are then empty.
	Machine *Subject
}

// Project is the project of an application.
type Project struct {
	ID            string
	Name, OrgID   string
	Generation    int64
	RoleAssertion bool
	RoleCheck     bool
	// GrantCheck reports whether only users of organizations that own the project or have a grant of it get tokens.
	GrantCheck bool
	// Branding says whose branding the login pages show. The numbers are those of the contract of projects.
	Branding int32
}

// How login pages look for applications of a project, as the contract of projects numbers it.
const (
	brandingOfProject int32 = 1
	brandingOfUser    int32 = 2
)

// BrandingOf returns the organization whose branding the login to the client has: the client's, unless the project asks
// for that of the user. A login without a client, as for the pages of the account, has the branding of the user's
// organization. The user's organization is empty as long as nobody has logged in, because the branding would show which
// users exist.
func (c Client) BrandingOf(userOrgID string) string {
	if userOrgID != "" && (c.ID == "" || c.Project.Branding == brandingOfUser) {
		return userOrgID
	}
	return c.OrgID
}

// BrandingIn is BrandingOf for a login for which the client admits only people of one organization. They see the
// branding of that organization from the first page on, unless the project asks for its own. An empty organization
// admits everybody.
func (c Client) BrandingIn(asked, userOrgID string) string {
	if asked == "" || c.Project.Branding == brandingOfProject {
		return c.BrandingOf(userOrgID)
	}
	return asked
}

// WebOrigins returns the origins of web pages that may use the client's tokens: those of its redirect URIs and those
// that its owner added. An application without web pages has none.
func (c Client) WebOrigins() []string {
	origins := slices.Clone(c.Origins)
	for _, uri := range c.RedirectURIs {
		u, err := url.Parse(uri)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" {
			continue
		}
		if origin := originOf(u); !slices.Contains(origins, origin) {
			origins = append(origins, origin)
		}
	}
	return origins
}

// originOf returns the origin of a URI as browsers write it (RFC 6454 section 6.2).
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	} else {
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}

// Asks returns what the client asks for, before it is known which user gives it. Targets are the scopes that it named
// by the parameter resource.
func (c Client) Asks(scopes []string, targets ...string) Authorization {
	return Authorization{
		ClientID: c.ID, ClientOrgID: c.OrgID, ProjectID: c.Project.ID, Scopes: scopes, Targets: targets,
	}
}

// MayUse reports whether the client may use a grant.
func (c Client) MayUse(g GrantType) bool { return slices.Contains(c.Grants, g) }

// Public reports whether the client cannot authenticate, because it has no secret and no key.
func (c Client) Public() bool { return slices.Equal(c.Methods, []AuthMethod{AuthNone}) }

// Subject is a user for whom tokens are issued.
type Subject struct {
	ID         string
	OrgID      string
	Active     bool
	Human      bool
	Generation int64
	// Orgs are the user's organization and those that were asked for, by id.
	Orgs map[string]Org
	// Credential names the secret or key with which a machine user authenticated; empty for none.
	Credential string
	PublicKey  []byte
	// JWT reports whether a machine user's access tokens are JSON Web Tokens.
	JWT bool
	// Manages reports whether the user has a role in the instance, in any organization or on any project.
	Manages bool
	// Profile is empty unless it was asked for.
	Profile Profile
}

// Org is an organization on which tokens depend.
type Org struct {
	ID, Name, PrimaryDomain string
	Active                  bool
	Generation              int64
}
