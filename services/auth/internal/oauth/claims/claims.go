// Package claims makes the claims of users: for tokens, userinfo and introspection.
package claims

import (
	"context"
	"maps"
	"slices"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/upstream"
)

// Claims returns the claims of users.
type Claims struct{ Upstream *upstream.Services }

// Userinfo returns the claims of userinfo for the scopes of a token, without sub. The client is empty unless it is an
// application. The subject has a profile.
func (c Claims) Userinfo(
	ctx context.Context, client domain.Client, s domain.Subject, t domain.Token,
) (domain.Claims, error) {
	roles, err := c.roles(ctx, client, s, t.Authorization, t.TokenScopes, false)
	return joined(domain.UserClaims(s, t.TokenScopes), domain.OrgClaims(s, t.TokenScopes), roles), err
}

// Introspection returns the claims that a client who introspects a token gets beside those of RFC 7662. The roles
// without the id of a project are those on the client's own.
func (c Claims) Introspection(
	ctx context.Context, client domain.Client, s domain.Subject, t domain.Token,
) (domain.Claims, error) {
	roles, err := c.roles(ctx, client, s, t.Authorization, t.TokenScopes, false)
	return joined(domain.OrgClaims(s, t.TokenScopes), roles), err
}

// IDToken returns the claims of an id token beside those of OpenID Connect Core section 2: roles, and with
// idTokenUserinfoAssertion, which is the default, all claims of userinfo. The subject then has a profile.
func (c Claims) IDToken(
	ctx context.Context, client domain.Client, s domain.Subject, a domain.Authorization, scopes []string,
) (domain.Claims, error) {
	roles, err := c.roles(ctx, client, s, a, scopes, client.IDTokenRoleAssertion)
	if !client.IDTokenUserinfoAssertion {
		return roles, err
	}
	return joined(domain.UserClaims(s, scopes), domain.OrgClaims(s, scopes), roles), err
}

// AccessToken returns the claims of a JWT access token beside those of RFC 9068: roles. The client is empty unless it
// is an application.
func (c Claims) AccessToken(
	ctx context.Context, client domain.Client, s domain.Subject, a domain.Authorization, scopes []string,
) (domain.Claims, error) {
	return c.roles(ctx, client, s, a, scopes, client.AccessTokenRoleAssertion)
}

// roles returns the claims with a user's roles: the roles on the client's own project, and those on each project of the
// scopes' audience with the project's id. They are those that scopes ask for, and all of projects that assert them, or
// of all projects. A flat list of roles comes with the scope that asks for it. It asks no service if there is nothing
// to add.
func (c Claims) roles(ctx context.Context, client domain.Client, s domain.Subject, a domain.Authorization,
	scopes []string, all bool,
) (domain.Claims, error) {
	asserts := func(p domain.Project) bool { return all || p.RoleAssertion }
	own, named, groups := client.Project, domain.NamedProjects(scopes, a.ProjectID), domain.AsksGroups(scopes)
	asked := groups || len(domain.AskedRoles(scopes)) > 0
	if s.ID == "" || len(named) == 0 && (own.ID == "" || !asserts(own) && !asked) {
		return domain.Claims{}, nil
	}
	reach, err := c.Upstream.Reach(ctx, a)
	if err != nil {
		return nil, err
	}
	reach = reach.Only(named)
	shown := reach.For(scopes, asserts)
	orgs, err := c.orgs(ctx, s, shown)
	if err != nil {
		return nil, err
	}
	claims := shown.RoleClaims(own.ID, orgs)
	if groups {
		maps.Copy(claims, reach.Groups(client))
	}
	return claims, nil
}

// orgs returns the organizations of a user, and those that gave them roles.
func (c Claims) orgs(ctx context.Context, s domain.Subject, reach domain.Reach) (map[string]domain.Org, error) {
	orgs := maps.Clone(s.Orgs)
	var others []string
	for _, access := range reach.All() {
		for _, r := range access.Roles {
			if _, known := orgs[r.OrgID]; !known && !slices.Contains(others, r.OrgID) {
				others = append(others, r.OrgID)
			}
		}
	}
	if len(others) == 0 {
		return orgs, nil
	}
	further, err := c.Upstream.Orgs(ctx, others...)
	maps.Copy(orgs, further)
	return orgs, err
}

func joined(all ...domain.Claims) domain.Claims {
	out := domain.Claims{}
	for _, c := range all {
		maps.Copy(out, c)
	}
	return out
}
