package domain

import (
	"cmp"
	"slices"
	"time"
)

// Profile is the data of a user for the claims of userinfo. A machine user has only a Name.
type Profile struct {
	UserName                    string
	Name, GivenName, FamilyName string
	Nickname                    string
	Gender                      string // female, male or diverse; empty if not known
	Locale                      string
	Email                       string
	EmailVerified               bool
	Phone                       string
	PhoneVerified               bool
	UpdatedAt                   time.Time
}

// The claims with organizations and roles. The claim with the roles on one project has the project's id before its last
// word.
const (
	ClaimResourceOwner = "urn:service:iam:user:resourceowner:"
	ClaimRoles         = "urn:service:iam:org:project:roles"
	claimRolesPrefix   = "urn:service:iam:org:project:"
	// claimGroups is the usual name of the flat list of roles.
	claimGroups = "groups"
)

// ClaimsSupported returns the names of all claims about users.
func ClaimsSupported() []string {
	return []string{"sub", "name", "given_name", "family_name", "nickname", "preferred_username", "gender", "locale",
		"updated_at", "email", "email_verified", "phone_number", "phone_number_verified", ClaimResourceOwner + "id",
		ClaimResourceOwner + "name", ClaimResourceOwner + "primary_domain", ClaimRoles, claimGroups}
}

// Claims are members of a token, or of an answer about a token.
type Claims map[string]any

// set adds a claim that has a value.
func (c Claims) set(name, value string) {
	if value != "" {
		c[name] = value
	}
}

// UserClaims returns what scopes allow a client to know of a user (OpenID Connect Core section 5.4), without sub. The
// subject has a profile.
func UserClaims(s Subject, scopes []string) Claims {
	c, p := Claims{}, s.Profile
	if slices.Contains(scopes, ScopeProfile) {
		c.set("name", p.Name)
		c.set("given_name", p.GivenName)
		c.set("family_name", p.FamilyName)
		c.set("nickname", p.Nickname)
		c.set("preferred_username", p.UserName)
		c.set("gender", p.Gender)
		c.set("locale", p.Locale)
		c["updated_at"] = p.UpdatedAt.Unix()
	}
	if slices.Contains(scopes, ScopeEmail) && p.Email != "" {
		c["email"], c["email_verified"] = p.Email, p.EmailVerified
	}
	if slices.Contains(scopes, ScopePhone) && p.Phone != "" {
		c["phone_number"], c["phone_number_verified"] = p.Phone, p.PhoneVerified
	}
	return c
}

// OrgClaims returns the organization of a user if a scope asks for it.
func OrgClaims(s Subject, scopes []string) Claims {
	c := Claims{}
	if s.OrgID != "" && slices.Contains(scopes, ScopeResourceOwner) {
		org := s.Orgs[s.OrgID]
		c[ClaimResourceOwner+"id"] = org.ID
		c[ClaimResourceOwner+"name"] = org.Name
		c[ClaimResourceOwner+"primary_domain"] = org.PrimaryDomain
	}
	return c
}

// For returns those of a user's roles that scopes ask for, or all of projects that assert them.
func (r Reach) For(scopes []string, asserts func(Project) bool) Reach {
	asked := AskedRoles(scopes)
	only := func(a Access) Access {
		if !asserts(a.Project) {
			a.Roles = slices.DeleteFunc(slices.Clone(a.Roles), func(r GrantedRole) bool {
				return !slices.Contains(asked, r.Key)
			})
		}
		return a
	}
	chosen := Reach{Own: only(r.Own)}
	for _, a := range r.Named {
		chosen.Named = append(chosen.Named, only(a))
	}
	return chosen
}

// Groups returns a claim with the keys of a user's roles on the client's own project. It is a flat list, which most
// applications can read, and says neither the project nor the organization. So it has no roles on another project: they
// would look like those on the own. Without a project of its own, as a machine user, the client gets those on the
// project that it named. Without one, or with several, there is no claim.
func (r Reach) Groups(c Client) Claims {
	a := r.On(c.Project.ID)
	if c.Project.ID == "" {
		if len(r.Named) != 1 {
			return Claims{}
		}
		a = r.Named[0]
	}
	keys := []string{}
	for _, role := range a.Roles {
		keys = append(keys, role.Key)
	}
	slices.Sort(keys)
	return Claims{cmp.Or(c.RolesClaim, claimGroups): slices.Compact(keys)}
}

// RoleClaims returns a claim with roles for each project, and ClaimRoles for the project own: for each role, the
// organizations that gave it, with their primary domains. Without a role there is no claim.
func (r Reach) RoleClaims(own string, orgs map[string]Org) Claims {
	claims := Claims{}
	for _, a := range r.All() {
		if len(a.Roles) == 0 {
			continue
		}
		claim := map[string]map[string]string{}
		for _, r := range a.Roles {
			if claim[r.Key] == nil {
				claim[r.Key] = map[string]string{}
			}
			claim[r.Key][r.OrgID] = orgs[r.OrgID].PrimaryDomain
		}
		claims[claimRolesPrefix+a.Project.ID+":roles"] = claim
		if a.Project.ID == own {
			claims[ClaimRoles] = claim
		}
	}
	return claims
}
