package apps_test

import (
	"context"
	"testing"

	"herald/services/projects/internal/testworld"
	"herald/shared/caller"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/testkit"
)

// Only holders of org.write mark an application as trusted, or configure one that stays trusted. Others may end the
// trust.
func TestTrustedApplicationNeedsOrgWrite(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	projectID := w.Project(w.InA, "portal")
	owner := w.With("org-a", caller.Membership{OrganizationID: "org-a", ProjectID: projectID,
		Roles: []string{"PROJECT_OWNER"}})
	app := w.WebApp(owner, projectID, "web")
	uris := []string{"https://app.example.com/callback"}
	put := &projectsv1.UpdateOidcConfigRequest{
		ProjectId: projectID, AppId: app.AppId, RedirectUris: uris, Trusted: true,
	}
	_, err := w.UpdateOidcConfig(owner, put)
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.write", "org-a")
	_, err = w.CreateOidcApp(owner, &projectsv1.CreateOidcAppRequest{
		ProjectId: projectID, Name: "planted", Trusted: true,
	})
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.write")
	if _, err := w.UpdateOidcConfig(w.InA, put); err != nil || !w.App(projectID, app.AppId).GetOidcConfig().Trusted {
		t.Fatalf("marked by an owner of the organization: %v", err)
	}
	put.RedirectUris = []string{"https://attacker.example.com/callback"}
	_, err = w.UpdateOidcConfig(owner, put)
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.write")
	put.Trusted = false
	if _, err := w.UpdateOidcConfig(owner, put); err != nil || w.App(projectID, app.AppId).GetOidcConfig().Trusted {
		t.Errorf("the end of the trust: %v", err)
	}
}

// An application that is not trusted marks no application as trusted, neither itself nor a new one, whatever the person
// may do for whom it acts. It may end the trust.
func TestUntrustedApplicationTrustsNothing(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	projectID := w.Project(w.InA, "portal")
	app := w.WebApp(w.InA, projectID, "web")
	by := func(clientID string, trusted bool) context.Context {
		return testkit.As(w.Context(), w.Ground, caller.Caller{
			UserID: "owner", OrganizationID: "org-a", HomeOrganizationID: "org-a",
			Memberships: []caller.Membership{{OrganizationID: "org-a", Roles: []string{"ORG_OWNER"}}},
			ClientID:    clientID, ClientTrusted: trusted,
		})
	}
	put := func(ctx context.Context, trusted bool) error {
		_, err := w.UpdateOidcConfig(ctx, &projectsv1.UpdateOidcConfigRequest{
			ProjectId: projectID, AppId: app.AppId, RedirectUris: []string{"https://app.example.com/callback"},
			Trusted: trusted,
		})
		return err
	}
	untrusted := by(app.ClientId, false)
	testkit.Refused(t, put(untrusted, true), "APP_NOT_TRUSTED")
	_, err := w.CreateOidcApp(untrusted, &projectsv1.CreateOidcAppRequest{
		ProjectId: projectID, Name: "planted", Trusted: true,
	})
	testkit.Refused(t, err, "APP_NOT_TRUSTED")
	if err := put(by("another", true), true); err != nil {
		t.Errorf("by a trusted application: %v", err)
	}
	testkit.Refused(t, put(untrusted, true), "APP_NOT_TRUSTED")
	if err := put(untrusted, false); err != nil {
		t.Errorf("the end of the trust: %v", err)
	}
}
