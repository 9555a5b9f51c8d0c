// Package upstream asks the services projects and users about clients and users. Without Cached nothing is cached, so
// that a removed user or client is refused at once.
package upstream

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"herald/services/auth/internal/domain"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/search"
)

// ErrNoClient is returned for an unknown client id.
var ErrNoClient = errors.New("there is no such client")

// ErrNoUser is returned for the id of a user who does not exist.
var ErrNoUser = errors.New("there is no such user")

// Services are the services that own applications and users.
type Services struct {
	Projects projectsv1.InternalClient
	Users    usersv1.InternalClient
	machines machines
}

// New returns services that are called with these clients.
func New(projects projectsv1.InternalClient, users usersv1.InternalClient) *Services {
	return &Services{Projects: projects, Users: users}
}

// Proof is the credential of a client or user. At most one of the fields is set.
type Proof struct {
	// SecretHash is the hash of a secret, KeyID the id of a key.
	SecretHash []byte
	KeyID      string
	// Credential is the id of a credential, from an earlier answer.
	Credential string
}

// Client returns the client with an id: an application, or else a machine user. Whether it is active is not decided
// here. It returns ErrNoClient if there is none.
func (o *Services) Client(ctx context.Context, id string, p Proof) (domain.Client, error) {
	if !o.machines.has(id) {
		c, err := o.Application(ctx, id, p)
		if !errors.Is(err, ErrNoClient) {
			return c, err
		}
	}
	s, err := o.User(ctx, id, p)
	if errors.Is(err, ErrNoUser) || err == nil && s.Human {
		return domain.Client{}, ErrNoClient
	}
	if err != nil {
		return domain.Client{}, err
	}
	o.machines.add(id)
	return machine(s), nil
}

// Application returns the application with a client id. It returns ErrNoClient if there is none.
func (o *Services) Application(ctx context.Context, id string, p Proof) (domain.Client, error) {
	r, err := o.Projects.ResolveClient(ctx, &projectsv1.ResolveClientRequest{
		ClientId: id, SecretHash: p.SecretHash, KeyId: p.KeyID, Credential: p.Credential,
	})
	if fault.From(err).Code == fault.NotFound {
		return domain.Client{}, ErrNoClient
	}
	if err != nil {
		return domain.Client{}, err
	}
	return application(r), nil
}

// namesAtOnce is how many requests for names of applications run at a time.
const namesAtOnce = 8

// NameApps sets the names of applications and of their organizations. An application that does not exist any more gets
// none.
func (o *Services) NameApps(ctx context.Context, apps []domain.AuthorizedApp) error {
	var g errgroup.Group
	g.SetLimit(namesAtOnce)
	owners := make([]string, len(apps))
	for i := range apps {
		g.Go(func() error {
			c, err := o.Application(ctx, apps[i].ClientID, Proof{})
			if errors.Is(err, ErrNoClient) {
				err = nil
			}
			apps[i].Name, owners[i] = c.Name, c.OrgID
			return err
		})
	}
	if err := g.Wait(); err != nil || len(apps) == 0 {
		return err
	}
	orgs, err := o.Orgs(ctx, slices.Compact(slices.Sorted(slices.Values(owners)))...)
	for i := range apps {
		apps[i].OrgName = orgs[owners[i]].Name
	}
	return err
}

// maxNamed is how many projects one request may name.
const maxNamed = 50

// ProjectNames returns the names of projects by their ids. It ignores empty ids, and leaves out projects that do not
// exist.
func (o *Services) ProjectNames(ctx context.Context, ids []string) (map[string]string, error) {
	names := map[string]string{}
	ids = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(ids))), func(id string) bool { return id == "" })
	for some := range slices.Chunk(ids, maxNamed) {
		r, err := o.Projects.ResolveAccess(ctx, &projectsv1.ResolveAccessRequest{NamedIds: some})
		if err != nil {
			return nil, err
		}
		for _, a := range r.Named {
			names[a.Project.GetId()] = a.Project.GetName()
		}
	}
	return names, nil
}

// User returns a user with their organization and others. Whether all are active is not decided here. It returns
// ErrNoUser if there is none.
func (o *Services) User(ctx context.Context, id string, p Proof, orgIDs ...string) (domain.Subject, error) {
	return o.user(ctx, &usersv1.ResolveSubjectRequest{
		UserId: id, SecretHash: p.SecretHash, KeyId: p.KeyID, Credential: p.Credential, OrgIds: orgIDs,
	})
}

