package token

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
	"herald/services/auth/internal/upstream"
	"herald/shared/resource"
)

// credentials gives a client a token of its own (RFC 6749 section 4.4): a machine user by its secret, or an application
// that only checks tokens. There is no refresh token (section 4.4.3).
func (e *Endpoint) credentials(ctx context.Context, f protocol.Form, c domain.Client) (granted, error) {
	if c.Machine != nil {
		return e.machine(ctx, f, *c.Machine)
	}
	orgs, err := e.Upstream.Orgs(ctx, c.OrgID)
	if err != nil {
		return granted{}, err
	}
	a, err := e.login(ctx, f, c.OrgID)
	if err != nil {
		return granted{}, err
	}
	a.ClientID, a.ClientGeneration, a.ClientOrgID = c.ID, c.Generation, c.OrgID
	a.ClientOrgGeneration = orgs[c.OrgID].Generation
	a.ProjectID, a.ProjectGeneration, a.Credential = c.Project.ID, c.Project.Generation, c.Credential
	a.Audience = domain.Audience(c.ID, c.Project.ID, a.Scopes)
	if !a.Alive(c, domain.Subject{Orgs: orgs}) {
		return granted{}, domain.ErrInvalidClient.Say("the organization of the client is not active")
	}
	err = e.Upstream.Admit(ctx, c.Project, &a)
	return granted{Authorization: a, Scopes: a.Scopes, JWT: c.JWT, lifetimes: e.Tokens.Lifetimes(ctx)}, err
}

// assertion gives a machine user a token for a JWT that one of its keys has signed (RFC 7523 section 2.1).
func (e *Endpoint) assertion(ctx context.Context, f protocol.Form, _ domain.Client) (granted, error) {
	text, err := f.Needed("assertion")
	if err != nil {
		return granted{}, err
	}
	read, err := protocol.ParseAssertion(text)
	if err != nil {
		return granted{}, err
	}
	// A user's id may have been chosen equal to the id of an application. The application is then found.
	found, err := e.Upstream.Client(ctx, read.Issuer, upstream.Proof{KeyID: read.KeyID})
	if errors.Is(err, upstream.ErrNoClient) || err == nil && found.Machine == nil {
		return granted{}, domain.ErrInvalidGrant.Say("the assertion: there is no such user or key")
	}
	if err != nil {
		return granted{}, err
	}
	user := *found.Machine
	checked, err := read.Verify(user.PublicKey)
	if err != nil {
		return granted{}, err
	}
	if err := checked.Check(user.ID, []string{e.Issuer, e.Issuer + Path}, false, e.Now()); err != nil {
		return granted{}, err
	}
	// golang.org/x/oauth2 and clients that were written for Google's service accounts send the scope in the assertion.
	f["scope"] = cmp.Or(f["scope"], checked.Scope)
	g, err := e.machine(ctx, f, user)
	g.Use = checked.Use()
	return g, err
}

// machine gives a machine user that has authenticated a token of its own.
func (e *Endpoint) machine(ctx context.Context, f protocol.Form, user domain.Subject) (granted, error) {
	a, err := e.login(ctx, f, user.OrgID)
	if err != nil {
		return granted{}, err
	}
	a.ClientID, a.UserID, a.UserGeneration, a.Credential = user.ID, user.ID, user.Generation, user.Credential
	a.OrgID, a.OrgGeneration = user.OrgID, user.Orgs[user.OrgID].Generation
	a.Audience = domain.Audience(user.ID, "", a.Scopes)
	if !a.Alive(domain.Client{}, user) {
		return granted{}, domain.ErrInvalidGrant.Say("the user or the organization is not active")
	}
	err = e.Upstream.Admit(ctx, domain.Project{}, &a)
	return granted{Authorization: a, Scopes: a.Scopes, JWT: user.JWT, lifetimes: e.Tokens.Lifetimes(ctx),
		user: user}, err
}

// login returns the authorization of a machine that authenticates now. Its scopes are those of the request without the
// one that asks for a refresh token. It refuses a scope with another organization than the machine's.
func (e *Endpoint) login(ctx context.Context, f protocol.Form, orgID string) (domain.Authorization, error) {
	targets, err := f.Targets()
	if err != nil {
		return domain.Authorization{}, err
	}
	scopes, err := domain.Scopes(f["scope"], targets...)
	if err != nil {
		return domain.Authorization{}, err
	}
	asked, err := domain.AskedOrg(scopes)
	if err != nil {
		return domain.Authorization{}, err
	}
	if asked != "" && asked != orgID {
		return domain.Authorization{}, domain.ErrInvalidScope.Say(
			"scope: the user or application belongs to another organization")
	}
	scopes = slices.DeleteFunc(scopes, func(s string) bool { return s == domain.ScopeOfflineAccess })
	now := e.Now()
	return domain.Authorization{ID: resource.NewID(), Scopes: scopes, Targets: targets, AuthTime: now, AMR: []string{},
		ExpiresAt: e.Tokens.Lifetimes(ctx).Begins(now, false)}, nil
}
