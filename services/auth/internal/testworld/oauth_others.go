package testworld

import (
	"context"
	"maps"
	"sync"

	"herald/shared/gen/fault/projectsfault"
	"herald/shared/gen/fault/usersfault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// Others is what the stand-ins for projects and users have. OAuth.Change changes it.
type Others struct {
	mu sync.Mutex
	// Apps are the applications of the organization o2 by their ids. Their secret is "secret".
	Apps map[string]*projectsv1.ResolveClientResponse
	// Access is what Ada has on their project.
	Access *projectsv1.ResolveAccessResponse
	// Ada is the user "ada" of the organization o1. Bob, the user "bob", is like her.
	Ada  *usersv1.ResolveSubjectResponse
	Orgs map[string]*usersv1.SubjectOrg
	// Asked is called before an answer about a user, if it is not nil.
	Asked func()
}

// NewOthers returns a project that is granted to the organization of Ada, with these applications: web uses basic
// authentication and has all grants of logins, and other is like it; the names of post, spa, jwt and native say how
// they differ.
func NewOthers() *Others {
	active := usersv1.OrgState_ORG_STATE_ACTIVE
	return &Others{
		Access: &projectsv1.ResolveAccessResponse{OrgHasProject: true},
		Apps: map[string]*projectsv1.ResolveClientResponse{
			"web": app("web", func(*projectsv1.OidcConfig) {}), "other": app("other", func(*projectsv1.OidcConfig) {}),
			"post": app("post", func(o *projectsv1.OidcConfig) {
				o.AuthMethodType = projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_POST
			}),
			"spa": app("spa", func(o *projectsv1.OidcConfig) {
				o.AuthMethodType = projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_NONE
			}),
			"jwt": app("jwt", func(o *projectsv1.OidcConfig) {
				o.AccessTokenType = heraldv1.OidcTokenType_OIDC_TOKEN_TYPE_JWT
				o.GrantTypes = o.GrantTypes[:1]
			}),
			"native": app("native", func(o *projectsv1.OidcConfig) {
				o.AppType = projectsv1.OidcAppType_OIDC_APP_TYPE_NATIVE
				o.RedirectUris = []string{"http://127.0.0.1/cb", "com.example.app:/cb"}
			}),
		},
		Ada: &usersv1.ResolveSubjectResponse{
			OrgId: "o1", State: usersv1.UserState_USER_STATE_ACTIVE, Type: usersv1.UserType_USER_TYPE_HUMAN,
			Generation: 5, Credential: "password", User: &usersv1.User{
				Id: "ada", PreferredLoginName: "ada@example.com", Type: &usersv1.User_Human{Human: &usersv1.Human{
					Profile: &usersv1.Profile{FirstName: "Ada", LastName: "Lovelace", DisplayName: "Ada Lovelace"},
					Email:   &usersv1.Email{Email: "ada@example.com", IsEmailVerified: true},
					Phone:   &usersv1.Phone{Phone: "+41791234567", IsPhoneVerified: true},
				}},
			},
		},
		Orgs: map[string]*usersv1.SubjectOrg{
			"o1": {Id: "o1", Name: "One", PrimaryDomain: "one.example", State: active, Generation: 1},
			"o2": {Id: "o2", Name: "Two", PrimaryDomain: "two.example", State: active, Generation: 2},
		},
	}
}

func app(id string, change func(*projectsv1.OidcConfig)) *projectsv1.ResolveClientResponse {
	o := &projectsv1.OidcConfig{
		AuthMethodType: projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_BASIC,
		RedirectUris:   []string{Callback, Callback + "?tenant=1"},
		GrantTypes: []projectsv1.OidcGrantType{
			projectsv1.OidcGrantType_OIDC_GRANT_TYPE_AUTHORIZATION_CODE,
			projectsv1.OidcGrantType_OIDC_GRANT_TYPE_REFRESH_TOKEN,
		},
	}
	change(o)
	return &projectsv1.ResolveClientResponse{
		OrgId: "o2", Generation: 3, ProjectGeneration: 4,
		App: &projectsv1.App{
			Id: id, Name: "Shop", State: projectsv1.AppState_APP_STATE_ACTIVE,
			Config: &projectsv1.App_OidcConfig{OidcConfig: o},
		},
		Project: &projectsv1.Project{Id: "p1", State: projectsv1.ProjectState_PROJECT_STATE_ACTIVE},
	}
}

// projects stands in for the service projects.
type projects struct {
	projectsv1.UnimplementedInternalServer
	testkit.Unguarded
	*Others
}

// ResolveClient implements the contract of the service.
func (p projects) ResolveClient(
	_ context.Context, r *projectsv1.ResolveClientRequest,
) (*projectsv1.ResolveClientResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.Apps[r.ClientId]
	if found == nil {
		return nil, projectsfault.ErrAppNotFound
	}
	out := &projectsv1.ResolveClientResponse{
		OrgId: found.OrgId, App: found.App, Project: found.Project, Generation: found.Generation,
		ProjectGeneration: found.ProjectGeneration,
	}
	if out.SecretMatches = string(r.SecretHash) == string(secret.Hash("secret")); out.SecretMatches {
		out.Credential = "secret"
	}
	return out, nil
}

// ResolveAccess implements the contract of the service.
func (p projects) ResolveAccess(
	context.Context, *projectsv1.ResolveAccessRequest,
) (*projectsv1.ResolveAccessResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Access, nil
}

// people stands in for the service users.
type people struct {
	usersv1.UnimplementedInternalServer
	testkit.Unguarded
	*Others
}

// ResolveSubject implements the contract of the service.
func (u people) ResolveSubject(
	_ context.Context, r *usersv1.ResolveSubjectRequest,
) (*usersv1.ResolveSubjectResponse, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	out, ids := &usersv1.ResolveSubjectResponse{}, map[string]bool{}
	for _, id := range r.OrgIds {
		ids[id] = true
	}
	switch r.UserId {
	case "":
	case "ada", "bob":
		if u.Asked != nil {
			u.Asked()
		}
		out.OrgId, out.State, out.Type, out.Generation = u.Ada.OrgId, u.Ada.State, u.Ada.Type, u.Ada.Generation
		if r.Credential == u.Ada.Credential {
			out.Credential = r.Credential
		}
		if r.WithProfile {
			out.User = u.Ada.User
		}
		ids[out.OrgId] = true
	default:
		return nil, usersfault.ErrUserNotFound
	}
	for id := range maps.Keys(ids) {
		if o := u.Orgs[id]; o != nil {
			out.Orgs = append(out.Orgs, o)
		}
	}
	return out, nil
}
