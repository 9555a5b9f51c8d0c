package store_test

import (
	"fmt"
	"strings"
	"testing"

	"herald/services/projects/internal/domain"
	"herald/shared/fault"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/testkit"
)

// Of fifty objects at once as many are created as a quota leaves, and the fault of the others names it. Objects of
// another owner are not counted. The number of an organization counts instead of that of all.
func TestQuotaHoldsForFiftyAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table  string
		create func(w world, i ids, n int) error
	}{
		"projects": {"projects where org_id = 'org-a'", func(w world, i ids, n int) error {
			p := i.aProject()
			p.ID, p.Name = fmt.Sprint("project ", n), fmt.Sprint("name ", n)
			_, err := w.CreateProject(w.Context(), p, happened)
			return err
		}},
		"roles": {"roles where project_id = 'p1'", func(w world, i ids, n int) error {
			_, err := w.CreateRoles(w.Context(), i.org, i.project, []domain.Role{{Key: fmt.Sprint(n)}}, happened)
			return err
		}},
		"apps": {"applications where project_id = 'p1'", func(w world, i ids, n int) error {
			_, err := w.CreateApplication(w.Context(), i.more(fmt.Sprint("n", n)).anApp(), happened)
			return err
		}},
		"project_grants": {"project_grants where project_id = 'p1'", func(w world, i ids, n int) error {
			g := i.more(fmt.Sprint("n", n)).aGrant()
			g.GrantedOrgID = fmt.Sprint("granted ", n)
			_, err := w.CreateProjectGrant(w.Context(), g, happened)
			return err
		}},
		"user_grants": {"user_grants where user_id = 'u1' and org_id = 'org-a'", func(w world, i ids, n int) error {
			g := i.aUserGrant()
			g.ID, g.ProjectID = fmt.Sprint("grant ", n), fmt.Sprint("project ", n)
			p := i.aProject()
			p.ID, p.Name = g.ProjectID, g.ProjectID
			w.must(w.CreateProject(w.Context(), p, happened))
			w.must(w.CreateRoles(w.Context(), i.org, p.ID, []domain.Role{{Key: i.role}}, happened))
			_, err := w.CreateUserGrant(w.Context(), g, happened)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			i := w.make(clerk)
			had := testkit.Rows(t, w.db, c.table)
			w.must(nil, postgres.SetQuotas(t.Context(), w.db,
				quota.Settings{Quotas: fmt.Sprintf("%s=0,%[1]s@org-a=%d", name, had+3)}))
			made := testkit.Race(t, 50, func(n int) error { return c.create(w, i, n) }, fault.ErrQuotaExceeded.ID)
			if made != 3 || testkit.Rows(t, w.db, c.table) != had+3 {
				t.Errorf("%d were created", made)
			}
			if err := c.create(w, i, 99); !strings.Contains(err.Error(), `quota "`+name+`"`) {
				t.Error(err)
			}
		})
	}
}

// Many roles at once count each, and are refused together.
func TestQuotaCountsEachRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.make(clerk)
	w.must(nil, postgres.SetQuotas(t.Context(), w.db, quota.Settings{Quotas: "roles=3"}))
	three := []domain.Role{{Key: "1"}, {Key: "2"}, {Key: "3"}}
	_, err := w.CreateRoles(t.Context(), i.org, i.project, three, happened)
	if fault.From(err).ID != fault.ErrQuotaExceeded.ID || testkit.Rows(t, w.db, "roles where project_id = 'p1'") != 1 {
		t.Error(err)
	}
	if !strings.Contains(err.Error(), `At most 3 roles of a project are allowed (quota "roles")`) {
		t.Errorf("of 1 role there is, and 3 more: %v", err)
	}
	w.must(w.CreateRoles(t.Context(), i.org, i.project, three[:2], happened))
}

// Statements with many rows each take turns long before the quota, so that they pass it by nothing together.
func TestQuotaHoldsForManyRowsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.make(clerk)
	other, err := w.db.Begin(t.Context())
	w.must(nil, err)
	w.must(other.Exec(t.Context(), `insert into roles select 'p1', n::text, '', '', '', '', 1, now(), now()
		from generate_series(1, 600) n`))
	done := begin(func() error {
		roles := make([]domain.Role, 600)
		for k := range roles {
			roles[k].Key = fmt.Sprint("more ", k)
		}
		_, err := w.CreateRoles(w.Context(), i.org, i.project, roles, happened)
		return err
	})
	w.waiting(1)
	w.must(nil, other.Commit(t.Context()))
	if err := <-done; fault.From(err).ID != fault.ErrQuotaExceeded.ID {
		t.Errorf("%v, %d roles", err, testkit.Rows(t, w.db, "roles"))
	}
}

// Without its line in the table a quota is not unlimited.
func TestQuotaWithoutALineRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.make(clerk)
	w.must(w.db.Exec(t.Context(), `delete from quotas where name = 'roles'`))
	_, err := w.CreateRoles(t.Context(), i.org, i.project, []domain.Role{{Key: "r"}}, happened)
	if err == nil || fault.From(err).ID == fault.ErrQuotaExceeded.ID || !strings.Contains(err.Error(), `no "roles"`) {
		t.Error(err)
	}
}
