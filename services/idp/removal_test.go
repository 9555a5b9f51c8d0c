package idp_test

import (
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// The providers of a removed organization are removed, each with an event. Those of other
// organizations stay.
func TestRemovedOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.directory(w.inA, "one")
	w.directory(w.inA, "two")
	w.directory(w.inB, "other")
	cause := kit.Herald(t, w.ground, "users").Tell("org-a", "org-a", "admin", &usersv1.OrgRemoved{})
	testkit.Until(t, w.service.DB, "idps", "not exists (select from idps where org_id = 'org-a')")
	if testkit.Rows(t, w.service.DB, "idps") != 1 {
		t.Error("another organization's provider is gone too")
	}
	if testkit.Rows(t, w.service.DB, `events where name = 'removed' and actor = 'admin' and data->>'cause' = $1`,
		cause) != 2 {
		t.Error("not every provider has an event that names the cause")
	}
}
