package projects_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/projects"
	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

var kit = testkit.New("projects", projects.Migrations)

var refused, race = testkit.Refused, testkit.Race

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// users stands in for the service users. Organizations and users exist if their ids begin with org-
// or user-. A user belongs to the organization in the rest of the id.
type users struct {
	usersv1.UnimplementedInternalServer
	testkit.Unguarded
	mu     sync.Mutex
	owners []*usersv1.MakeProjectOwnerRequest
}

func (u *users) MakeProjectOwner(
	_ context.Context, r *usersv1.MakeProjectOwnerRequest,
) (*usersv1.MakeProjectOwnerResponse, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.owners = append(u.owners, r)
	return &usersv1.MakeProjectOwnerResponse{}, nil
}

func (u *users) ResolveOrg(_ context.Context, r *usersv1.ResolveOrgRequest) (*usersv1.ResolveOrgResponse, error) {
	if !strings.HasPrefix(r.OrgId, "org") {
		return nil, fault.New(fault.NotFound, "ORG_NOT_FOUND", "Organization not found")
	}
	return &usersv1.ResolveOrgResponse{Name: r.OrgId, State: usersv1.OrgState_ORG_STATE_ACTIVE}, nil
}

func (u *users) ResolveUser(_ context.Context, r *usersv1.ResolveUserRequest) (*usersv1.ResolveUserResponse, error) {
	name, org, _ := strings.Cut(r.UserId, "-")
	if name != "user" || r.OrgId != "" && r.OrgId != org {
		return nil, fault.New(fault.NotFound, "USER_NOT_FOUND", "User not found")
	}
	return &usersv1.ResolveUserResponse{
		OrgId: org, State: usersv1.UserState_USER_STATE_ACTIVE, Type: usersv1.UserType_USER_TYPE_HUMAN,
	}, nil
}

// world is a running service with its callers.
type world struct {
	testing.TB
	ground  boot.Ground
	service *boot.Service
	users   *users
	projectsv1.ProjectsClient
	projectsv1.RolesClient
	projectsv1.GrantsClient
	projectsv1.AppsClient
	// inA and inB are the owners of two organizations, org-a and org-b.
	inA, inB context.Context
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, testkit.Ground(t))
}

// newWorldOn returns a world with the test's clock or log.
func newWorldOn(t testing.TB, g boot.Ground) *world {
	t.Helper()
	w := &world{TB: t, ground: g, users: &users{}}
	testkit.Serve(t, w.ground, "users", w.users, &usersv1.Internal_ServiceDesc)
	w.start()
	return w
}

func (w *world) start() {
	w.Helper()
	w.service = kit.Open(w, w.ground)
	if err := projects.New(w.Context(), w.service, projects.Config{MaxLimit: 1000}); err != nil {
		w.Fatal(err)
	}
	testkit.Run(w, w.service)
	calls := testkit.Calls(w, w.ground, "gateway")
	w.ProjectsClient, w.RolesClient = projectsv1.NewProjectsClient(calls), projectsv1.NewRolesClient(calls)
	w.GrantsClient, w.AppsClient = projectsv1.NewGrantsClient(calls), projectsv1.NewAppsClient(calls)
	w.inA, w.inB = w.as("org-a", "ORG_OWNER"), w.as("org-b", "ORG_OWNER")
}

// as returns the context of a caller with roles in an organization.
func (w *world) as(orgID string, roles ...string) context.Context {
	return w.with(orgID, caller.Membership{OrganizationID: orgID, Roles: roles})
}

func (w *world) with(orgID string, m ...caller.Membership) context.Context {
	return testkit.As(w.Context(), w.ground, caller.Caller{
		UserID: "user-" + orgID, OrganizationID: orgID, HomeOrganizationID: orgID, Memberships: m,
	})
}

// project creates a project and returns its id.
func (w *world) project(ctx context.Context, name string) string {
	w.Helper()
	r, err := w.CreateProject(ctx, &projectsv1.CreateProjectRequest{Name: name})
	if err != nil {
		w.Fatal(err)
	}
	return r.Id
}

// rows returns the number of rows of a query.
func (w *world) rows(sql string, args ...any) int {
	w.Helper()
	return testkit.Rows(w, w.service.DB, sql, args...)
}

// same fails the test unless two messages are equal.
func same(t testing.TB, got, want proto.Message) {
	t.Helper()
	if !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
