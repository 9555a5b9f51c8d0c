package testworld

import (
	"context"
	"regexp"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// Project creates a project and returns its id.
func (w *World) Project(ctx context.Context, name string) string {
	w.Helper()
	r, err := w.CreateProject(ctx, &projectsv1.CreateProjectRequest{Name: name})
	w.Must(r, err)
	return r.Id
}

// AddRoles adds roles to a project.
func (w *World) AddRoles(ctx context.Context, projectID string, keys ...string) {
	w.Helper()
	r := &projectsv1.AddProjectRolesRequest{ProjectId: projectID}
	for _, key := range keys {
		r.Roles = append(r.Roles, &projectsv1.NewProjectRole{Key: key})
	}
	w.Must(w.AddProjectRoles(ctx, r))
}

// Grant grants a project of org-a and returns the grant's id.
func (w *World) Grant(projectID, orgID string, keys ...string) string {
	w.Helper()
	r, err := w.AddProjectGrant(w.InA, &projectsv1.AddProjectGrantRequest{
		ProjectId: projectID, GrantedOrgId: orgID, RoleKeys: keys,
	})
	w.Must(r, err)
	return r.GrantId
}

// Give grants a user roles, with a project grant if grantID is not empty, and returns the id of the user's grant.
func (w *World) Give(ctx context.Context, userID, projectID, grantID string, keys ...string) string {
	w.Helper()
	r, err := w.AddUserGrant(ctx, &projectsv1.AddUserGrantRequest{
		UserId: userID, ProjectId: projectID, ProjectGrantId: grantID, RoleKeys: keys,
	})
	w.Must(r, err)
	return r.GrantId
}

// WebApp creates a web application that authenticates by HTTP Basic.
func (w *World) WebApp(ctx context.Context, projectID, name string) *projectsv1.CreateOidcAppResponse {
	w.Helper()
	r, err := w.CreateOidcApp(ctx, &projectsv1.CreateOidcAppRequest{
		ProjectId: projectID, Name: name, RedirectUris: []string{"https://app.example.com/callback"},
	})
	w.Must(r, err)
	return r
}

// App reads an application.
func (w *World) App(projectID, id string) *projectsv1.App {
	w.Helper()
	r, err := w.GetApp(w.InA, &projectsv1.GetAppRequest{ProjectId: projectID, AppId: id})
	w.Must(r, err)
	return r.App
}

// SecretForm is the form of client secrets.
var SecretForm = regexp.MustCompile(`^[a-zA-Z0-9]{64}$`)

// Clocked is an application in a world whose clock a test can advance.
type Clocked struct {
	*World
	Shop string
	Web  *projectsv1.CreateOidcAppResponse
	*testkit.Clock
}

// NewClocked returns a world with a clock and an application.
func NewClocked(t testing.TB) Clocked {
	t.Helper()
	g := testkit.Ground(t)
	clock := &testkit.Clock{}
	g.Now = clock.Now
	w := NewOn(t, g)
	p := w.Project(w.InA, "Shop")
	return Clocked{w, p, w.WebApp(w.InA, p, "Web"), clock}
}

// Forward advances the clock.
func (c Clocked) Forward(by time.Duration) {
	c.Advance(by)
	c.sign()
}

// At returns the time of the clock.
func (c Clocked) At() string {
	return c.Clock.Now().Format(time.RFC3339Nano)
}

// Generate returns a new secret.
func (c Clocked) Generate(overlap time.Duration) string {
	c.Helper()
	r, err := c.GenerateOidcClientSecret(c.InA, &projectsv1.GenerateClientSecretRequest{
		ProjectId: c.Shop, AppId: c.Web.AppId, Overlap: durationpb.New(overlap),
	})
	if err != nil || !SecretForm.MatchString(r.ClientSecret) {
		c.Fatalf("%v, %v", r, err)
	}
	got := c.App(c.Shop, c.Web.AppId)
	if got.Details.Sequence != r.Details.Sequence || r.Details.CreationDate != nil {
		c.Errorf("%v, %v", got, r.Details)
	}
	return r.ClientSecret
}

// Found checks that a search finds the ids, newest first, in both orders, and its second page of one.
func Found(
	t testing.TB, ids []string, search func(*heraldv1.ListQuery) ([]string, *heraldv1.ListDetails, error),
) {
	t.Helper()
	for _, asc := range []bool{false, true} {
		want := slices.Clone(ids)
		if asc {
			slices.Reverse(want)
		}
		got, list, err := search(&heraldv1.ListQuery{Asc: asc})
		if err != nil || !slices.Equal(got, want) || list.TotalResult != uint64(len(want)) {
			t.Errorf("ascending %v: %v %v, %v", asc, got, list, err)
		}
		got, list, err = search(&heraldv1.ListQuery{Asc: asc, Offset: 1, Limit: 1})
		if err != nil || !slices.Equal(got, want[min(1, len(want)):min(2, len(want))]) ||
			list.TotalResult != uint64(len(want)) {
			t.Errorf("ascending %v, second: %v %v, %v", asc, got, list, err)
		}
	}
}
