package text

import (
	"testing"

	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// An organization's own texts and its branding go with it, each with an event; others' stay.
func TestRemovedOrganization(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, org := range []string{"o1", "o2"} {
		for _, language := range []string{"de", "fr"} {
			w.set(t, org, &textv1.SetMessageTextRequest{Kind: "init", Language: language, Title: "Mine"})
		}
		w.setColor(t, org, "#00aaff")
	}
	cause := kit.Herald(t, w.ground, "users").Tell("o1", "o1", "admin", &usersv1.OrgRemoved{})
	testkit.Until(t, w.service.DB, "brandings", "not exists (select from custom_texts where org_id = 'o1') "+
		"and not exists (select from brandings where org_id = 'o1')")
	if testkit.Rows(t, w.service.DB, "custom_texts where org_id = 'o2'") != 2 ||
		testkit.Rows(t, w.service.DB, "brandings where org_id = 'o2'") != 1 {
		t.Error("another organization's texts or branding are gone too")
	}
	if testkit.Rows(t, w.service.DB, `events where name = 'removed' and actor = 'admin' and organization_id = 'o1'
		and data->>'cause' = $1`, cause) != 3 {
		t.Error("not every text and the branding has an event that names the cause")
	}
}
