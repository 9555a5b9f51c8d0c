// Package accesstoken makes and checks access tokens. Only the hash of an opaque token is stored. A JSON Web Token (RFC
// 9068) of a machine is not stored, because it contains the generations of its client, project, user and organizations.
package accesstoken

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/shared/eventcache"
	"herald/shared/fault"
	"herald/shared/resource"
	"herald/shared/secret"
)

// Tokens makes and finds tokens.
type Tokens struct {
	Store    store.Store
	Keys     *signing.Keys
	Upstream *upstream.Services
	Issuer   string
	// Lifetimes returns those of the instance that count now.
	Lifetimes func(context.Context) domain.Lifetimes
	Now       func() time.Time
	// found caches answers of the store. If it is nil, the store is asked each time.
	found *eventcache.Answers[string, domain.Token]
}

// Cached returns tokens for checks, which cache the answers about a token for at most 2 s.
func (t Tokens) Cached(c *eventcache.Changes) Tokens {
	t.Upstream, t.found = t.Upstream.Cached(c), eventcache.NewAnswers[string, domain.Token](c)
	return t
}

// Opaque returns a new opaque access token for scopes of an authorization, and the row to store.
func (t Tokens) Opaque(scopes []string, expires time.Time) (secret.Text, domain.NewToken) {
	text := secret.AccessToken.New()
	return text, domain.NewToken{
		Kind: domain.KindAccess, Hash: secret.Hash(text.Reveal()), Scopes: scopes,
		ExpiresAt: expires,
	}
}

// Refresh returns the row to store of a refresh token for scopes of an authorization.
func (t Tokens) Refresh(text secret.Text, scopes []string, expires time.Time) domain.NewToken {
	return domain.NewToken{
		Kind: domain.KindRefresh, Hash: secret.Hash(text.Reveal()), Scopes: scopes, ExpiresAt: expires,
	}
}

// claims are the claims of a JWT access token (RFC 9068 section 2.2).
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience []string `json:"aud"`
	Expiry   int64    `json:"exp"`
	IssuedAt int64    `json:"iat"`
	ID       string   `json:"jti"`
	ClientID string   `json:"client_id"`
	Scope    string   `json:"scope,omitempty"`
	AuthTime int64    `json:"auth_time"`
	AMR      []string `json:"amr,omitempty"`
	State    state    `json:"herald"`
}

// state is the part of an authorization that only Herald reads.
type state struct {
	// Authorization is its id if it is stored; the fields below are then empty.
	Authorization       string `json:"a,omitempty"`
	UserID              string `json:"u,omitempty"`
	UserGeneration      int64  `json:"ug,omitempty"`
	OrgID               string `json:"o,omitempty"`
	OrgGeneration       int64  `json:"og,omitempty"`
	Credential          string `json:"c,omitempty"`
	ClientGeneration    int64  `json:"cg,omitempty"`
	ProjectID           string `json:"p,omitempty"`
	ProjectGeneration   int64  `json:"pg,omitempty"`
	ClientOrgID         string `json:"co,omitempty"`
	ClientOrgGeneration int64  `json:"cog,omitempty"`
	Grounds             string `json:"g,omitempty"`
}

// JWT returns a new JSON Web Token for scopes of an authorization, with further claims. stored reports whether the
// authorization is in the store.
func (t Tokens) JWT(
	a domain.Authorization, scopes []string, expires time.Time, stored bool, further map[string]any,
) (secret.Text, error) {
	c := claims{
		Issuer: t.Issuer, Subject: a.Subject(), Audience: a.AudienceOf(scopes), ID: resource.NewID(),
		ClientID: a.ClientID, Expiry: expires.Unix(), IssuedAt: t.Now().Unix(),
		Scope: strings.Join(scopes, " "), AuthTime: a.AuthTime.Unix(), AMR: a.AMR, State: state{Authorization: a.ID},
	}
	if !stored {
		c.State = state{
			UserID: a.UserID, UserGeneration: a.UserGeneration, OrgID: a.OrgID, OrgGeneration: a.OrgGeneration,
			Credential: a.Credential, ClientGeneration: a.ClientGeneration, ProjectID: a.ProjectID,
			ProjectGeneration: a.ProjectGeneration, ClientOrgID: a.ClientOrgID,
			ClientOrgGeneration: a.ClientOrgGeneration, Grounds: a.Grounds,
		}
	}
	text, err := t.Keys.Sign(signing.AccessToken(), merged{c, further})
	return secret.NewText(text), err
}

