// Package claims makes the claims of users: for tokens, userinfo and introspection.
package claims

import (
	"context"
	"maps"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/upstream"
)

// Claims returns the claims of users.
type Claims struct{ Upstream *upstream.Services }

// Userinfo returns the claims of userinfo for the scopes of a token, without sub. The client is empty unless it is an
// application. The subject has a profile.
func (c Claims) Userinfo(
	ctx context.Context, client domain.Client, s domain.Subject, scopes []string,
) (domain.Claims, error) {
	roles, err := c.roles(ctx, client.Project.ID, s, scopes, client.Project.RoleAssertion)
	return joined(domain.UserClaims(s, scopes), domain.OrgClaims(s, scopes), roles), err
}

// Introspection returns the claims that a client who introspects a token gets beside those of RFC 7662. The roles are
// those on the client's own project.
func (c Claims) Introspection(
	ctx context.Context, client domain.Client, s domain.Subject, scopes []string,
) (domain.Claims, error) {
	roles, err := c.roles(ctx, client.Project.ID, s, scopes, client.Project.RoleAssertion)
	return joined(domain.OrgClaims(s, scopes), roles), err
}

// IDToken returns the claims of an id token beside those of OpenID Connect Core section 2: roles, and with
// idTokenUserinfoAssertion all claims of userinfo. The subject then has a profile.
func (c Claims) IDToken(
	ctx context.Context, client domain.Client, s domain.Subject, scopes []string,
) (domain.Claims, error) {
	roles, err := c.roles(ctx, client.Project.ID, s, scopes, client.IDTokenRoleAssertion)
	if !client.IDTokenUserinfoAssertion {
		return roles, err
	}
	return joined(domain.UserClaims(s, scopes), domain.OrgClaims(s, scopes), roles), err
}

// AccessToken returns the claims of a JWT access token beside those of RFC 9068: roles.
func (c Claims) AccessToken(
	ctx context.Context, client domain.Client, s domain.Subject, scopes []string,
) (domain.Claims, error) {
	return c.roles(ctx, client.Project.ID, s, scopes, client.AccessTokenRoleAssertion)
}

// roles returns the claim with those of a user's roles on a project that scopes ask for, or all if they are asserted.
// It asks no service if no scope asks for roles and none are asserted.
func (c Claims) roles(
	ctx context.Context, projectID string, s domain.Subject, scopes []string, asserted bool,
) (domain.Claims, error) {
	if projectID == "" || s.ID == "" || !asserted && len(domain.AskedRoles(scopes)) == 0 {
		return domain.Claims{}, nil
	}
	access, err := c.Upstream.Access(ctx, projectID, s.ID, s.OrgID)
	if err != nil {
		return nil, err
	}
	roles := access.RolesFor(scopes, asserted)
	orgs := maps.Clone(s.Orgs)
	var others []string
	for _, r := range roles {
		if _, known := orgs[r.OrgID]; !known {
			others = append(others, r.OrgID)
		}
	}
	if len(others) > 0 {
		further, err := c.Upstream.Orgs(ctx, others...)
		if err != nil {
			return nil, err
		}
		maps.Copy(orgs, further)
	}
	return domain.RoleClaims(roles, orgs), nil
}

func joined(all ...domain.Claims) domain.Claims {
	out := domain.Claims{}
	for _, c := range all {
		maps.Copy(out, c)
	}
	return out
}
