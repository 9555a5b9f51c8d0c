package store_test

import (
	"errors"
	"testing"

	"herald/services/projects/internal/domain"
	"herald/services/projects/internal/store"
	"herald/shared/event"
	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/testkit"
)

// violation is the fault of a constraint, and changes that the constraint refuses.
type violation struct {
	want    *fault.Fault
	changes map[string]func(w world, i ids) error
}

// violations has an entry for each constraint with a fault. The database has the objects of ids and, in the same
// organization, the projects p2 and p3.
var violations = map[string]violation{
	"projects_name": {projectsfault.ErrProjectNameTaken, map[string]func(world, ids) error{
		"created": func(w world, i ids) error {
			p := ids{org: i.org, project: "p4"}.aProject()
			p.Name = i.project
			_, err := w.CreateProject(w.Context(), p, happened)
			return err
		},
		"renamed": func(w world, i ids) error {
			_, err := w.ChangeProject(w.Context(), i.org, "p3", renamed(i.project))
			return err
		},
	}},
	"applications_name": {projectsfault.ErrAppNameTaken, map[string]func(world, ids) error{
		"created": func(w world, i ids) error {
			a := i.more("2").anApp()
			a.Name = i.app
			_, err := w.CreateApplication(w.Context(), a, happened)
			return err
		},
	}},
	"applications_project": {projectsfault.ErrProjectNotFound, map[string]func(world, ids) error{
		"removed meanwhile": func(w world, i ids) error {
			return w.removedMeanwhile("p2", func() error {
				_, err := w.CreateApplication(w.Context(), ids{org: i.org, project: "p2", app: "a2"}.anApp(), happened)
				return err
			})
		},
	}},
	"roles_key": {projectsfault.ErrProjectRoleExists, map[string]func(world, ids) error{
		"created": func(w world, i ids) error {
			_, err := w.CreateRoles(w.Context(), i.org, i.project, []domain.Role{{Key: "new"}, {Key: i.role}}, happened)
			return err
		},
	}},
	"project_grants_org": {projectsfault.ErrProjectGrantExists, map[string]func(world, ids) error{
		"created": func(w world, i ids) error {
			g := i.aGrant()
			g.ID = "g2"
			_, err := w.CreateProjectGrant(w.Context(), g, happened)
			return err
		},
	}},
	"user_grants_place": {projectsfault.ErrUserGrantExists, map[string]func(world, ids) error{
		"created": func(w world, i ids) error {
			g := i.aUserGrant()
			g.ID = "ug2"
			_, err := w.CreateUserGrant(w.Context(), g, happened)
			return err
		},
	}},
	"user_grants_user": {projectsfault.ErrUserGrantUserRemoved, map[string]func(world, ids) error{
		"removed": func(w world, i ids) error {
			g := i.more("2").aUserGrant()
			if err := w.RemoveGrantsOfUser(w.Context(), event.Delivery{AggregateID: g.UserID}); err != nil {
				return err
			}
			_, err := w.CreateUserGrant(w.Context(), g, happened)
			return err
		},
	}},
}

// never are the constraints that no request violates, with the reason.
var never = map[string]string{
	"projects_pkey": newID, "applications_pkey": newID, "application_keys_pkey": newID,
	"project_grants_pkey": newID, "user_grants_pkey": newID,
	"roles_project":                        locked,
	"application_keys_application_id_fkey": locked,
	"project_grants_project_id_fkey":       locked,
	"user_grants_project_id_fkey":          locked,
	"user_grants_project_grant_id_fkey": "a grant is removed only with its project locked, as is the project " +
		"here",
	"project_grant_acceptances_pkey":          "the grant is locked, or new",
	"project_grant_acceptances_grant_id_fkey": locked,
	"removed_users_pkey":                      "an event that comes again writes nothing",
	"applications_config":                     "the api makes applications with one of the two",
	"applications_former":                     "the domain changes both together",
}

const (
	newID  = "the api makes a new id"
	locked = "the statement has locked what it is in"
)

// removedMeanwhile removes a project after create has read it.
func (w world) removedMeanwhile(projectID string, create func() error) error {
	w.Helper()
	tx, err := w.db.Begin(w.Context())
	if err != nil {
		return err
	}
	if _, err := tx.Exec(w.Context(), `delete from projects where id = $1`, projectID); err != nil {
		return err
	}
	created := begin(create)
	w.waiting(1)
	if err := tx.Commit(w.Context()); err != nil {
		return err
	}
	return <-created
}

// A change that a constraint refuses returns the constraint's fault and writes nothing.
func TestRefusalByAConstraintReturnsItsFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	testkit.Constrained(t, w.db, store.Constraints, violations, never)
	i := w.make(clerk)
	for _, id := range []string{"p2", "p3"} {
		w.must(w.CreateProject(t.Context(), ids{org: i.org, project: id}.aProject(), happened))
	}
	before := testkit.Rows(t, w.db, "events")
	for name, v := range violations {
		for what, change := range v.changes {
			t.Run(name+" "+what, func(t *testing.T) {
				if err := change(w, i); !errors.Is(err, v.want) {
					t.Errorf("%v, want %s", err, v.want.ID)
				}
			})
		}
	}
	if testkit.Rows(t, w.db, "events") != before {
		t.Error("something was written")
	}
}