// Profile does the same for a user who has authenticated by a credential, and returns the profile too.
func (o *Services) Profile(ctx context.Context, id, credential string, orgIDs ...string) (domain.Subject, error) {
	return o.user(ctx, &usersv1.ResolveSubjectRequest{
		UserId: id, Credential: credential, OrgIds: orgIDs, WithProfile: true,
	})
}

func (o *Services) user(ctx context.Context, ask *usersv1.ResolveSubjectRequest) (domain.Subject, error) {
	r, err := o.Users.ResolveSubject(ctx, ask)
	if fault.From(err).Code == fault.NotFound {
		return domain.Subject{}, ErrNoUser
	}
	if err != nil {
		return domain.Subject{}, err
	}
	return subject(ask.UserId, r), nil
}

// PersonalToken returns the user of a personal access token, and its scopes. It returns a fault with the code
// fault.Unauthenticated for one that is unknown or has expired, or whose user or organization is not active.
func (o *Services) PersonalToken(ctx context.Context, hash []byte) (userID string, scopes []string, err error) {
	r, err := o.Users.ResolveToken(ctx, &usersv1.ResolveTokenRequest{TokenHash: hash})
	return r.GetCaller().GetUserId(), r.GetCaller().GetScopes(), err
}

// Admit sets the grounds of a new authorization for an application of a project. It returns domain.ErrInvalidScope if
// the scopes name a project for which the client may have no tokens, and domain.ErrAccessDenied for a user who may get
// none of a project. It calls no service if the scopes name no project and the application's project gives tokens to
// all users.
func (o *Services) Admit(ctx context.Context, p domain.Project, a *domain.Authorization) error {
	if len(a.Named()) == 0 && (a.UserID == "" || !p.Checks()) {
		return nil
	}
	r, err := o.Reach(ctx, *a)
	if err != nil {
		return err
	}
	a.Grounds = a.GroundsIn(r)
	return a.Admit(r)
}

// Branding returns the organization whose branding the pages of a login to a client have: "" for Herald's look. The
// branding of another organization than the client's shows only if that organization has accepted a grant of the
// client's project: otherwise anybody could show it. Without an answer the pages look as they do before the login.
func (o *Services) Branding(ctx context.Context, c domain.Client, asked, userOrgID string) string {
	orgID := c.BrandingIn(asked, userOrgID)
	if orgID == "" || orgID == c.OrgID || c.ID == "" {
		return orgID
	}
	r, err := o.Reach(ctx, domain.Authorization{ProjectID: c.Project.ID, OrgID: orgID})
	if err != nil || !r.Own.OrgHasProject {
		return c.BrandingOf("")
	}
	return orgID
}

// Orgs returns organizations by their ids. Organizations that do not exist are left out.
func (o *Services) Orgs(ctx context.Context, ids ...string) (map[string]domain.Org, error) {
	r, err := o.Users.ResolveSubject(ctx, &usersv1.ResolveSubjectRequest{OrgIds: ids})
	if err != nil {
		return nil, err
	}
	return subject("", r).Orgs, nil
}

// Reach returns what the user and the client of an authorization have on its projects. All are asked for at once.
func (o *Services) Reach(ctx context.Context, a domain.Authorization) (domain.Reach, error) {
	r, err := o.Projects.ResolveAccess(ctx, &projectsv1.ResolveAccessRequest{
		ProjectId: a.ProjectID, NamedIds: a.Named(), UserId: a.UserID, OrgId: a.OrgID, ClientOrgId: a.HoldingOrg(),
	})
	if err != nil {
		return domain.Reach{}, err
	}
	return domain.Reach{Own: access(r), Named: search.Each(r.Named, access)}, nil
}

// maxMachines is how many ids are remembered. It should be enough for all machine users that are active within an hour.
const maxMachines = 10_000

// machines remembers ids of machine users, so that the service projects is not asked about them. An application never
// gets the id of a user, because the ids of applications are random and cannot be chosen.
type machines struct {
	mu  sync.RWMutex
	ids map[string]struct{}
}

func (m *machines) has(id string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, ok := m.ids[id]
	return ok
}

func (m *machines) add(id string) {
	if m.has(id) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil || len(m.ids) >= maxMachines {
		m.ids = map[string]struct{}{}
	}
	m.ids[id] = struct{}{}
}
