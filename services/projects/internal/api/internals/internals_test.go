package internals_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/projects/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

var refused = testkit.Refused

func TestServicesFindProjectsInTheirOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Project(w.InA, "Shop")
	users := w.Internal("users")
	w.Must(users.ResolveProject(t.Context(), &projectsv1.ResolveProjectRequest{OrgId: "org-a", ProjectId: id}))
	for _, r := range []*projectsv1.ResolveProjectRequest{
		{OrgId: "org-b", ProjectId: id}, {OrgId: "org-a", ProjectId: "nothing"},
	} {
		_, err := users.ResolveProject(t.Context(), r)
		refused(t, err, "PROJECT_NOT_FOUND")
	}
}

// The service users asks it before it gives users chosen ids.
func TestIdsAreFoundInAllOrganizations(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ids := []string{c.Shop, c.Web.AppId, strings.ToUpper(c.Shop), strings.ToUpper(c.Web.AppId)}
	found := func(when string) {
		t.Helper()
		got, err := c.Internal("users").FindTaken(t.Context(), &projectsv1.FindTakenRequest{
			Ids: append([]string{"nothing", ""}, ids...),
		})
		if err != nil || !slices.Equal(slices.Sorted(slices.Values(got.Ids)), slices.Sorted(slices.Values(ids))) {
			t.Errorf("%s: %v, %v, want %v", when, got, err, ids)
		}
	}
	found("live")
	// An id is never given again, so that nobody becomes a client that others trust.
	c.Must(c.RemoveApp(c.InA, &projectsv1.AppRequest{ProjectId: c.Shop, AppId: c.Web.AppId}))
	found("without the application")
	c.Must(c.RemoveProject(c.InA, &projectsv1.RemoveProjectRequest{ProjectId: c.Shop}))
	found("removed")
}

// client is an application of a world, which the service auth resolves.
type client struct {
	testworld.Clocked
	auth projectsv1.InternalClient
}

func newClient(t *testing.T) client {
	t.Helper()
	w := testworld.NewClocked(t)
	return client{w, w.Internal("auth")}
}

// resolve returns the web application, or that of the request.
func (c client) resolve(r *projectsv1.ResolveClientRequest) *projectsv1.ResolveClientResponse {
	c.Helper()
	if r.ClientId == "" {
		r.ClientId = c.Web.AppId
	}
	got, err := c.auth.ResolveClient(c.Context(), r)
	c.Must(got, err)
	return got
}

// by returns the web application for a client secret.
func (c client) by(clientSecret string) *projectsv1.ResolveClientResponse {
	c.Helper()
	return c.resolve(&projectsv1.ResolveClientRequest{SecretHash: secret.Hash(clientSecret)})
}

// The service auth finds an application of any organization with all that its tokens depend on.
func TestResolvedClientHasAllThatTokensDependOn(t *testing.T) {
	t.Parallel()
	w := newClient(t)
	got := w.by(w.Web.ClientSecret)
	want := &projectsv1.ResolveClientResponse{
		OrgId: "org-a", App: w.App(w.Shop, w.Web.AppId), Generation: 1, ProjectGeneration: 1, SecretMatches: true,
		Project: &projectsv1.Project{Id: w.Shop, Name: "Shop", State: projectsv1.ProjectState_PROJECT_STATE_ACTIVE},
	}
	if got.Credential == "" {
		t.Error("no credential")
	}
	got.Project.Details, got.Credential = nil, ""
	testkit.Equal(t, got, want)
	w.Must(w.DeactivateApp(w.InA, &projectsv1.AppRequest{ProjectId: w.Shop, AppId: w.Web.AppId}))
	w.Must(w.DeactivateProject(w.InA, &projectsv1.DeactivateProjectRequest{ProjectId: w.Shop}))
	want.App = w.App(w.Shop, w.Web.AppId)
	want.Project.State = projectsv1.ProjectState_PROJECT_STATE_INACTIVE
	want.SecretMatches, want.Generation, want.ProjectGeneration = false, 2, 2
	got = w.resolve(&projectsv1.ResolveClientRequest{})
	got.Project.Details = nil
	testkit.Equal(t, got, want)
	if got.App.State != projectsv1.AppState_APP_STATE_INACTIVE {
		t.Errorf("%v after the deactivation", got.App.State)
	}
	_, err := w.auth.ResolveClient(t.Context(), &projectsv1.ResolveClientRequest{ClientId: "nothing"})
	refused(t, err, "APP_NOT_FOUND")
}

