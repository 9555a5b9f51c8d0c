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
	name   string       // of the method
	absent *fault.Fault // the fault for a missing object; nil for lists
	inside bool         // the object is in a project, so the call can name a wrong project
	run    func(context.Context, at) (int, error)
}

// at is the store with the ids for a call.
type at struct {
	store.Store
	ids
}

func one[T any](_ T, err error) (int, error)               { return 1, err }
func many[T any](l search.List[T], err error) (int, error) { return int(l.Total), err }
func found[T any](ctx context.Context, s at, query *search.Query) (int, error) {
	return many(store.Search[T](ctx, s.Store, query, page()))
}
func listed(l *heraldv1.SearchChangesResponse, err error) (int, error) {
	return len(l.GetResult()), err
}
func page() search.Page { return search.Page{Limit: 100} }

// everything has a call of every method about an organization. Removals are last, the innermost objects first.
var everything = []call{
	{"Project", projectsfault.ErrProjectNotFound, false, func(ctx context.Context, s at) (int, error) {
		return one(s.Project(ctx, s.org, s.project))
	}},
	{"ChangeProject", projectsfault.ErrProjectNotFound, false, func(ctx context.Context, s at) (int, error) {
		return one(s.ChangeProject(ctx, s.org, s.project, touch))
	}},
	{"Projects", nil, false, func(ctx context.Context, s at) (int, error) {
		return found[domain.Project](ctx, s, s.Projects(s.org).Where("id = ?", s.project))
	}},
	{"Changes", nil, false, func(ctx context.Context, s at) (int, error) {
		return listed(s.Changes(ctx, "project", s.org, s.project, page()))
	}},
	{"CreateRoles", projectsfault.ErrProjectNotFound, false, func(ctx context.Context, s at) (int, error) {
		return one(s.CreateRoles(ctx, s.org, s.project, []domain.Role{{Key: "another"}}, happened))
	}},
	{"RoleKeys", nil, true, func(ctx context.Context, s at) (int, error) {
		found, err := s.RoleKeys(ctx, s.org, s.project, []string{s.role})
		return len(found), err
	}},
	{"ChangeRole", projectsfault.ErrProjectRoleNotFound, true, func(ctx context.Context, s at) (int, error) {
		return one(s.ChangeRole(ctx, s.org, s.project, s.role, touch))
	}},
	{"Roles", nil, true, func(ctx context.Context, s at) (int, error) {
		return found[domain.Role](ctx, s, s.Roles(s.org, s.project).Where("r.key = ?", s.role))
	}},
	{"ProjectGrant", projectsfault.ErrProjectGrantNotFound, true, func(ctx context.Context, s at) (int, error) {
		return one(s.ProjectGrant(ctx, s.org, s.project, s.grant))
	}},
	{"CreateProjectGrant", projectsfault.ErrProjectNotFound, false, func(ctx context.Context, s at) (int, error) {
		g := s.more("2").aGrant()
		g.GrantedOrgID = "org-d"
		return one(s.CreateProjectGrant(ctx, g, happened))
	}},
	{"ChangeProjectGrant", projectsfault.ErrProjectGrantNotFound, true, func(ctx context.Context, s at) (int, error) {
		return one(s.ChangeProjectGrant(ctx, s.org, s.project, s.grant, touch))
	}},
	{"ProjectGrants", nil, true, func(ctx context.Context, s at) (int, error) {
		return found[domain.ProjectGrant](ctx, s, s.ProjectGrants(s.org, s.project).Where("g.id = ?", s.grant))
	}},
	{"UserGrant", projectsfault.ErrUserGrantNotFound, false, func(ctx context.Context, s at) (int, error) {
		return one(s.UserGrant(ctx, s.org, s.user, s.userGrant))
	}},
	{"CreateUserGrant", projectsfault.ErrUserGrantProjectUnknown, false, func(ctx context.Context, s at) (int, error) {
		return one(s.CreateUserGrant(ctx, s.more("2").aUserGrant(), happened))
	}},
	{"ChangeUserGrant", projectsfault.ErrUserGrantNotFound, false, func(ctx context.Context, s at) (int, error) {
		return one(s.ChangeUserGrant(ctx, s.org, s.user, s.userGrant, touch))
	}},
	{"UserGrants", nil, false, func(ctx context.Context, s at) (int, error) {
		return found[domain.UserGrant](ctx, s, s.UserGrants(s.org).Where("u.id = ?", s.userGrant))
	}},
	{"Application", projectsfault.ErrAppNotFound, true, func(ctx context.Context, s at) (int, error) {
		return one(s.Application(ctx, s.org, s.project, s.app))
	}},
	{"CreateApplication", projectsfault.ErrProjectNotFound, false, func(ctx context.Context, s at) (int, error) {
		return one(s.CreateApplication(ctx, s.more("2").anApp(), happened))
	}},
	{"ChangeApplication", projectsfault.ErrAppNotFound, true, func(ctx context.Context, s at) (int, error) {
		return one(s.ChangeApplication(ctx, s.org, s.project, s.app, touch))
	}},
	{"Applications", nil, true, func(ctx context.Context, s at) (int, error) {
		return found[domain.Application](ctx, s, s.Applications(s.org, s.project).Where("id = ?", s.app))
	}},
	{"AppKey", projectsfault.ErrAppKeyNotFound, true, func(ctx context.Context, s at) (int, error) {
		return one(s.AppKey(ctx, s.org, s.project, s.app, s.key))
	}},
	{"AddAppKey", projectsfault.ErrAppNotFound, true, func(ctx context.Context, s at) (int, error) {
		k := s.aKey()
		k.ID += "2"
		return one(s.AddAppKey(ctx, k, []byte{2}, happened))
	}},
	{"SearchAppKeys", nil, true, func(ctx context.Context, s at) (int, error) {
		return many(s.SearchAppKeys(ctx, s.org, s.project, s.app, page()))
	}},
	{"RemoveAppKey", projectsfault.ErrAppKeyNotFound, true, func(ctx context.Context, s at) (int, error) {
		return one(s.RemoveAppKey(ctx, s.org, s.project, s.app, s.key, happened))
	}},
	{"RemoveApplication", projectsfault.ErrAppNotFound, true, func(ctx context.Context, s at) (int, error) {
		return one(s.RemoveApplication(ctx, s.org, s.project, s.app, happened))
	}},
	{"RemoveUserGrant", projectsfault.ErrUserGrantNotFound, false, func(ctx context.Context, s at) (int, error) {
		return one(s.RemoveUserGrant(ctx, s.org, s.user, s.userGrant, touch))
	}},
	{"RemoveProjectGrant", projectsfault.ErrProjectGrantNotFound, true, func(ctx context.Context, s at) (int, error) {
		return one(s.RemoveProjectGrant(ctx, s.org, s.project, s.grant, touch))
	}},
	{"RemoveRole", projectsfault.ErrProjectRoleNotFound, true, func(ctx context.Context, s at) (int, error) {
		return one(s.RemoveRole(ctx, s.org, s.project, s.role, happened))
	}},
	{"RemoveProject", projectsfault.ErrProjectNotFound, false, func(ctx context.Context, s at) (int, error) {
		return one(s.RemoveProject(ctx, s.org, s.project, happened))
	}},
}

