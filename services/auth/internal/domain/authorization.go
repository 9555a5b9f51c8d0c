package domain

import (
	"cmp"
	"slices"
	"time"
)

const (
	// RefreshRetry is how long after its first use a refresh token is answered again. A client needs that which did not
	// get the first answer, or which sends two requests at once.
	RefreshRetry = time.Minute
	// CodeLifetime is how long a client has to redeem a code.
	CodeLifetime = time.Minute
)

// Authorization is what a person or a machine gave a client at a login. All tokens that follow from it share it and end
// with it. The generations are those at that time: it is not valid after one of them has changed.
type Authorization struct {
	ID string
	// ClientID is the id of an application, or of the machine user who logged in by itself.
	ClientID         string
	ClientGeneration int64
	// The project and organization of the application; empty for a machine user.
	ProjectID           string
	ProjectGeneration   int64
	ClientOrgID         string
	ClientOrgGeneration int64
	// UserID is empty for an application that logged in by itself.
	UserID         string
	UserGeneration int64
	OrgID          string
	OrgGeneration  int64
	// SessionID is the person's login session; empty for machines.
	SessionID string
	// WantsLogout reports whether the client is notified when the session ends. Only new authorizations have it.
	WantsLogout bool `db:"-"`
	// Manages reports whether the person has a role of a manager. Only new authorizations have it.
	Manages bool `db:"-"`
	Scopes  []string
	// Targets are the scopes that the request named by the parameter resource. Only new authorizations have it.
	Targets []string `db:"-"`
	// ByTrust reports whether nobody asked the person before the client acts for them, because it is trusted. It ends
	// when the client is not trusted any more, or the person gets a role.
	ByTrust bool
	// Trusted reports whether the person's organization trusted the client, which is its own, when it was given. What
	// was agreed to before stays what the person agreed to.
	Trusted bool
	// Audience are the ids of those who may accept a token with all scopes.
	Audience []string
	// Grounds names why the client may have tokens for the projects that the scopes name, as GroundsIn returns it.
	Grounds string
	// AuthTime is when the person or machine authenticated. AMR are the methods (RFC 8176).
	AuthTime time.Time
	AMR      []string
	// Credential names the key or secret of a machine user or application that logged in by itself, or a person's
	// password. When the credential is removed, the tokens end.
	Credential string
	// ExpiresAt is when the last token of it expires.
	ExpiresAt time.Time
}

// Subject returns the claim sub of its tokens: the user, or an application that logged in by itself.
func (a Authorization) Subject() string {
	if a.UserID != "" {
		return a.UserID
	}
	return a.ClientID
}

// OfApplication reports whether the client is an application.
func (a Authorization) OfApplication() bool { return a.ProjectID != "" }

// AudienceOf returns who may accept a token with some of the scopes: a refresh may ask for fewer ones, which name fewer
// projects.
func (a Authorization) AudienceOf(scopes []string) []string {
	return Audience(a.ClientID, a.ProjectID, scopes)
}

// Named returns the projects that the scopes name, beside Herald and the application's own.
func (a Authorization) Named() []string { return NamedProjects(a.Scopes, a.ProjectID) }

// HoldingOrg returns the organization of the client, which must own the named projects or have accepted grants of them.
func (a Authorization) HoldingOrg() string { return cmp.Or(a.ClientOrgID, a.OrgID) }

// Foreign reports whether the user and the application belong to different organizations.
func (a Authorization) Foreign() bool {
	return a.OfApplication() && a.UserID != "" && a.OrgID != a.ClientOrgID
}

// OrgIDs returns the organizations on which the tokens depend.
func (a Authorization) OrgIDs() []string {
	var ids []string
	for _, id := range []string{a.OrgID, a.ClientOrgID} {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Alive reports whether all on which the tokens depend is active and as it was at the login. The client is that of an
// application, else empty; the subject has the organizations, and is otherwise empty for an application that logged in
// by itself.
func (a Authorization) Alive(c Client, s Subject) bool {
	if a.OfApplication() && !(a.AliveAt(c) && s.Orgs[a.ClientOrgID].is(a.ClientOrgGeneration)) {
		return false
	}
	if a.UserID == "" {
		return c.Credential == a.Credential
	}
	return s.Active && s.Generation == a.UserGeneration && s.Credential == a.Credential &&
		s.Orgs[a.OrgID].is(a.OrgGeneration) && !(a.ByTrust && s.Manages)
}

// AliveAt reports whether the application and its project are active and as they were at the login, and the application
// is still trusted if nobody was asked because of that.
func (a Authorization) AliveAt(c Client) bool {
	return c.Active && c.Generation == a.ClientGeneration && c.Project.Generation == a.ProjectGeneration &&
		(c.Trusted || !a.ByTrust)
}

// is reports whether the organization is active and of that generation.
func (o Org) is(generation int64) bool { return o.Active && o.Generation == generation }

// TokenKind is a kind of token. A token of one kind is never taken for another.
type TokenKind int16

// The kinds of stored tokens.
const (
	KindAccess TokenKind = iota + 1
	KindRefresh
)

// MaxTokens is how many access tokens of an authorization are valid at once, and among how many used refresh tokens one
// that comes again is noticed. The oldest end, so that a client that keeps refreshing does not fill the database.
const MaxTokens = 100

// NewToken is a token to store.
type NewToken struct {
	Kind TokenKind
	Hash []byte
	// Scopes are those of the authorization or fewer (RFC 6749 section 6).
	Scopes    []string
	ExpiresAt time.Time
}

// Token is a stored token with its authorization.
type Token struct {
	Authorization
	// JTI is the id of a JSON Web Token; empty for opaque tokens.
	JTI string `db:"-"`
	// TokenScopes are the scopes of the token, IssuedAt and TokenExpiresAt its times.
	TokenScopes    []string
	IssuedAt       time.Time
	TokenExpiresAt time.Time
}

// TokenAudience returns who may accept the token.
func (t Token) TokenAudience() []string { return t.AudienceOf(t.TokenScopes) }

// MayIntrospect reports whether a client may know whether the token is active. An application may introspect an access
// token if the application or its project is in the audience. It may introspect its own refresh tokens. A machine user
// may only introspect its own tokens, because its id can be chosen and could be that of a project.
func (t Token) MayIntrospect(c Client, kind TokenKind) bool {
	if kind == KindRefresh || c.Machine != nil {
		return t.ClientID == c.ID
	}
	return slices.ContainsFunc(t.TokenAudience(), func(aud string) bool {
		return aud == c.ID || aud == c.Project.ID && aud != ""
	})
}

// AuthorizedApp is an application to which a person gave access. GivenAt is when they last logged in to it, or agreed
// to what it asks for.
type AuthorizedApp struct {
	ClientID string
	// Name is empty for an application that does not exist any more. OrgName is the organization that offers it.
	Name    string `db:"-"`
	OrgName string `db:"-"`
	GivenAt time.Time
	// Made is what the application made in the name of the person, the newest first.
	Made []MadeByApp `db:"-"`
}

// MadeByApp is a personal access token with that id and name, or an authenticator app if the id is empty. Prepared
// reports that the authenticator app counts for nothing yet.
type MadeByApp struct {
	TokenID, Name string
	Prepared      bool
	At            time.Time
}

// Why an authorization ended, by the names of the contract's AuthorizationEnd.
const (
	EndTakenBack = "AUTHORIZATION_END_TAKEN_BACK"
	EndExpired   = "AUTHORIZATION_END_EXPIRED"
	EndLogout    = "AUTHORIZATION_END_LOGOUT"
	EndChanged   = "AUTHORIZATION_END_CHANGED"
)
