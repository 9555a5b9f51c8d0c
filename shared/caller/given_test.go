package caller_test

import (
	"slices"
	"testing"

	"herald/shared/caller"
)

// Givers names a role with a permission exactly where the role has it.
func TestGivers(t *testing.T) {
	t.Parallel()
	given := caller.PermissionsOf([]string{"ORG_PROJECT_CREATOR", "PROJECT_OWNER_VIEWER", "NO_ROLE"})
	for _, p := range permissions {
		want := matches(roles["ORG_PROJECT_CREATOR"].holds, p) || matches(roles["PROJECT_OWNER_VIEWER"].holds, p)
		if slices.Contains(given, p) != want {
			t.Errorf("%s is given: %t", p, !want)
		}
	}
	names, gives := caller.RolesGiving(given)
	found := map[[2]string]bool{}
	for i, name := range names {
		found[[2]string{name, gives[i]}] = true
	}
	if len(found) != len(gives) {
		t.Errorf("%d pairs, %d of them different", len(gives), len(found))
	}
	for name, said := range roles {
		for _, p := range permissions {
			want := slices.Contains(given, p) && matches(said.holds, p) && !matches(said.except, p)
			if found[[2]string{name, p}] != want {
				t.Errorf("%s gives %s: %t", name, p, !want)
			}
		}
	}
	if len(caller.PermissionsOf(nil)) != 0 {
		t.Error("no role gives something")
	}
}
