package projects_test

import (
	"context"
	"maps"
	"strings"
	"testing"

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

// Roles on a project are enough for its applications, but not for those of other projects.
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
		// The owner may be refused because of a state, but not for a missing permission.
		if err := call(w, on(p, "PROJECT_OWNER"), p, app); err != nil && fault.From(err).Code != fault.Precondition {
			t.Errorf("%s by the project's owner: %v", method, err)
		}
	}
}