// The credential that tokens keep of a secret ends with the secret, and no other secret has it.
func TestBothSecretsOfAnOverlapMatchUntilItsEnd(t *testing.T) {
	t.Parallel()
	w := newClient(t)
	holds := func(credential string) bool {
		return w.resolve(&projectsv1.ResolveClientRequest{Credential: credential}).Credential == credential
	}
	first := w.by(w.Web.ClientSecret).Credential
	none := w.resolve(&projectsv1.ResolveClientRequest{})
	if first == "" || !holds(first) || holds(first+"x") || none.Credential != "" || none.SecretMatches {
		t.Errorf("%q is not the credential of the secret alone", first)
	}
	if wrong := w.by("wrong"); wrong.Credential != "" || wrong.SecretMatches {
		t.Errorf("a wrong secret: %v", wrong)
	}
	next := w.Generate(time.Hour)
	second := w.by(next).Credential
	if second == "" || second == first || !holds(first) || !holds(second) {
		t.Errorf("%q and %q do not both hold during the overlap", first, second)
	}
	if !w.by(w.Web.ClientSecret).SecretMatches || !w.by(next).SecretMatches {
		t.Error("a secret does not match during the overlap")
	}
	w.Forward(time.Hour)
	if holds(first) || !holds(second) {
		t.Error("a credential does not end with its secret alone")
	}
	if w.by(w.Web.ClientSecret).SecretMatches || !w.by(next).SecretMatches {
		t.Error("after the overlap not the second secret alone matches")
	}
	if w.by(w.Generate(0)); holds(second) {
		t.Error("a credential outlives its replaced secret")
	}
}

func TestKeysAreReturnedUntilTheyExpireOrAreRemoved(t *testing.T) {
	t.Parallel()
	w := newClient(t)
	api, err := w.CreateApiApp(w.InA, &projectsv1.CreateApiAppRequest{
		ProjectId: w.Shop, Name: "API", AuthMethodType: 2,
	})
	w.Must(api, err)
	add := func(expires time.Duration) string {
		t.Helper()
		made, err := w.AddAppKey(w.InA, &projectsv1.AddAppKeyRequest{ProjectId: w.Shop, AppId: api.AppId,
			PublicKey: testkit.PublicKey(), ExpirationDate: timestamppb.New(time.Now().Add(expires))})
		w.Must(made, err)
		return made.KeyId
	}
	// there checks what is returned for a key, and for the credential that names it.
	there := func(when, appID, keyID string, want bool) {
		t.Helper()
		got := w.resolve(&projectsv1.ResolveClientRequest{ClientId: appID, KeyId: keyID})
		held := w.resolve(&projectsv1.ResolveClientRequest{ClientId: appID, Credential: "key:" + keyID})
		if !bytes.Equal(got.PublicKey, held.PublicKey) || (len(got.PublicKey) > 0) != want ||
			(got.Credential == "key:"+keyID) != want || (held.Credential != "") != want {
			t.Errorf("%s: %v, then %v", when, got, held)
		}
	}
	short, long := add(time.Hour), add(48*time.Hour)
	there("a key", api.AppId, short, true)
	there("another key", api.AppId, long, true)
	there("a key of another application", w.Web.AppId, long, false)
	there("no such key", api.AppId, "nothing", false)
	there("no key", api.AppId, "", false)
	w.Forward(2 * time.Hour)
	there("an expired key", api.AppId, short, false)
	w.Must(w.RemoveAppKey(w.InA, &projectsv1.RemoveAppKeyRequest{ProjectId: w.Shop, AppId: api.AppId, KeyId: long}))
	there("a removed key", api.AppId, long, false)
}