// elsewhere lists the methods that need not have an organization as a condition, with the reason.
var elsewhere = map[string]string{
	"FindTaken":          "ids are the instance's",
	"Now":                "reads no database",
	"Client":             "auth knows only the client id: TestResolvedClientHasAllThatTokensDependOn",
	"Access":             "auth calls it for any project: TestAccessIsRolesThatCount",
	"CreateProject":      "needs no existing object",
	"GrantTo":            "the organization with the grant calls it: TestGrantIsReadByItsOrganizationOnly",
	"RemoveGrantsOfUser": "handles an event of users",
	"SomeProjects":       "reads for a removed organization", "SomeGrantsTo": "reads for a removed organization",
	"Answer":          "the organization with the grant calls it: TestOnlyTheGrantedOrganizationAnswers",
	"GrantedProjects": "the organization with the grant calls it: TestGrantIsReadByItsOrganizationOnly",
	"Events":          "users names the organization: TestReadEvents",
	"Expirations":     "users names the organization: TestExpirationsOfApplications",
}

// No method finds or changes objects of another organization or another project. With the right
// organization and project it does.
func TestQueriesFindOnlyObjectsOfTheirOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := w.make(clerk)
	theirs := w.make(ids{
		org: "org-b", project: "p9", role: "guest", grant: "g9",
		app: "a9", key: "k9", user: "u9", userGrant: "ug9",
	})
	sibling := ids{
		org: "org-a", project: "p2", role: "boss", grant: "g2",
		app: "a2", key: "k2", user: "u2", userGrant: "ug2",
	}
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
			t.Run(m.name+" in "+where, func(t *testing.T) {
				n, err := m.run(t.Context(), at{w.Store, i})
				if m.absent == nil && (n != 0 || err != nil) || m.absent != nil && !errors.Is(err, m.absent) {
					t.Errorf("%d, %v", n, err)
				}
			})
		}
	}
	if testkit.Rows(t, w.db, "events") != before {
		t.Error("something was written")
	}
	for _, m := range everything {
		t.Run(m.name, func(t *testing.T) {
			if n, err := m.run(t.Context(), at{w.Store, mine}); n == 0 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
}

func TestEveryMethodIsCalledForAForeignOrganization(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range everything {
		names = append(names, m.name)
	}
	testkit.Listed[store.Store](t, names, elsewhere)
}

// Only the organization to which a project is granted reads its grant.
func TestGrantIsReadByItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.make(clerk)
	absent, unknown := projectsfault.ErrProjectGrantNotFound, projectsfault.ErrUserGrantProjectGrantUnknown
	for org, want := range map[string]struct {
		found           int
		read, userGrant error
	}{"org-c": {1, nil, nil}, "org-a": {0, absent, unknown}, "org-b": {0, absent, unknown}} {
		t.Run(org, func(t *testing.T) {
			if _, err := w.GrantTo(t.Context(), org, i.project, i.grant); !errors.Is(err, want.read) {
				t.Error(err)
			}
			n, err := found[domain.ProjectGrant](t.Context(), at{w.Store, i}, w.GrantedProjects(org))
			if n != want.found || err != nil {
				t.Errorf("%d found, %v", n, err)
			}
			g := i.more("2").aUserGrant()
			g.OrgID, g.ProjectGrantID = org, i.grant
			if _, err := w.CreateUserGrant(t.Context(), g, happened); !errors.Is(err, want.userGrant) {
				t.Error(err)
			}
		})
	}
}
