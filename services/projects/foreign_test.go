package projects_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/permission"
)

// appMethods is every method on one application, with a request that would succeed.
var appMethods = map[string]func(w *world, ctx context.Context, projectID, appID string) error{
	"GetApp": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.GetApp(ctx, &projectsv1.GetAppRequest{ProjectId: p, AppId: a})
		return err
	},
	"UpdateApp": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.UpdateApp(ctx, &projectsv1.UpdateAppRequest{ProjectId: p, AppId: a, Name: "Mine"})
		return err
	},
	"UpdateOidcConfig": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.UpdateOidcConfig(ctx, &projectsv1.UpdateOidcConfigRequest{
			ProjectId: p, AppId: a, RedirectUris: []string{"https://evil.example/"},
		})
		return err
	},
	"UpdateApiConfig": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.UpdateApiConfig(ctx, &projectsv1.UpdateApiConfigRequest{ProjectId: p, AppId: a})
		return err
	},
	"GenerateOidcClientSecret": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.GenerateOidcClientSecret(ctx, &projectsv1.GenerateClientSecretRequest{ProjectId: p, AppId: a})
		return err
	},
	"GenerateApiClientSecret": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.GenerateApiClientSecret(ctx, &projectsv1.GenerateClientSecretRequest{ProjectId: p, AppId: a})
		return err
	},
	"DeactivateApp": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.DeactivateApp(ctx, &projectsv1.AppRequest{ProjectId: p, AppId: a})
		return err
	},
	"ReactivateApp": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.ReactivateApp(ctx, &projectsv1.AppRequest{ProjectId: p, AppId: a})
		return err
	},
	"RemoveApp": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.RemoveApp(ctx, &projectsv1.AppRequest{ProjectId: p, AppId: a})
		return err
	},
	"AddAppKey": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.AddAppKey(ctx, &projectsv1.AddAppKeyRequest{ProjectId: p, AppId: a})
		return err
	},
	"AddAppKey of one's own": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.AddAppKey(ctx, &projectsv1.AddAppKeyRequest{ProjectId: p, AppId: a, PublicKey: ownKey()})
		return err
	},
	"SearchAppKeys": func(w *world, ctx context.Context, p, a string) error {
		_, err := w.SearchAppKeys(ctx, &projectsv1.SearchAppKeysRequest{ProjectId: p, AppId: a})
		return err
	},
}

// An application of another project or organization looks as one that is not there.
func TestForeignApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other, foreign := w.project(w.inA, "Shop"), w.project(w.inA, "Other"), w.project(w.inB, "Foreign")
	app, sibling := w.webApp(w.inA, p, "Web").AppId, w.webApp(w.inA, other, "Web").AppId
	removed := w.webApp(w.inA, p, "Removed").AppId
	if _, err := w.RemoveApp(w.inA, &projectsv1.AppRequest{ProjectId: p, AppId: removed}); err != nil {
		t.Fatal(err)
	}
	before := w.rows("events")
	for method, call := range appMethods {
		missing := fault.From(call(w, w.inA, p, "nothing"))
		for label, c := range map[string]struct {
			ctx          context.Context
			project, app string
		}{
			"another organization's":    {w.inB, p, app},
			"in one's own project":      {w.inB, foreign, app},
			"another project's":         {w.inA, p, sibling},
			"in another organization's": {w.inA, foreign, app},
			"in no project":             {w.inA, "nothing", app},
			"removed":                   {w.inA, p, removed},
			"with a project's id":       {w.inA, p, p},
			"with quotes":               {w.inA, p, "' or '1'='1"},
		} {
			err := call(w, c.ctx, c.project, c.app)
			refused(t, err, "APP_NOT_FOUND")
			if !proto.Equal(fault.From(err).Status(), missing.Status()) {
				t.Errorf("%s, %s: %v, but %v for nothing", method, label, err, missing)
			}
		}
	}
	for _, id := range []string{p, "nothing"} {
		_, err := w.CreateOidcApp(w.inB, &projectsv1.CreateOidcAppRequest{ProjectId: id, Name: "Mine"})
		refused(t, err, "PROJECT_NOT_FOUND")
		_, err = w.CreateApiApp(w.inB, &projectsv1.CreateApiAppRequest{ProjectId: id, Name: "Mine"})
		refused(t, err, "PROJECT_NOT_FOUND")
	}
	if w.rows("events") != before || w.rows("applications") != 2 || w.rows("application_keys") != 0 {
		t.Error("something was written")
	}
}

// Roles on the project are enough for its applications, and for no others.
func TestAppPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.project(w.inA, "Shop"), w.project(w.inA, "Other")
	on := func(id, role string) context.Context {
		return w.with("org-a", permission.Membership{OrganizationID: "org-a", ProjectID: id, Roles: []string{role}})
	}
	readers := []context.Context{on(p, "PROJECT_OWNER_VIEWER"), w.as("org-a", "ORG_OWNER_VIEWER")}
	strangers := []context.Context{
		on(other, "PROJECT_OWNER"), w.with("org-a"), w.as("org-a", "ORG_USER_MANAGER"),
		w.as("org-a", "ORG_PROJECT_CREATOR"),
		w.with("org-a", permission.Membership{OrganizationID: "org-b", Roles: []string{"ORG_OWNER"}}),
	}
	calls := maps.Clone(appMethods)
	calls["CreateOidcApp"] = func(w *world, ctx context.Context, p, _ string) error {
		_, err := w.CreateOidcApp(ctx, &projectsv1.CreateOidcAppRequest{ProjectId: p, Name: "Made"})
		return err
	}
	calls["CreateApiApp"] = func(w *world, ctx context.Context, p, _ string) error {
		_, err := w.CreateApiApp(ctx, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "Made too"})
		return err
	}
	calls["SearchApps"] = func(w *world, ctx context.Context, p, _ string) error {
		_, err := w.SearchApps(ctx, &projectsv1.SearchAppsRequest{ProjectId: p})
		return err
	}
	for method, call := range calls {
		app := w.webApp(w.inA, p, method).AppId
		if reads := strings.HasPrefix(method, "Get") || strings.HasPrefix(method, "Search"); reads {
			for _, ctx := range readers {
				if err := call(w, ctx, p, app); err != nil {
					t.Errorf("%s: %v", method, err)
				}
			}
		} else {
			for _, ctx := range readers {
				refused(t, call(w, ctx, p, app), "PERMISSION_DENIED", "project.app.")
			}
		}
		for _, ctx := range strangers {
			refused(t, call(w, ctx, p, app), "PERMISSION_DENIED", "project.app.")
		}
		refused(t, call(w, w.Context(), p, app), "UNAUTHENTICATED")
		// A state may stand against the owner, but no permission.
		if err := call(w, on(p, "PROJECT_OWNER"), p, app); err != nil && fault.From(err).Code != fault.Precondition {
			t.Errorf("%s by the project's owner: %v", method, err)
		}
	}
}
