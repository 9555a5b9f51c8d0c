package consumer_test

import (
	"os"
	"testing"

	"herald/services/idp/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

// When an organization is removed, its providers are removed, each with an event. The providers of other organizations
// stay.
func TestRemovedOrganizationTakesItsProvidersAlong(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	w.Directory(w.InA, "one")
	w.Directory(w.InA, "two")
	w.Directory(w.InB, "other")
	cause := testworld.Kit.Publisher(t, w.Ground, "users").Publish("org-a", "org-a", "admin", &usersv1.OrgRemoved{})
	testkit.Until(t, w.Service.DB, "idps", "not exists (select from idps where org_id = 'org-a')")
	if w.Rows("idps") != 1 {
		t.Error("another organization's provider was removed too")
	}
	if w.Rows(`events where name = 'removed' and actor = 'admin' and data->>'cause' = $1`,
		cause) != 2 {
		t.Error("not every provider has an event that names the cause")
	}
}
