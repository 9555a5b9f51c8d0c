package token

import (
	"context"
	"errors"
	"slices"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/secret"
)

// code gives the tokens of a person's login for its code (RFC 6749 section 4.1.3).
func (e *Endpoint) code(ctx context.Context, f protocol.Form, c domain.Client) (granted, error) {
	text, err := f.Needed("code")
	if err != nil {
		return granted{}, err
	}
	hash := secret.Hash(text)
	stored, err := e.Store.Code(ctx, hash)
	if err != nil {
		return granted{}, unknown(err, "the code is unknown, has expired, or has ended, as after a request "+
			"with another redirect_uri or code_verifier: send the user to the authorization endpoint again")
	}
	misused := authv1.AuthorizationEnd_AUTHORIZATION_END_CODE_MISUSED
	err = stored.Redeem(c.ID, f["redirect_uri"], f["code_verifier"], e.Now())
	if err != nil {
		return granted{}, e.misuse(ctx, stored.Authorization, misused, err)
	}
	scopes, err := narrowed(f, stored.Authorization, stored.Scopes, "")
	if err != nil {
		return granted{}, err
	}
	g, err := e.person(ctx, stored.Authorization, scopes)
	if err != nil {
		return granted{}, err
	}
	g.nonce = stored.Nonce
	g.begins(c, e.Now())
	g.save = func(ctx context.Context, tokens []domain.NewToken) error {
		return e.misuse(ctx, g.Authorization, misused, e.Store.Redeem(ctx, g.Authorization, hash, tokens))
	}
	return g, nil
}

// unknown returns the refusal of a code or token that the store does not know. It returns other errors as they are.
func unknown(err error, description string) error {
	if errors.Is(err, domain.ErrUnknown) {
		return domain.ErrInvalidGrant.Say(description)
	}
	return err
}

// begins sets how long a new authorization lasts. It lasts longer with a refresh token, which the client gets if the
// person lets it act in their absence.
func (g *granted) begins(c domain.Client, now time.Time) {
	all := g.Authorization.Scopes
	refreshed := slices.Contains(all, domain.ScopeOfflineAccess) && c.MayUse(domain.GrantRefresh)
	g.ExpiresAt = g.lifetimes.Begins(now, refreshed)
	if refreshed {
		g.next, g.refresh = secret.RefreshToken.New(), all
	}
}

// refresh gives new tokens for a refresh token, which it replaces (RFC 6749 section 6, RFC 9700 section 4.14.2). Uses
// within domain.RefreshRetry get the same successor.
func (e *Endpoint) refresh(ctx context.Context, f protocol.Form, c domain.Client) (granted, error) {
	text, err := f.Needed("refresh_token")
	if err != nil {
		return granted{}, err
	}
	hash := secret.Hash(text)
	stored, err := e.Store.RefreshToken(ctx, hash)
	if err != nil {
		return granted{}, unknown(err, "the refresh token is unknown, has expired, or its login has ended: "+
			"send the user to the authorization endpoint again")
	}
	misused := authv1.AuthorizationEnd_AUTHORIZATION_END_REFRESH_TOKEN_MISUSED
	if err := stored.Redeem(c.ID); err != nil {
		return granted{}, e.misuse(ctx, stored.Authorization, misused, err)
	}
	scopes, err := narrowed(f, stored.Authorization, stored.TokenScopes, f["scope"])
	if err != nil {
		return granted{}, err
	}
	g, err := e.person(ctx, stored.Authorization, scopes)
	if err != nil {
		return granted{}, err
	}
	g.next, g.refresh = stored.Successor(text), stored.TokenScopes
	g.save = func(ctx context.Context, tokens []domain.NewToken) error {
		return e.misuse(ctx, g.Authorization, misused, e.Store.Rotate(ctx, g.Authorization, hash, tokens))
	}
	return g, nil
}

// narrowed returns the scopes of the access token for a request: those that were granted, or the fewer ones that it
// asks for, and only the projects that it names by resource.
func narrowed(f protocol.Form, a domain.Authorization, granted []string, asked string) ([]string, error) {
	targets, err := f.Targets()
	if err != nil {
		return nil, err
	}
	return domain.Narrow(granted, asked, targets, a.ProjectID)
}

// person gives tokens of a person's login if everything on which they depend is active, and the person may get tokens
// of the project and has agreed.
func (e *Endpoint) person(ctx context.Context, a domain.Authorization, scopes []string) (granted, error) {
	client, user, err := e.Tokens.Alive(ctx, a)
	if errors.Is(err, fault.ErrUnauthenticated) {
		return granted{}, domain.ErrInvalidGrant.Say(
			"the user, the client or an organization is not active, or changed")
	}
	if err != nil {
		return granted{}, err
	}
	if err := e.Upstream.Admit(ctx, client.Project, new(a)); err != nil { // the grounds stay those of the login
		return granted{}, err
	}
	err = e.Tokens.Consents().Stands(ctx, a)
	if errors.Is(err, fault.ErrUnauthenticated) {
		return granted{}, domain.ErrInvalidGrant.Say("the user has to agree again, or a grant of " +
			"a project ended: send them to the authorization endpoint")
	}
	if err != nil {
		return granted{}, err
	}
	return granted{
		Authorization: a, Scopes: scopes, JWT: client.JWT, lifetimes: e.Tokens.Lifetimes(ctx).Of(client),
		client: client, user: user,
	}, nil
}

// misuse ends the authorization if a refusal says that its code or refresh token was misused. It returns the refusal.
func (e *Endpoint) misuse(
	ctx context.Context, a domain.Authorization, reason authv1.AuthorizationEnd, refused error,
) error {
	refusal, ok := errors.AsType[*domain.Refusal](refused)
	if !ok || !refusal.Misuse() {
		return refused
	}
	e.Log.WarnContext(ctx, "a login was ended because its code or refresh token was misused", "client", a.ClientID,
		"user", a.UserID, "reason", refusal.Description)
	// The authorization ends even if the sender closes the connection.
	err := e.Store.End(context.WithoutCancel(ctx), a, &authv1.AuthorizationEnded{
		UserId: a.UserID, ClientId: a.ClientID, By: reason,
	})
	if err != nil {
		return err
	}
	return refused
}
