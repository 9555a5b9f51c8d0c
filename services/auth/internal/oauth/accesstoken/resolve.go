package accesstoken

import (
	"context"

	"golang.org/x/sync/errgroup"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/upstream"
	"herald/shared/caller"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Resolver has the service's methods for the gateway.
type Resolver struct{ Tokens Tokens }

// ResolveToken returns the caller whose access token it is, with roles as they are now. It returns
// fault.ErrTokenInvalid for every token that is not valid, and for one of an application that logged in by itself: an
// application cannot call the API.
func (r Resolver) ResolveToken(
	ctx context.Context, in *authv1.ResolveTokenRequest,
) (*authv1.ResolveTokenResponse, error) {
	token, err := r.Tokens.given(ctx, in)
	if err != nil {
		return nil, invalid(err)
	}
	if token.UserID == "" {
		return nil, fault.ErrTokenInvalid
	}
	var (
		g      errgroup.Group
		found  *usersv1.ResolveTokenResponse
		client domain.Client
	)
	if token.OfApplication() {
		g.Go(func() (err error) {
			client, err = r.Tokens.Upstream.Application(ctx, token.ClientID, upstream.Proof{})
			if err == nil && !token.AliveAt(client) {
				err = fault.ErrTokenInvalid
			}
			if err == nil {
				err = r.Tokens.Consents().Admits(ctx, client.Project, token.Authorization)
			}
			return gone(err)
		})
	}
	g.Go(func() error { return r.Tokens.Consents().Stands(ctx, token.Authorization) })
	g.Go(func() (err error) {
		found, err = r.Tokens.Upstream.Users.ResolveCaller(ctx, &usersv1.ResolveCallerRequest{
			Subject: checked(token.Authorization), OrgId: in.OrgId,
		})
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, invalid(err)
	}
	c := caller.FromProto(found.Caller)
	c.Scopes, c.AuthenticatedAt, c.Credential = token.TokenScopes, token.AuthTime, token.Credential
	if token.OfApplication() {
		c.ClientID, c.ClientProjectID, c.AuthorizationID = token.ClientID, token.ProjectID, token.Authorization.ID
		c.ClientTrusted = client.Trusted && token.Trusted
	}
	return &authv1.ResolveTokenResponse{Caller: c.Proto(), Origins: client.WebOrigins(), ProjectIds: token.Named()}, nil
}

// given returns the token of a request.
func (t Tokens) given(ctx context.Context, r *authv1.ResolveTokenRequest) (domain.Token, error) {
	if jwt := r.GetJwt(); jwt != "" {
		return t.findJWT(ctx, jwt)
	}
	return t.Store.Token(ctx, domain.KindAccess, r.GetTokenHash())
}

// checked returns the properties of a token's user that the service users checks.
func checked(a domain.Authorization) *usersv1.CheckedSubject {
	s := &usersv1.CheckedSubject{UserId: a.UserID, Generation: uint64(a.UserGeneration), Credential: a.Credential,
		NoManager: a.ByTrust,
		Orgs:      []*usersv1.CheckedOrg{{Id: a.OrgID, Generation: uint64(a.OrgGeneration)}}}
	if a.OfApplication() {
		s.Orgs = append(s.Orgs, &usersv1.CheckedOrg{Id: a.ClientOrgID, Generation: uint64(a.ClientOrgGeneration)})
	}
	return s
}

// invalid returns the same fault for everything that makes a token invalid.
func invalid(err error) error {
	if fault.From(err).Code == fault.Unauthenticated {
		return fault.ErrTokenInvalid.Because(err)
	}
	return err
}
