package store_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/shared/gen/fault/projectsfault"
)

// A user gets roles by a project grant only if it is active, of the same project and to the user's own organization.
// The same is true for a change of the roles.
func TestUserGrantNeedsAnActiveProjectGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.make(clerk)
	w.make(ids{
		org: "org-a", project: "p2", role: "clerk", grant: "g2",
		app: "a2", key: "k2", user: "u2", userGrant: "ug2",
	})
	elsewhere := i.aGrant()
	elsewhere.ID, elsewhere.GrantedOrgID = "g3", "org-d"
	w.must(w.CreateProjectGrant(t.Context(), elsewhere, happened))
	given := i.more("3").aUserGrant()
	given.OrgID, given.ProjectGrantID = "org-c", "g1"
	w.must(w.CreateUserGrant(t.Context(), given, happened))
	by := func(grant string) error {
		_, err := w.ChangeUserGrant(t.Context(), "org-c", given.UserID, given.ID,
			func(g *domain.UserGrant) (proto.Message, error) {
				g.ProjectGrantID = grant
				return happened, nil
			})
		return err
	}
	if err := by("g1"); err != nil {
		t.Errorf("by its grant: %v", err)
	}
	for what, grant := range map[string]string{"another project's": "g2", "another organization's": "g3"} {
		if err := by(grant); !errors.Is(err, projectsfault.ErrUserGrantOutdated) {
			t.Errorf("by %s grant: %v", what, err)
		}
	}
	w.must(w.ChangeProjectGrant(t.Context(), "org-a", "p1", "g1", func(g *domain.ProjectGrant) (proto.Message, error) {
		g.State = domain.GrantInactive
		return happened, nil
	}))
	if err := by("g1"); !errors.Is(err, projectsfault.ErrUserGrantOutdated) {
		t.Errorf("by an inactive grant: %v", err)
	}
	if _, err := w.GrantTo(t.Context(), "org-c", "p2", "g1"); !errors.Is(err, projectsfault.ErrProjectGrantNotFound) {
		t.Errorf("a grant of another project: %v", err)
	}
}
