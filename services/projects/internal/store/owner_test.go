package store_test

import (
	"context"
	"errors"
	"testing"

	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
	"herald/shared/testkit"
)

// call is a call of a method of the store with ids. It returns the number of rows found or changed.
type call struct {
	names  []string     // of the methods: a search needs two
	absent *fault.Fault // the fault for a missing object; nil for lists
	inside bool         // the object is in a project, so the call can name a wrong project
	run    func(context.Context, store.Store, ids) (int, error)
}

func one[T any](_ T, err error) (int, error)               { return 1, err }
func many[T any](l search.List[T], err error) (int, error) { return int(l.Total), err }
func listed(l *heraldv1.SearchChangesResponse, err error) (int, error) {
	return len(l.GetResult()), err
}
func page() search.Page               { return search.Page{Limit: 100} }
func method(names ...string) []string { return names }

// everything has a call of every method about an organization. Removals are last, the innermost objects first.
var everything = []call{
	{method("Project"), projectsfault.ErrProjectNotFound, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.Project(ctx, i.org, i.project))
		}},
	{method("ChangeProject"), projectsfault.ErrProjectNotFound, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.ChangeProject(ctx, i.org, i.project, touch))
		}},
	{method("Projects", "SearchProjects"), nil, false, func(ctx context.Context, s store.Store, i ids) (int, error) {
		return many(s.SearchProjects(ctx, s.Projects(i.org).Where("id = ?", i.project), page()))
	}},
	{method("Changes"), nil, false, func(ctx context.Context, s store.Store, i ids) (int, error) {
		return listed(s.Changes(ctx, "project", i.org, i.project, page()))
	}},
	{method("CreateRoles"), projectsfault.ErrProjectNotFound, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.CreateRoles(ctx, i.org, i.project, []domain.Role{{Key: "another"}}, happened))
		}},
	{method("RoleKeys"), nil, true, func(ctx context.Context, s store.Store, i ids) (int, error) {
		found, err := s.RoleKeys(ctx, i.org, i.project, []string{i.role})
		return len(found), err
	}},
	{method("ChangeRole"), projectsfault.ErrProjectRoleNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.ChangeRole(ctx, i.org, i.project, i.role, touch))
		}},
	{method("Roles", "SearchRoles"), nil, true, func(ctx context.Context, s store.Store, i ids) (int, error) {
		return many(s.SearchRoles(ctx, s.Roles(i.org, i.project).Where("r.key = ?", i.role), page()))
	}},
	{method("ProjectGrant"), projectsfault.ErrProjectGrantNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.ProjectGrant(ctx, i.org, i.project, i.grant))
		}},
	{method("CreateProjectGrant"), projectsfault.ErrProjectNotFound, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			g := i.more("2").aGrant()
			g.GrantedOrgID = "org-d"
			return one(s.CreateProjectGrant(ctx, g, happened))
		}},
	{method("ChangeProjectGrant"), projectsfault.ErrProjectGrantNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.ChangeProjectGrant(ctx, i.org, i.project, i.grant, touch))
		}},
	{method("ProjectGrants", "SearchProjectGrants"), nil, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return many(s.SearchProjectGrants(ctx, s.ProjectGrants(i.org, i.project).Where("g.id = ?", i.grant),
				page()))
		}},
	{method("UserGrant"), projectsfault.ErrUserGrantNotFound, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.UserGrant(ctx, i.org, i.user, i.userGrant))
		}},
	{method("CreateUserGrant"), projectsfault.ErrUserGrantProjectUnknown, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.CreateUserGrant(ctx, i.more("2").aUserGrant(), happened))
		}},
	{method("ChangeUserGrant"), projectsfault.ErrUserGrantNotFound, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.ChangeUserGrant(ctx, i.org, i.user, i.userGrant, touch))
		}},
	{method("UserGrants", "SearchUserGrants"), nil, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return many(s.SearchUserGrants(ctx, s.UserGrants(i.org).Where("u.id = ?", i.userGrant), page()))
		}},
	{method("Application"), projectsfault.ErrAppNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.Application(ctx, i.org, i.project, i.app))
		}},
	{method("CreateApplication"), projectsfault.ErrProjectNotFound, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.CreateApplication(ctx, i.more("2").anApp(), happened))
		}},
	{method("ChangeApplication"), projectsfault.ErrAppNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.ChangeApplication(ctx, i.org, i.project, i.app, touch))
		}},
	{method("Applications", "SearchApplications"), nil, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return many(s.SearchApplications(ctx, s.Applications(i.org, i.project).Where("id = ?", i.app), page()))
		}},
	{method("AppKey"), projectsfault.ErrAppKeyNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.AppKey(ctx, i.org, i.project, i.app, i.key))
		}},
	{method("AddAppKey"), projectsfault.ErrAppNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			k := i.aKey()
			k.ID += "2"
			return one(s.AddAppKey(ctx, k, []byte{2}, happened))
		}},
	{method("SearchAppKeys"), nil, true, func(ctx context.Context, s store.Store, i ids) (int, error) {
		return many(s.SearchAppKeys(ctx, i.org, i.project, i.app, page()))
	}},
	{method("RemoveAppKey"), projectsfault.ErrAppKeyNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.RemoveAppKey(ctx, i.org, i.project, i.app, i.key, happened))
		}},
	{method("RemoveApplication"), projectsfault.ErrAppNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.RemoveApplication(ctx, i.org, i.project, i.app, happened))
		}},
	{method("RemoveUserGrant"), projectsfault.ErrUserGrantNotFound, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.RemoveUserGrant(ctx, i.org, i.user, i.userGrant, touch))
		}},
	{method("RemoveProjectGrant"), projectsfault.ErrProjectGrantNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.RemoveProjectGrant(ctx, i.org, i.project, i.grant, touch))
		}},
	{method("RemoveRole"), projectsfault.ErrProjectRoleNotFound, true,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.RemoveRole(ctx, i.org, i.project, i.role, happened))
		}},
	{method("RemoveProject"), projectsfault.ErrProjectNotFound, false,
		func(ctx context.Context, s store.Store, i ids) (int, error) {
			return one(s.RemoveProject(ctx, i.org, i.project, happened))
		}},
}

