// Package testworld starts the service for tests, with a stand-in for the service users and clients of all contracts.
package testworld

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"herald/services/projects"
	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/search"
	"herald/shared/testkit"
)

// Kit is the database server of a package's tests.
var Kit = testkit.New("projects", projects.Migrations)

// Users stands in for the service users. Organizations exist if their ids begin with org-, and users if theirs begin
// with user. What comes after the first hyphen of a user's id is the id of the user's organization.
type Users struct {
	usersv1.UnimplementedInternalServer
	testkit.Unguarded
	mu sync.Mutex
	// Managers are the organizations in which user-org-a has all permissions, besides org-a.
	Managers []string
	// Owners are the requests to make somebody the owner of a project.
	Owners []*usersv1.MakeProjectOwnerRequest
	// NoOwner is the answer to these requests if it is not nil.
	NoOwner error
}

// MakeProjectOwner keeps the request.
func (u *Users) MakeProjectOwner(
	_ context.Context, r *usersv1.MakeProjectOwnerRequest,
) (*usersv1.MakeProjectOwnerResponse, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.Owners = append(u.Owners, r)
	return &usersv1.MakeProjectOwnerResponse{}, u.NoOwner
}

// ResolveOrg finds an organization by its id.
func (u *Users) ResolveOrg(_ context.Context, r *usersv1.ResolveOrgRequest) (*usersv1.ResolveOrgResponse, error) {
	if !strings.HasPrefix(r.OrgId, "org-") {
		return nil, usersfault.ErrOrgNotFound
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return &usersv1.ResolveOrgResponse{
		Name: r.OrgId, State: usersv1.OrgState_ORG_STATE_ACTIVE,
		Permitted: r.UserId == "user-org-a" && r.Permission != "" && slices.Contains(u.Managers, r.OrgId),
	}, nil
}

// ResolveUser finds a user by its id.
func (u *Users) ResolveUser(_ context.Context, r *usersv1.ResolveUserRequest) (*usersv1.ResolveUserResponse, error) {
	name, org, _ := strings.Cut(r.UserId, "-")
	if !strings.HasPrefix(name, "user") || r.OrgId != "" && r.OrgId != org {
		return nil, usersfault.ErrUserNotFound
	}
	return &usersv1.ResolveUserResponse{
		OrgId: org, State: usersv1.UserState_USER_STATE_ACTIVE, Type: usersv1.UserType_USER_TYPE_HUMAN,
	}, nil
}

// World is a running service with its callers.
type World struct {
	testkit.World
	Users *Users
	projectsv1.ProjectsClient
	projectsv1.RolesClient
	projectsv1.GrantsClient
	projectsv1.AppsClient
	// InA and InB are the owners of two organizations, org-a and org-b.
	InA, InB context.Context
}

// New returns a world for one test.
func New(t testing.TB) *World {
	t.Helper()
	return NewOn(t, testkit.Ground(t))
}

// NewOn returns a world with the test's clock or log.
func NewOn(t testing.TB, g boot.Ground) *World {
	t.Helper()
	people := &Users{}
	testkit.Serve(t, g, "users", people, &usersv1.Internal_ServiceDesc)
	w := NewWithoutUsers(t, g)
	w.Users = people
	return w
}

// NewWithoutUsers returns a world in which the service users does not run.
func NewWithoutUsers(t testing.TB, g boot.Ground) *World {
	t.Helper()
	return NewWith(t, g, boot.QuotaSettings{})
}

// NewWith is NewWithoutUsers with quotas of the operator.
func NewWith(t testing.TB, g boot.Ground, quotas boot.QuotaSettings) *World {
	t.Helper()
	w := &World{World: Kit.Start(t, g, func(s *boot.Service) error {
		return projects.New(t.Context(), s, projects.Config{
			Limit: search.Limit{MaxLimit: 1000}, QuotaSettings: quotas,
		})
	})}
	calls := testkit.Calls(t, g, "gateway")
	w.ProjectsClient, w.RolesClient = projectsv1.NewProjectsClient(calls), projectsv1.NewRolesClient(calls)
	w.GrantsClient, w.AppsClient = projectsv1.NewGrantsClient(calls), projectsv1.NewAppsClient(calls)
	w.sign()
	return w
}

// sign signs the callers again, because signatures are valid for seconds only.
func (w *World) sign() { w.InA, w.InB = w.As("org-a", "ORG_OWNER"), w.As("org-b", "ORG_OWNER") }

// Internal returns the client with which another service calls.
func (w *World) Internal(service string) projectsv1.InternalClient {
	w.Helper()
	return projectsv1.NewInternalClient(testkit.Calls(w, w.Ground, service))
}

// With returns the context of a caller of an organization with memberships.
func (w *World) With(orgID string, m ...caller.Membership) context.Context {
	return testkit.As(w.Context(), w.Ground, caller.Caller{
		UserID: "user-" + orgID, OrganizationID: orgID, HomeOrganizationID: orgID, Memberships: m,
	})
}
