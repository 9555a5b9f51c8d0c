package consumer_test

import (
	"os"
	"testing"

	"herald/services/text"
	"herald/shared/boot"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

var kit = testkit.New("text", text.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// When an organization is removed, its own texts and its branding are removed, each with an event. Those of other
// organizations stay.
func TestRemovedOrganizationTakesItsTextsAndBrandingAlong(t *testing.T) {
	t.Parallel()
	w := kit.Start(t, testkit.Ground(t), func(s *boot.Service) error {
		return text.New(t.Context(), s, text.Config{DefaultLanguage: "fr"})
	})
	for _, sql := range []string{
		`insert into custom_texts (org_id, kind, language, title, sequence, created_at, changed_at)
			select org, 'init', language, 'Mine', 1, now(), now()
			from unnest(array['o1', 'o2']) org, unnest(array['de', 'fr']) language`,
		`insert into brandings (org_id, primary_color, sequence, created_at, changed_at)
			select org, '#00aaff', 1, now(), now() from unnest(array['o1', 'o2']) org`,
	} {
		w.Must(w.Service.DB.Exec(t.Context(), sql))
	}
	cause := kit.Publisher(t, w.Ground, "users").Publish("o1", "o1", "admin", &usersv1.OrgRemoved{})
	testkit.Until(t, w.Service.DB, "brandings", `not exists (select from custom_texts where org_id = 'o1')
		and not exists (select from brandings where org_id = 'o1')`)
	if w.Rows("custom_texts where org_id = 'o2'") != 2 ||
		w.Rows("brandings where org_id = 'o2'") != 1 {
		t.Error("another organization's texts or branding were removed too")
	}
	if w.Rows(`events where name = 'removed' and actor = 'admin' and organization_id = 'o1'
		and data->>'cause' = $1`, cause) != 3 {
		t.Error("not every text and the branding has an event that names the cause")
	}
}
