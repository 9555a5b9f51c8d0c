package store_test

import (
	"fmt"
	"testing"

	"herald/services/projects/internal/domain"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

// A thousand roles are one transaction, with an event for each of them.
func TestCreateRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := domain.Project{ID: "shop", OrgID: "o", Settings: domain.Settings{Name: "Shop"}, State: domain.ProjectActive}
	if _, err := w.CreateProject(t.Context(), p, &projectsv1.ProjectCreated{}); err != nil {
		t.Fatal(err)
	}
	var roles []domain.Role
	for i := range 1000 {
		roles = append(roles, domain.Role{Key: fmt.Sprint("role ", i)})
	}
	if _, err := w.CreateRoles(t.Context(), "o", "shop", roles, &projectsv1.RoleAdded{Key: "role 0"}); err != nil {
		t.Fatal(err)
	}
	var written, transactions int
	if err := w.db.QueryRow(t.Context(), `select count(*), count(distinct e.xmin::text) from roles r
		join events e on e.position = r.sequence and e.data ->> 'key' = r.key join outbox o on o.position = e.position
		where e.name = 'role_added' and e.aggregate_id = 'shop'`).Scan(&written, &transactions); err != nil {
		t.Fatal(err)
	}
	if written != len(roles) || transactions != 1 {
		t.Errorf("%d of %d roles have their event, in %d transactions", written, len(roles), transactions)
	}
}
