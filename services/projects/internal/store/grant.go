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

// Whoever gives a project's roles holds its row with `for share`; whoever takes roles or
// grants away holds it with `for no key update`, before any other row. So the two take
// turns, and nobody is left with a role that is gone.

const (
	grantColumns = `g.id, g.granted_org_id, g.role_keys, g.state, g.sequence, g.created_at, g.changed_at,
		g.project_id, p.org_id, p.name as project_name, p.state as project_state`
	grantFrom = `project_grants g join projects p on p.id = g.project_id`
	lockGrant = `select ` + grantColumns + ` from ` + grantFrom + ` where p.org_id = $1 and g.project_id = $2 and g.id = $3
		for no key update of p for update of g`
)

// GrantedProjectName is the column that granted projects are searched by.
var GrantedProjectName = search.Column{Exact: "p.name", Folded: "p.name_folded"}

// ProjectGrant reads a grant of a project.
func (s Store) ProjectGrant(ctx context.Context, orgID, projectID, id string) (domain.ProjectGrant, error) {
	g, err := postgres.One[domain.ProjectGrant](ctx, s.DB, `select `+grantColumns+` from `+grantFrom+` where p.org_id = $1 and g.project_id = $2 and g.id = $3`, orgID, projectID, id)
	return g, postgres.Missing(err, domain.ErrGrantNotFound)
}

// GrantTo reads a grant as the organization sees it that has it.
func (s Store) GrantTo(ctx context.Context, grantedOrgID, projectID, id string) (domain.ProjectGrant, error) {
	g, err := postgres.One[domain.ProjectGrant](ctx, s.DB, `select `+grantColumns+` from `+grantFrom+` where g.granted_org_id = $1 and g.project_id = $2 and g.id = $3`, grantedOrgID, projectID, id)
	return g, postgres.Missing(err, domain.ErrGrantNotFound)
}

// giving writes what gives a project's roles to somebody. Lock answers with the project.
func (s Store) giving(ctx context.Context, lock event.Object[domain.Project], key []any, given proto.Message) (resource.Record, error) {
	p, err := event.Change(ctx, s.Journal, lock, key, func(*domain.Project) (proto.Message, error) { return given, nil })
	return resource.Record{Sequence: p.Sequence, CreatedAt: p.ChangedAt, ChangedAt: p.ChangedAt}, err
}

// lockOwn holds an organization's own project for giving its roles.
const lockOwn = `select ` + projectColumns + ` from projects where org_id = $1 and id = $2 for share`

// CreateProjectGrant writes a grant. ErrRoleUnknown where a role is gone meanwhile.
func (s Store) CreateProjectGrant(ctx context.Context, g domain.ProjectGrant, added proto.Message) (resource.Record, error) {
	return s.giving(ctx, event.Object[domain.Project]{
		Lock: lockOwn, NotFound: domain.ErrProjectNotFound,
		Save: func(p domain.Project) event.Save {
			return event.Save{
				AggregateID: g.ID, OrganizationID: p.OrgID, Constraints: constraints, Unless: domain.ErrRoleUnknown,
				If: `$12::text[] <@ array(select key from roles where project_id = $10)`,
				SQL: `project_grant as (
					insert into project_grants (id, project_id, granted_org_id, role_keys, state, sequence, created_at, changed_at)
					select $9, $10, $11, $12::text[], $13, position, time, time from event
				)`,
				Args: []any{g.ID, p.ID, g.GrantedOrgID, g.RoleKeys, g.State},
			}
		},
	}, []any{g.OrgID, g.ProjectID}, added)
}

// ChangeProjectGrant locks a grant and saves what change makes of it. Users lose the
// roles that it no longer holds.
func (s Store) ChangeProjectGrant(ctx context.Context, orgID, projectID, id string, change func(*domain.ProjectGrant) (proto.Message, error)) (domain.ProjectGrant, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.ProjectGrant]{
		Lock: lockGrant, NotFound: domain.ErrGrantNotFound,
		Save: func(g domain.ProjectGrant) event.Save {
			return event.Save{
				AggregateID: g.ID, OrganizationID: g.OrgID, Unless: domain.ErrRoleUnknown,
				If: `$11::text[] <@ array(select key from roles where project_id = $10)`,
				SQL: `project_grant as (
					update project_grants set role_keys = $11::text[], state = $12, sequence = position, changed_at = time from event where id = $9
				), users as (
					update user_grants set role_keys = array(select k from unnest(role_keys) k where k = any ($11::text[]) order by k),
						sequence = position, changed_at = time
					from event where project_grant_id = $9 and not role_keys <@ $11::text[]
				)`,
				Args: []any{g.ID, g.ProjectID, g.RoleKeys, g.State},
			}
		},
	}, []any{orgID, projectID, id}, change)
}

// RemoveProjectGrant removes a grant with the roles that were given by it.
func (s Store) RemoveProjectGrant(ctx context.Context, orgID, projectID, id string, removed func(domain.ProjectGrant) proto.Message) (domain.ProjectGrant, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.ProjectGrant]{
		Lock: lockGrant, NotFound: domain.ErrGrantNotFound,
		Save: func(g domain.ProjectGrant) event.Save {
			return event.Save{
				AggregateID: g.ID, OrganizationID: g.OrgID,
				SQL: `gone as (delete from project_grants using event where project_grants.id = $9)`, Args: []any{g.ID},
			}
		},
	}, []any{orgID, projectID, id}, func(g *domain.ProjectGrant) (proto.Message, error) { return removed(*g), nil })
}

// ProjectGrants begins a search among the grants of a project.
func (s Store) ProjectGrants(orgID, projectID string) *search.Query {
	return search.Select(grantColumns, grantFrom, "g.created_at, g.id").Where("p.org_id = ?", orgID).Where("g.project_id = ?", projectID)
}

// GrantedProjects begins a search among the grants that an organization has.
func (s Store) GrantedProjects(grantedOrgID string) *search.Query {
	return search.Select(grantColumns, grantFrom, "g.created_at, g.id").Where("g.granted_org_id = ?", grantedOrgID)
}

// SearchProjectGrants runs one of the two.
func (s Store) SearchProjectGrants(ctx context.Context, query *search.Query, p search.Page) (search.List[domain.ProjectGrant], error) {
	return search.Read[domain.ProjectGrant](ctx, s.DB, query, p)
}
