package upstream

import (
	"herald/services/auth/internal/domain"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

func application(r *projectsv1.ResolveClientResponse) domain.Client {
	p := r.GetProject()
	c := domain.Client{
		ID: r.App.GetId(), Name: r.App.GetName(), OrgID: r.OrgId, Generation: int64(r.Generation),
		Active: r.App.GetState() == projectsv1.AppState_APP_STATE_ACTIVE &&
			p.GetState() == projectsv1.ProjectState_PROJECT_STATE_ACTIVE,
		Project:       project(p),
		SecretMatches: r.SecretMatches, PublicKey: r.PublicKey, Credential: r.Credential,
	}
	c.Project.Generation = int64(r.ProjectGeneration)
	if api := r.App.GetApiConfig(); api != nil {
		c.API, c.Grants = true, []domain.GrantType{domain.GrantCredentials}
		c.Methods = bySecret
		if api.AuthMethodType == projectsv1.ApiAuthMethodType_API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT {
			c.Methods = []domain.AuthMethod{domain.AuthPrivateKeyJWT}
		}
		return c
	}
	configure(&c, r.App.GetOidcConfig())
	return c
}

// project returns a project without its generation.
func project(p *projectsv1.Project) domain.Project {
	return domain.Project{
		ID: p.GetId(), Name: p.GetName(), OrgID: p.GetDetails().GetResourceOwner(),
		RoleAssertion: p.GetProjectRoleAssertion(), RoleCheck: p.GetProjectRoleCheck(),
		GrantCheck: p.GetHasProjectCheck(), Branding: int32(p.GetPrivateLabelingSetting()),
	}
}

func access(r *projectsv1.ResolveAccessResponse) domain.Access {
	return domain.Access{
		Project: project(r.Project), OrgHasProject: r.OrgHasProject, Grounds: r.Grounds,
		Roles: search.Each(r.Roles, func(g *projectsv1.GrantedRole) domain.GrantedRole {
			return domain.GrantedRole{Key: g.Key, OrgID: g.OrgId}
		}),
	}
}

// configure sets the fields that the owner of an OpenID Connect application has configured.
func configure(c *domain.Client, o *projectsv1.OidcConfig) {
	c.Methods = methods[o.GetAuthMethodType()]
	for _, g := range o.GetGrantTypes() {
		c.Grants = append(c.Grants, grants[g])
	}
	c.Native = o.GetAppType() == projectsv1.OidcAppType_OIDC_APP_TYPE_NATIVE
	c.RedirectURIs, c.PostLogoutRedirectURIs = o.GetRedirectUris(), o.GetPostLogoutRedirectUris()
	c.BackChannelLogoutURI, c.Origins = o.GetBackChannelLogoutUri(), o.GetAdditionalOrigins()
	c.JWT = o.GetAccessTokenType() == heraldv1.OidcTokenType_OIDC_TOKEN_TYPE_JWT
	c.AccessTokenRoleAssertion, c.IDTokenRoleAssertion = o.GetAccessTokenRoleAssertion(), o.GetIdTokenRoleAssertion()
	c.Trusted = o.GetTrusted()
	c.IDTokenUserinfoAssertion, c.ClockSkew = o.GetIdTokenUserinfoAssertion(), o.GetClockSkew().AsDuration()
	c.RolesClaim = o.GetRolesClaim()
	c.Lifetimes = domain.Lifetimes{
		Access: o.GetAccessTokenLifetime().AsDuration(), Refresh: o.GetRefreshTokenExpiration().AsDuration(),
		RefreshIdle: o.GetRefreshTokenIdleExpiration().AsDuration(),
	}
}

// bySecret are the methods of a client with a secret. Libraries choose one of them without asking the client's owner,
// so all that have a secret may use both.
var bySecret = []domain.AuthMethod{domain.AuthBasic, domain.AuthPost}

var methods = map[projectsv1.OidcAuthMethodType][]domain.AuthMethod{
	projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_BASIC:           bySecret,
	projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_POST:            bySecret,
	projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_NONE:            {domain.AuthNone},
	projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT: {domain.AuthPrivateKeyJWT},
}

var grants = map[projectsv1.OidcGrantType]domain.GrantType{
	projectsv1.OidcGrantType_OIDC_GRANT_TYPE_AUTHORIZATION_CODE: domain.GrantCode,
	projectsv1.OidcGrantType_OIDC_GRANT_TYPE_REFRESH_TOKEN:      domain.GrantRefresh,
	projectsv1.OidcGrantType_OIDC_GRANT_TYPE_DEVICE_CODE:        domain.GrantDevice,
}

func subject(id string, r *usersv1.ResolveSubjectResponse) domain.Subject {
	s := domain.Subject{
		ID: id, OrgID: r.OrgId, Active: r.State == usersv1.UserState_USER_STATE_ACTIVE,
		Human: r.Type == usersv1.UserType_USER_TYPE_HUMAN, Generation: int64(r.Generation),
		Orgs: map[string]domain.Org{}, Credential: r.Credential, PublicKey: r.PublicKey,
		JWT: r.AccessTokenType == heraldv1.OidcTokenType_OIDC_TOKEN_TYPE_JWT, Manages: r.Manages,
	}
	for _, o := range r.Orgs {
		s.Orgs[o.Id] = domain.Org{ID: o.Id, Name: o.Name, PrimaryDomain: o.PrimaryDomain,
			Active: o.State == usersv1.OrgState_ORG_STATE_ACTIVE, Generation: int64(o.Generation)}
	}
	if r.User != nil {
		s.Profile = profile(r.User)
	}
	return s
}

func profile(u *usersv1.User) domain.Profile {
	p := domain.Profile{UserName: u.PreferredLoginName, UpdatedAt: u.Details.GetChangeDate().AsTime()}
	if m := u.GetMachine(); m != nil {
		p.Name = m.Name
		return p
	}
	h := u.GetHuman()
	p.Name, p.GivenName = h.GetProfile().GetDisplayName(), h.GetProfile().GetFirstName()
	p.FamilyName, p.Nickname = h.GetProfile().GetLastName(), h.GetProfile().GetNickName()
	p.Gender, p.Locale = genders[h.GetProfile().GetGender()], h.GetProfile().GetPreferredLanguage()
	p.Email, p.EmailVerified = h.GetEmail().GetEmail(), h.GetEmail().GetIsEmailVerified()
	p.Phone, p.PhoneVerified = h.GetPhone().GetPhone(), h.GetPhone().GetIsPhoneVerified()
	return p
}

var genders = map[usersv1.Gender]string{
	usersv1.Gender_GENDER_FEMALE:  "female",
	usersv1.Gender_GENDER_MALE:    "male",
	usersv1.Gender_GENDER_DIVERSE: "diverse",
}

// machine returns a machine user as a client.
func machine(s domain.Subject) domain.Client {
	return domain.Client{
		ID: s.ID, OrgID: s.OrgID, Active: s.Active, Grants: []domain.GrantType{domain.GrantCredentials},
		Methods: bySecret, JWT: s.JWT,
		SecretMatches: s.Credential != "" && s.PublicKey == nil, Machine: &s,
	}
}
