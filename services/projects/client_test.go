package projects_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// inAuth returns the client with which the service auth calls.
func (w *world) inAuth() projectsv1.InternalClient {
	return projectsv1.NewInternalClient(testkit.Calls(w, w.ground, "auth"))
}

// The service auth finds an application of any organization with all that its tokens depend on.
func TestResolveClient(t *testing.T) {
	t.Parallel()
	w := newClocked(t)
	auth := w.inAuth()
	resolve := func(clientSecret, keyID string) *projectsv1.ResolveClientResponse {
		t.Helper()
		r := &projectsv1.ResolveClientRequest{ClientId: w.web.AppId, KeyId: keyID}
		if clientSecret != "" {
			r.SecretHash = secret.Hash(clientSecret)
		}
		got, err := auth.ResolveClient(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := resolve(w.web.ClientSecret, "")
	app, err := w.GetApp(w.inA, &projectsv1.GetAppRequest{ProjectId: w.shop, AppId: w.web.AppId})
	if err != nil {
		t.Fatal(err)
	}
	want := &projectsv1.ResolveClientResponse{
		OrgId: "org-a", App: app.App, Generation: 1, ProjectGeneration: 1, SecretMatches: true,
		Project: &projectsv1.Project{Id: w.shop, Name: "Shop", State: projectsv1.ProjectState_PROJECT_STATE_ACTIVE},
	}
	got.Project.Details, want.Credential = nil, got.Credential
	if !proto.Equal(got, want) || got.Credential == "" {
		t.Errorf("got %v, want %v", got, want)
	}
	// Both secrets of an overlap match until its end; none and a wrong one do not.
	second := w.generate(time.Hour)
	for clientSecret, matches := range map[string]bool{
		w.web.ClientSecret: true, second: true, "": false, "wrong": false,
	} {
		if resolve(clientSecret, "").SecretMatches != matches {
			t.Errorf("%.4s: want %v", clientSecret, matches)
		}
	}
	w.ahead.Add(int64(time.Hour))
	w.inA = w.as("org-a", "ORG_OWNER") // callers are signed for seconds
	if resolve(w.web.ClientSecret, "").SecretMatches || !resolve(second, "").SecretMatches {
		t.Error("after the overlap")
	}
	// Deactivations are seen at once.
	for _, deactivate := range []func() error{
		func() error {
			_, err := w.DeactivateApp(w.inA, &projectsv1.AppRequest{ProjectId: w.shop, AppId: w.web.AppId})
			return err
		},
		func() error {
			_, err := w.DeactivateProject(w.inA, &projectsv1.DeactivateProjectRequest{ProjectId: w.shop})
			return err
		},
	} {
		if err := deactivate(); err != nil {
			t.Fatal(err)
		}
	}
	if got := resolve("", ""); got.App.State != projectsv1.AppState_APP_STATE_INACTIVE || got.Generation != 2 ||
		got.Project.State != projectsv1.ProjectState_PROJECT_STATE_INACTIVE || got.ProjectGeneration != 2 {
		t.Errorf("after deactivations: %v", got)
	}
	_, err = auth.ResolveClient(t.Context(), &projectsv1.ResolveClientRequest{ClientId: "nothing"})
	refused(t, err, "APP_NOT_FOUND")
}

// What tokens keep of a secret ends with the secret, and is that of no other.
func TestCredentialOfSecret(t *testing.T) {
	t.Parallel()
	w := newClocked(t)
	auth := w.inAuth()
	resolve := func(r *projectsv1.ResolveClientRequest) string {
		t.Helper()
		r.ClientId = w.web.AppId
		got, err := auth.ResolveClient(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return got.Credential
	}
	by := func(clientSecret string) string {
		return resolve(&projectsv1.ResolveClientRequest{SecretHash: secret.Hash(clientSecret)})
	}
	holds := func(credential string) bool {
		return resolve(&projectsv1.ResolveClientRequest{Credential: credential}) == credential
	}
	first := by(w.web.ClientSecret)
	none := resolve(&projectsv1.ResolveClientRequest{})
	if first == "" || !holds(first) || holds(first+"x") || by("wrong") != "" || none != "" {
		t.Errorf("%q is not the credential of the secret alone", first)
	}
	second := by(w.generate(time.Hour))
	if second == "" || second == first || !holds(first) || !holds(second) {
		t.Errorf("%q and %q do not both hold during the overlap", first, second)
	}
	w.ahead.Add(int64(time.Hour))
	w.inA = w.as("org-a", "ORG_OWNER") // callers are signed for seconds
	if holds(first) || !holds(second) {
		t.Error("a credential does not end with its secret alone")
	}
	if by(w.generate(0)); holds(second) {
		t.Error("a credential outlives its replaced secret")
	}
}

// A key is that of the application, and is not returned any more when it has expired or was removed.
func TestResolveClientWithKey(t *testing.T) {
	t.Parallel()
	w := newClocked(t)
	auth := w.inAuth()
	// public returns the key of that id. A credential names it as long as it is there.
	public := func(appID, keyID string) []byte {
		t.Helper()
		got, err := auth.ResolveClient(t.Context(), &projectsv1.ResolveClientRequest{ClientId: appID, KeyId: keyID})
		if err != nil {
			t.Fatal(err)
		}
		held, err := auth.ResolveClient(t.Context(), &projectsv1.ResolveClientRequest{
			ClientId: appID, Credential: "key:" + keyID,
		})
		if err != nil {
			t.Fatal(err)
		}
		there := len(got.PublicKey) > 0
		if there != (got.Credential == "key:"+keyID) || there != (held.Credential != "") {
			t.Errorf("key %s: there %v, credential %q, then %q", keyID, there, got.Credential, held.Credential)
		}
		return got.PublicKey
	}
	api, err := w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{
		ProjectId: w.shop, Name: "API", AuthMethodType: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	add := func(expires time.Duration) string {
		t.Helper()
		made, err := w.AddAppKey(w.inA, &projectsv1.AddAppKeyRequest{ProjectId: w.shop, AppId: api.AppId,
			PublicKey: publicKey, ExpirationDate: timestamppb.New(time.Now().Add(expires))})
		if err != nil {
			t.Fatal(err)
		}
		return made.KeyId
	}
	short, long := add(time.Hour), add(48*time.Hour)
	if len(public(api.AppId, short)) == 0 || len(public(api.AppId, long)) == 0 {
		t.Error("a key is not returned")
	}
	if len(public(w.web.AppId, long))+len(public(api.AppId, "nothing"))+len(public(api.AppId, "")) != 0 {
		t.Error("a key of another application is returned")
	}
	w.ahead.Add(int64(2 * time.Hour))
	w.inA = w.as("org-a", "ORG_OWNER") // callers are signed for seconds
	if len(public(api.AppId, short)) != 0 {
		t.Error("an expired key is returned")
	}
	if _, err := w.RemoveAppKey(w.inA, &projectsv1.RemoveAppKeyRequest{ProjectId: w.shop, AppId: api.AppId,
		KeyId: long}); err != nil {
		t.Fatal(err)
	}
	if len(public(api.AppId, long)) != 0 {
		t.Error("a removed key is returned")
	}
}

// Roles count that an organization gave on its own project or by a grant that is active and still has them.
func TestResolveAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.project(w.inA, "Shop"), w.project(w.inA, "Office")
	w.roles(w.inA, p, "admin", "clerk", "guest")
	w.roles(w.inA, other, "boss")
	auth := w.inAuth()
	access := func(ctx context.Context, userID, orgID string) (bool, []string) {
		t.Helper()
		r := &projectsv1.ResolveAccessRequest{ProjectId: p, UserId: userID, OrgId: orgID}
		got, err := auth.ResolveAccess(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		var roles []string
		for _, r := range got.Roles {
			roles = append(roles, r.Key+" of "+r.OrgId)
		}
		return got.OrgHasProject, roles
	}
	check := func(what, userID, orgID string, has bool, want ...string) {
		t.Helper()
		if got, roles := access(t.Context(), userID, orgID); got != has || !slices.Equal(roles, want) {
			t.Errorf("%s: %v, %v, want %v, %v", what, got, roles, has, want)
		}
	}
	check("nothing", "user-org-a", "org-a", true)
	check("another organization", "user-org-b", "org-b", false)
	w.give(w.inA, "user-org-a", other, "", "boss")
	check("a role on another project", "user-org-a", "org-a", true)
	w.give(w.inA, "user-org-a", p, "", "guest", "admin")
	w.give(w.inA, "user-org-b", p, "", "guest")
	check("own roles", "user-org-a", "org-a", true, "admin of org-a", "guest of org-a")
	check("a role of a foreign user", "user-org-b", "org-b", false, "guest of org-a")
	g := w.grant(p, "org-b", "clerk", "guest")
	w.give(w.inB, "user-org-b", p, g, "clerk", "guest")
	check("roles by a grant", "user-org-b", "org-b", true, "clerk of org-b", "guest of org-a", "guest of org-b")
	if _, err := w.DeactivateProjectGrant(w.inA, &projectsv1.ProjectGrantRequest{ProjectId: p,
		GrantId: g}); err != nil {
		t.Fatal(err)
	}
	check("an inactive grant", "user-org-b", "org-b", false, "guest of org-a")
	_, err := auth.ResolveAccess(t.Context(), &projectsv1.ResolveAccessRequest{ProjectId: "nothing"})
	refused(t, err, "PROJECT_NOT_FOUND")
}
