package store_test

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/testkit"
)

var clerk = ids{
	org: "org-a", project: "p1", role: "clerk", grant: "g1",
	app: "a1", key: "k1", user: "u1", userGrant: "ug1",
}

// Adding to a project while it is removed fails: the project is not found.
func TestNothingIsAddedToAProjectThatIsBeingRemoved(t *testing.T) {
	t.Parallel()
	for what, add := range map[string]func(w world, i ids) error{
		"an application": func(w world, i ids) error {
			_, err := w.CreateApplication(w.Context(), i.more("2").anApp(), happened)
			return err
		},
		"a role": func(w world, i ids) error {
			_, err := w.CreateRoles(w.Context(), i.org, i.project, []domain.Role{{Key: "new"}}, happened)
			return err
		},
		"a grant": func(w world, i ids) error {
			g := i.more("2").aGrant()
			g.GrantedOrgID = "org-d"
			_, err := w.CreateProjectGrant(w.Context(), g, happened)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			i := w.make(clerk)
			release := w.hold("projects", i.project)
			removed := begin(func() error {
				_, err := w.RemoveProject(t.Context(), i.org, i.project, happened)
				return err
			})
			w.waiting(1) // the removal is first
			added := begin(func() error { return add(w, i) })
			w.waiting(2)
			release()
			if err := <-removed; err != nil {
				t.Error(err)
			}
			if err := <-added; !errors.Is(err, projectsfault.ErrProjectNotFound) {
				t.Errorf("%v, want %v", err, projectsfault.ErrProjectNotFound)
			}
		})
	}
}

// The removal of a user's grants waits for a grant that is being written. A later grant is refused. So no grant stays.
// The removal can be delivered twice.
func TestGrantToARemovedUserIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.make(clerk)
	tx, err := w.db.Begin(t.Context())
	w.must(nil, err)
	w.must(tx.Exec(t.Context(), `insert into user_grants (id, org_id, project_id, role_keys, user_id, sequence,
			created_at, changed_at)
		values ('late', 'org-a', 'p1', '{}', 'u12', 1, now(), now())`))
	removal := event.Delivery{ID: "cause", AggregateID: "u12", OrganizationID: "org-a", Actor: "admin"}
	removed := begin(func() error { return w.RemoveGrantsOfUser(t.Context(), removal) })
	w.waiting(1)
	later := begin(func() error {
		_, err := w.CreateUserGrant(t.Context(), i.more("2").aUserGrant(), happened)
		return err
	})
	w.waiting(2)
	w.must(nil, tx.Commit(t.Context()))
	if err := <-removed; err != nil {
		t.Error(err)
	}
	if err := <-later; !errors.Is(err, projectsfault.ErrUserGrantUserRemoved) {
		t.Errorf("granted afterwards: %v", err)
	}
	if err := w.RemoveGrantsOfUser(t.Context(), removal); err != nil {
		t.Error(err)
	}
	for what, want := range map[string]int{
		"user_grants": 1, "user_grants where user_id = 'u1'": 1,
		"events where aggregate = 'user_grant' and name = 'removed' and aggregate_id = 'late'": 1,
	} {
		if n := testkit.Rows(t, w.db, what); n != want {
			t.Errorf("%d %s, want %d", n, what, want)
		}
	}
}

// A role that is removed while it is being granted is not granted.
func TestRoleRemovedDuringItsGrantIsNotGranted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.make(clerk)
	release := w.hold("projects", i.project)
	removed := begin(func() error {
		_, err := w.RemoveRole(t.Context(), i.org, i.project, i.role, happened)
		return err
	})
	w.waiting(1) // the removal is first
	granted := begin(func() error {
		g := i.more("2").aGrant()
		g.GrantedOrgID = "org-d"
		_, err := w.CreateProjectGrant(t.Context(), g, happened)
		return err
	})
	userGranted := begin(func() error {
		_, err := w.CreateUserGrant(t.Context(), i.more("2").aUserGrant(), happened)
		return err
	})
	w.waiting(3)
	release()
	if err := <-removed; err != nil {
		t.Error(err)
	}
	if err := <-granted; !errors.Is(err, projectsfault.ErrProjectRoleUnknown) {
		t.Errorf("to an organization: %v", err)
	}
	if err := <-userGranted; !errors.Is(err, projectsfault.ErrUserGrantOutdated) {
		t.Errorf("to a user: %v", err)
	}
	for _, table := range []string{"project_grants", "user_grants"} {
		if n := testkit.Rows(t, w.db, table+" where role_keys <> '{}'"); n != 0 {
			t.Errorf("%s: %d still hold the role", table, n)
		}
	}
}

// The bound on keys holds for simultaneous additions.
func TestSimultaneousAdditionsKeepTheBoundOfKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.make(clerk)
	release := w.hold("applications", i.app)
	go func() {
		w.waiting(2)
		release()
	}()
	w.must(nil, postgres.SetQuotas(t.Context(), w.db, quota.Settings{Quotas: "app_keys=0,app_keys@org-a=7"}))
	n := testkit.Race(t, 12, func(n int) error {
		k := i.aKey()
		k.ID = fmt.Sprintf("another %d", n)
		_, err := w.AddAppKey(t.Context(), k, []byte{1}, happened)
		return err
	}, projectsfault.ErrAppKeyLimit.ID)
	if rows := testkit.Rows(t, w.db, "application_keys"); n != 6 || rows != 7 {
		t.Errorf("%d were added, %d are there", n, rows)
	}
}

// Of simultaneous requests for the same name one succeeds. The same is true for deactivations and
// reactivations.
func TestOneOfManyEqualChangesSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	testkit.Once(t, 12, func(n int) error {
		p := ids{org: "org-a", project: fmt.Sprint(n)}.aProject()
		p.Name = "Shop"
		_, err := w.CreateProject(t.Context(), p, happened)
		return err
	}, projectsfault.ErrProjectNameTaken.ID)
	i := w.make(clerk)
	for _, c := range []struct {
		change  func(*domain.Project) (proto.Message, error)
		refusal string
	}{
		{deactivated, projectsfault.ErrProjectNotActive.ID},
		{reactivated, projectsfault.ErrProjectNotInactive.ID},
	} {
		testkit.Once(t, 20, func(int) error {
			_, err := w.ChangeProject(t.Context(), i.org, i.project, c.change)
			return err
		}, c.refusal)
	}
	if n := testkit.Rows(t, w.db, "projects where id = $1 and generation = 2", i.project); n != 1 {
		t.Error("the generation did not rise once")
	}
}
