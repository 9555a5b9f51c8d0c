package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const projectColumns = `id, org_id, name, state, generation, project_role_assertion, project_role_check, has_project_check, private_labeling_setting, sequence, created_at, changed_at`

// ProjectName is the column that projects are searched by.
var ProjectName = search.Column{Exact: "name", Folded: "name_folded"}

// Project reads a project of an organization.
func (s Store) Project(ctx context.Context, orgID, id string) (domain.Project, error) {
	p, err := postgres.One[domain.Project](ctx, s.DB, `select `+projectColumns+` from projects where org_id = $1 and id = $2`, orgID, id)
	return p, postgres.Missing(err, domain.ErrProjectNotFound)
}

// CreateProject writes a project.
func (s Store) CreateProject(ctx context.Context, p domain.Project, created proto.Message) (resource.Record, error) {
	return s.Create(ctx, created, event.Save{
		AggregateID: p.ID, OrganizationID: p.OrgID, Constraints: constraints,
		SQL: `project as (
			insert into projects (id, org_id, name, name_folded, state, project_role_assertion, project_role_check, has_project_check,
				private_labeling_setting, sequence, created_at, changed_at)
			select $9, $10, $11, $12, $13, $14, $15, $16, $17, position, time, time from event
		)`,
		Args: []any{
			p.ID, p.OrgID, p.Name, search.Fold(p.Name), p.State,
			p.ProjectRoleAssertion, p.ProjectRoleCheck, p.HasProjectCheck, p.PrivateLabelingSetting,
		},
	})
}

// lockProject keeps all else that changes a project, or what is in it, waiting.
const lockProject = `select ` + projectColumns + ` from projects where org_id = $1 and id = $2 for update`

// ChangeProject locks a project and saves what change makes of it.
func (s Store) ChangeProject(ctx context.Context, orgID, id string, change func(*domain.Project) (proto.Message, error)) (domain.Project, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.Project]{
		Lock: lockProject, NotFound: domain.ErrProjectNotFound, Save: saveProject,
	}, []any{orgID, id}, change)
}

func saveProject(p domain.Project) event.Save {
	return event.Save{
		AggregateID: p.ID, OrganizationID: p.OrgID, Constraints: constraints,
		SQL: `project as (
			update projects set name = $10, name_folded = $11, state = $12, generation = $13, project_role_assertion = $14,
				project_role_check = $15, has_project_check = $16, private_labeling_setting = $17, sequence = position, changed_at = time
			from event where id = $9
		)`,
		Args: []any{
			p.ID, p.Name, search.Fold(p.Name), p.State, p.Generation,
			p.ProjectRoleAssertion, p.ProjectRoleCheck, p.HasProjectCheck, p.PrivateLabelingSetting,
		},
	}
}

// RemoveProject removes a project with everything in it. The event names the
// applications that went with it.
func (s Store) RemoveProject(ctx context.Context, orgID, id string, removed proto.Message) (domain.Project, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.Project]{
		Lock: lockProject, NotFound: domain.ErrProjectNotFound,
		Save: func(p domain.Project) event.Save {
			return event.Save{
				AggregateID: p.ID, OrganizationID: p.OrgID,
				DataOf: `select jsonb_build_object('applicationIds', array(select a.id from applications a where a.project_id = $9 order by a.id))`,
				SQL:    `gone as (delete from projects using event where projects.id = $9)`, Args: []any{p.ID},
			}
		},
	}, []any{orgID, id}, func(*domain.Project) (proto.Message, error) { return removed, nil })
}

// Projects begins a search among the projects of an organization.
func (s Store) Projects(orgID string) *search.Query {
	return search.Select(projectColumns, "projects", "created_at, id").Where("org_id = ?", orgID)
}

// SearchProjects runs it.
func (s Store) SearchProjects(ctx context.Context, query *search.Query, p search.Page) (search.List[domain.Project], error) {
	return search.Read[domain.Project](ctx, s.DB, query, p)
}
