package testworld

import (
	"bytes"
	"context"
	"maps"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/boot"
	"herald/shared/caller"
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
	// Access is what Ada has on their project. Named is what she and the organizations have on further projects, by id.
	Access *projectsv1.ResolveAccessResponse
	Named  map[string]*projectsv1.ResolveAccessResponse
	// Ada is the user "ada" of the organization o1. Bob, the user "bob", is like her. Robot is a machine user there,
	// whose secret is "secret".
	Ada, Robot *usersv1.ResolveSubjectResponse
	Orgs       map[string]*usersv1.SubjectOrg
	// Asked is called before an answer about a user, if it is not nil.
	Asked func()
}

// NewOthers returns a project that is granted to the organization of Ada, which has accepted that, with these
// applications: web uses basic authentication and has all grants of logins, and other is like it; the names of post,
// spa, jwt and native say how they differ.
//
// Named has projects of which the application's and Ada's organizations have accepted a grant ("accepted"), nobody has
// accepted one ("pending"), and one that is not granted ("foreign").
func NewOthers() *Others {
	active := usersv1.OrgState_ORG_STATE_ACTIVE
	return &Others{
		Access: &projectsv1.ResolveAccessResponse{OrgHasProject: true},
		Named: map[string]*projectsv1.ResolveAccessResponse{
			"accepted": {Project: named("accepted"), OrgHasProject: true, Grounds: "1.g"},
			"pending":  {Project: named("pending")},
			"foreign":  {Project: named("foreign")},
		},
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
		Robot: &usersv1.ResolveSubjectResponse{
			OrgId: "o1", State: usersv1.UserState_USER_STATE_ACTIVE, Type: usersv1.UserType_USER_TYPE_MACHINE,
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
			"o3": {Id: "o3", Name: "Three", PrimaryDomain: "three.example", State: active, Generation: 1},
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

// named is a project of the organization o3.
func named(id string) *projectsv1.Project {
	return &projectsv1.Project{
		Id: id, Name: "Project " + id, Details: &heraldv1.ObjectDetails{ResourceOwner: "o3"},
		State: projectsv1.ProjectState_PROJECT_STATE_ACTIVE,
	}
}

// API returns an application of a project that only checks tokens.
func API(id, projectID string) *projectsv1.ResolveClientResponse {
	a := app(id, func(*projectsv1.OidcConfig) {})
	a.App.Config, a.Project.Id = &projectsv1.App_ApiConfig{ApiConfig: &projectsv1.ApiConfig{}}, projectID
	return a
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
	out.SecretMatches = bytes.Equal(r.SecretHash, secret.Hash("secret"))
	if out.SecretMatches || r.Credential == "secret" {
		out.Credential = "secret"
	}
	return out, nil
}

// ResolveAccess implements the contract of the service.
func (p projects) ResolveAccess(
	_ context.Context, r *projectsv1.ResolveAccessRequest,
) (*projectsv1.ResolveAccessResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := &projectsv1.ResolveAccessResponse{}
	if r.ProjectId != "" {
		proto.Merge(answer, p.Access)
		answer.Project = p.Apps["web"].Project
	}
	for _, id := range r.NamedIds {
		if named := p.Named[id]; named != nil {
			answer.Named = append(answer.Named, named)
		}
	}
	return answer, nil
}

// ServeProjects stands in for the service projects.
func ServeProjects(t testing.TB, g boot.Ground, o *Others) {
	t.Helper()
	testkit.Serve(t, g, "projects", projects{Others: o}, &projectsv1.Internal_ServiceDesc)
}

// people stands in for the service users.
type people struct {
	usersv1.UnimplementedInternalServer
	testkit.Unguarded
	*Others
}

// ResolveCaller implements the contract of the service.
func (u people) ResolveCaller(
	_ context.Context, r *usersv1.ResolveCallerRequest,
) (*usersv1.ResolveTokenResponse, error) {
	c := caller.Caller{UserID: r.Subject.UserId, OrganizationID: "o1", HomeOrganizationID: "o1"}
	return &usersv1.ResolveTokenResponse{Caller: c.Proto()}, nil
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
		out.Manages = u.Ada.Manages
		out.OrgId, out.State, out.Type, out.Generation = u.Ada.OrgId, u.Ada.State, u.Ada.Type, u.Ada.Generation
		if r.Credential == u.Ada.Credential {
			out.Credential = r.Credential
		}
		if r.WithProfile {
			out.User = u.Ada.User
		}
		ids[out.OrgId] = true
	case "robot":
		proto.Merge(out, u.Robot)
		if bytes.Equal(r.SecretHash, secret.Hash("secret")) || r.Credential == "secret" {
			out.Credential = "secret"
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
