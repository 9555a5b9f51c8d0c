package store_test

import (
	"fmt"
	"testing"

	"herald/services/projects/internal/domain"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

func TestManyRolesAreOneTransactionWithAnEventForEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := domain.Project{ID: "shop", OrgID: "o", Settings: domain.Settings{Name: "Shop"}, State: domain.ProjectActive}
	w.must(w.CreateProject(t.Context(), p, &projectsv1.ProjectCreated{}))
	var roles []domain.Role
	for i := range 1000 {
		roles = append(roles, domain.Role{Key: fmt.Sprint("role ", i)})
	}
	w.must(w.CreateRoles(t.Context(), "o", "shop", roles, &projectsv1.RoleAdded{Key: "role 0"}))
	var written, transactions int
	w.must(nil, w.db.QueryRow(t.Context(), `select count(*), count(distinct e.xmin::text) from roles r
		join events e on e.position = r.sequence and e.data ->> 'key' = r.key join outbox o on o.position = e.position
		where e.name = 'role_added' and e.aggregate_id = 'shop'`).Scan(&written, &transactions))
	if written != len(roles) || transactions != 1 {
		t.Errorf("%d of %d roles have their event, in %d transactions", written, len(roles), transactions)
	}
}