// elsewhere lists the methods that need not have an organization as a condition, with the reason.
var elsewhere = map[string]string{
	"Now":                "reads no database",
	"Client":             "auth knows only the client id: TestResolvedClientHasAllThatTokensDependOn",
	"Access":             "auth calls it for any project: TestAccessIsRolesThatCount",
	"CreateProject":      "needs no existing object",
	"GrantTo":            "the organization with the grant calls it: TestGrantIsReadByItsOrganizationOnly",
	"RemoveGrantsOfUser": "handles an event of users",
	"SomeProjects":       "reads for a removed organization", "SomeGrantsTo": "reads for a removed organization",
	"GrantedProjects": "the organization with the grant calls it: TestGrantIsReadByItsOrganizationOnly",
}

// No method finds or changes objects of another organization or another project. With the right
// organization and project it does.
func TestOwnerInEveryQuery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := w.make(ids{"org-a", "p1", "clerk", "g1", "a1", "k1", "u1", "ug1"})
	theirs := w.make(ids{"org-b", "p9", "guest", "g9", "a9", "k9", "u9", "ug9"})
	sibling := ids{"org-a", "p2", "boss", "g2", "a2", "k2", "u2", "ug2"}
	w.make(sibling)
	second := mine.anApp()
	second.ID, second.Name = "a0", "a0"
	w.must(w.CreateApplication(t.Context(), second, happened))
	before := testkit.Rows(t, w.db, "events")
	for _, m := range everything {
		stranger, wrong := mine, mine
		stranger.org, wrong.project = theirs.org, sibling.project
		places := map[string]ids{"another organization": stranger}
		if m.inside {
			places["another project"] = wrong
		}
		if m.absent == projectsfault.ErrAppKeyNotFound {
			another := mine
			another.app = second.ID
			places["another application"] = another
		}
		for where, i := range places {
			n, err := m.run(t.Context(), w.Store, i)
			if m.absent == nil && (n != 0 || err != nil) || m.absent != nil && !errors.Is(err, m.absent) {
				t.Errorf("%s in %s: %d, %v", m.names, where, n, err)
			}
		}
	}
	if testkit.Rows(t, w.db, "events") != before {
		t.Error("something was written")
	}
	for _, m := range everything {
		if n, err := m.run(t.Context(), w.Store, mine); n == 0 || err != nil {
			t.Errorf("%s where it is: %d, %v", m.names, n, err)
		}
	}
}

func TestEveryMethodIsCalledForAForeignOrganization(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range everything {
		names = append(names, m.names...)
	}
	testkit.Listed[store.Store](t, names, elsewhere)
}

// Only the organization to which a project is granted reads its grant.
func TestGrantIsReadByItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.make(ids{"org-a", "p1", "clerk", "g1", "a1", "k1", "u1", "ug1"})
	for org, want := range map[string]int{"org-c": 1, "org-a": 0, "org-b": 0} {
		_, err := w.GrantTo(t.Context(), org, i.project, i.grant)
		n, searching := many(w.SearchProjectGrants(t.Context(), w.GrantedProjects(org), page()))
		if (err == nil) != (want == 1) || err != nil && !errors.Is(err, projectsfault.ErrProjectGrantNotFound) ||
			n != want ||
			searching != nil {
			t.Errorf("%s: %v; %d found, %v", org, err, n, searching)
		}
		g := i.more("2").aUserGrant()
		g.OrgID, g.ProjectGrantID = org, i.grant
		_, err = w.CreateUserGrant(t.Context(), g, happened)
		if (err == nil) != (want == 1) || err != nil && !errors.Is(err, projectsfault.ErrUserGrantProjectGrantUnknown) {
			t.Errorf("%s gives by the grant: %v", org, err)
		}
	}
}