// A role counts if an organization granted it on its own project, or by a project grant that is active and still has
// it. An organization has a project that is granted to it, and agrees to it for its people when it accepts the grant.
func TestAccessIsRolesThatCount(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	p, other := w.Project(w.InA, "Shop"), w.Project(w.InA, "Office")
	w.AddRoles(w.InA, p, "admin", "clerk", "guest")
	w.AddRoles(w.InA, other, "boss")
	auth := w.Internal("auth")
	named := map[string]bool{}
	// check compares the access of a user of an organization, whose application asks, too. The grounds change whenever
	// something has ended.
	check := func(what, orgID string, has bool, want ...*projectsv1.GrantedRole) {
		t.Helper()
		got, err := auth.ResolveAccess(t.Context(), &projectsv1.ResolveAccessRequest{
			ProjectId: p, UserId: "user-" + orgID, OrgId: orgID, ClientOrgId: orgID,
		})
		w.Must(got, err)
		t.Log(what)
		if got.Project.Id != p || got.Project.Name != "Shop" || got.Project.Details.ResourceOwner != "org-a" {
			t.Errorf("%v", got.Project)
		}
		if (got.Grounds != "") != has {
			t.Errorf("the grounds are %q", got.Grounds)
		}
		if orgID == "org-b" && has && named[got.Grounds] {
			t.Errorf("the same grounds again: %q", got.Grounds)
		}
		named[got.Grounds] = true
		got.Project, got.Grounds = nil, ""
		testkit.Equal(t, got, &projectsv1.ResolveAccessResponse{OrgHasProject: has, Roles: want})
	}
	of := func(org, key string) *projectsv1.GrantedRole { return &projectsv1.GrantedRole{Key: key, OrgId: org} }
	check("nothing", "org-a", true)
	check("another organization", "org-b", false)
	w.Give(w.InA, "user-org-a", other, "", "boss")
	check("a role on another project", "org-a", true)
	w.Give(w.InA, "user-org-a", p, "", "guest", "admin")
	w.Give(w.InA, "user-org-b", p, "", "guest")
	check("own roles", "org-a", true, of("org-a", "admin"), of("org-a", "guest"))
	check("a role of a foreign user", "org-b", false, of("org-a", "guest"))
	g := w.Grant(p, "org-b", "clerk", "guest")
	check("a grant that nobody has accepted", "org-b", false, of("org-a", "guest"))
	w.Give(w.InB, "user-org-b", p, g, "clerk", "guest")
	check("roles by a grant", "org-b", true, of("org-b", "clerk"), of("org-a", "guest"), of("org-b", "guest"))
	w.Must(w.DeactivateProjectGrant(w.InA, &projectsv1.ProjectGrantRequest{ProjectId: p, GrantId: g}))
	check("an inactive grant", "org-b", false, of("org-a", "guest"))
	w.Must(w.ReactivateProjectGrant(w.InA, &projectsv1.ProjectGrantRequest{ProjectId: p, GrantId: g}))
	w.Must(w.EndGrantedProject(w.InB, &projectsv1.GrantedProjectRequest{GrantId: g}))
	check("an ended grant", "org-b", false, of("org-a", "guest"))
	w.Must(w.AcceptGrantedProject(w.InB, &projectsv1.GrantedProjectRequest{GrantId: g}))
	check("a grant accepted again", "org-b", true, of("org-a", "guest"))
	w.Must(w.DeactivateProjectGrant(w.InA, &projectsv1.ProjectGrantRequest{ProjectId: p, GrantId: g}))
	w.Must(w.ReactivateProjectGrant(w.InA, &projectsv1.ProjectGrantRequest{ProjectId: p, GrantId: g}))
	check("a grant reactivated", "org-b", true, of("org-a", "guest"))
	w.Must(w.RemoveProjectGrant(w.InA, &projectsv1.ProjectGrantRequest{ProjectId: p, GrantId: g}))
	w.Give(w.InB, "user-org-b", p, w.Grant(p, "org-b", "clerk"), "clerk")
	check("another grant", "org-b", true, of("org-b", "clerk"), of("org-a", "guest"))
	w.Must(w.DeactivateProject(w.InA, &projectsv1.DeactivateProjectRequest{ProjectId: p}))
	w.Must(w.ReactivateProject(w.InA, &projectsv1.ReactivateProjectRequest{ProjectId: p}))
	check("a project reactivated", "org-b", true, of("org-b", "clerk"), of("org-a", "guest"))
	_, err := auth.ResolveAccess(t.Context(), &projectsv1.ResolveAccessRequest{ProjectId: "nothing"})
	refused(t, err, "PROJECT_NOT_FOUND")
}

// An application may have tokens for the active projects of its organization, and for those of which it has accepted a
// grant. All are asked for at once.
func TestAudienceIsProjectsOfTheOrganization(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	own, further := w.Project(w.InB, "Own"), w.Project(w.InB, "Further")
	accepted, pending, ended := w.Project(w.InA, "Accepted"), w.Project(w.InA, "Pending"), w.Project(w.InA, "Ended")
	foreign, inactive := w.Project(w.InA, "Foreign"), w.Project(w.InB, "Inactive")
	for _, p := range []string{accepted, pending, ended} {
		w.AddRoles(w.InA, p, "clerk")
		if g := w.Grant(p, "org-b", "clerk"); p != pending {
			w.Must(w.AcceptGrantedProject(w.InB, &projectsv1.GrantedProjectRequest{GrantId: g}))
			if p == ended {
				w.Must(w.EndGrantedProject(w.InB, &projectsv1.GrantedProjectRequest{GrantId: g}))
			}
		}
	}
	theirs := w.Project(w.InA, "Granted to the organization of the user alone")
	w.AddRoles(w.InA, theirs, "clerk")
	granted := &projectsv1.GrantedProjectRequest{GrantId: w.Grant(theirs, "org-c", "clerk")}
	w.Must(w.AcceptGrantedProject(w.As("org-c", "ORG_OWNER"), granted))
	w.Must(w.DeactivateProject(w.InB, &projectsv1.DeactivateProjectRequest{ProjectId: inactive}))
	w.Give(w.InA, "user", accepted, "", "clerk")
	auth := w.Internal("auth")
	for _, project := range []string{"", own} {
		got, err := auth.ResolveAccess(t.Context(), &projectsv1.ResolveAccessRequest{
			ProjectId: project, UserId: "user", OrgId: "org-c", ClientOrgId: "org-b",
			NamedIds: []string{further, accepted, pending, ended, foreign, inactive, theirs, "unknown"},
		})
		w.Must(got, err)
		if got.Project.GetId() != project || (got.Grounds != "") != (project != "") {
			t.Errorf("%v", got)
		}
		for _, n := range got.Named {
			if want := n.Project.Id == further || n.Project.Id == accepted; (n.Grounds != "") != want {
				t.Errorf("%s: %q", n.Project.Name, n.Grounds)
			}
			if n.OrgHasProject != (n.Project.Id == theirs) || (len(n.Roles) == 1) != (n.Project.Id == accepted) {
				t.Errorf("%v", n)
			}
		}
		if len(got.Named) != 7 {
			t.Errorf("%v", got.Named)
		}
	}
}