// merged is claims with further ones, as one JSON object.
type merged struct {
	claims
	further map[string]any
}

// MarshalJSON implements json.Marshaler.
func (m merged) MarshalJSON() ([]byte, error) {
	own, err := json.Marshal(m.claims)
	if err != nil || len(m.further) == 0 {
		return own, err
	}
	further, err := json.Marshal(m.further)
	if err != nil {
		return nil, err
	}
	return append(append(own[:len(own)-1], ','), further[1:]...), nil
}

// Find returns an access token of either kind with its authorization. It returns fault.ErrUnauthenticated for one that
// is unknown, has expired or was revoked. Check reports whether everything on which it depends is still active.
func (t Tokens) Find(ctx context.Context, text string) (domain.Token, error) {
	if secret.AccessToken.WellFormed(text) {
		return t.findOpaque(ctx, secret.Hash(text))
	}
	return t.findJWT(ctx, text)
}

func (t Tokens) findOpaque(ctx context.Context, hash []byte) (domain.Token, error) {
	found, err := t.found.Ask(string(hash), func() (domain.Token, []eventcache.Subject, error) {
		found, err := t.Store.Token(ctx, domain.KindAccess, hash)
		return found, about(found.Authorization), err
	})
	if err == nil && !found.TokenExpiresAt.After(t.Now()) {
		err = fault.ErrUnauthenticated
	}
	return found, err
}

// about returns the objects whose changes may end a token.
func about(a domain.Authorization) []eventcache.Subject {
	if !a.OfApplication() {
		return []eventcache.Subject{eventcache.User(a.UserID)}
	}
	return []eventcache.Subject{
		eventcache.User(a.UserID), eventcache.Application(a.ClientID), eventcache.Project(a.ProjectID),
	}
}

func (t Tokens) findJWT(ctx context.Context, text string) (domain.Token, error) {
	payload, err := t.Keys.Verify(signing.AccessToken(), text)
	if err != nil {
		return domain.Token{}, fault.ErrUnauthenticated.Because(err)
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return domain.Token{}, fault.ErrUnauthenticated.Because(err)
	}
	if c.Issuer != t.Issuer || t.Now().Unix() >= c.Expiry {
		return domain.Token{}, fault.ErrUnauthenticated
	}
	return t.found.Ask("jwt "+c.ID, func() (domain.Token, []eventcache.Subject, error) {
		a, err := t.authorization(ctx, c)
		return domain.Token{
			Authorization: a, JTI: c.ID, TokenScopes: strings.Fields(c.Scope), IssuedAt: time.Unix(c.IssuedAt, 0),
			TokenExpiresAt: time.Unix(c.Expiry, 0),
		}, about(a), err
	})
}

func (t Tokens) authorization(ctx context.Context, c claims) (domain.Authorization, error) {
	if c.State.Authorization != "" {
		return t.Store.AuthorizationOfJWT(ctx, c.State.Authorization, c.ID)
	}
	s := c.State
	a := domain.Authorization{
		ClientID: c.ClientID, ClientGeneration: s.ClientGeneration, ProjectID: s.ProjectID,
		ProjectGeneration: s.ProjectGeneration, ClientOrgID: s.ClientOrgID, ClientOrgGeneration: s.ClientOrgGeneration,
		UserID: s.UserID, UserGeneration: s.UserGeneration, OrgID: s.OrgID, OrgGeneration: s.OrgGeneration,
		Scopes: strings.Fields(c.Scope), Audience: c.Audience, AuthTime: time.Unix(c.AuthTime, 0), AMR: c.AMR,
		Credential: s.Credential, Grounds: s.Grounds, ExpiresAt: time.Unix(c.Expiry, 0),
	}
	revoked, err := t.Store.Revoked(ctx, c.ID)
	if err == nil && revoked {
		err = fault.ErrUnauthenticated
	}
	return a, err
}
