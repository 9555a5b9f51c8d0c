package store

import (
	"context"
	"strconv"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

// A statement that grants a project's roles locks the project's row `for share`. One that removes roles or grants locks
// it `for no key update`, before any other row. So the two never run at the same time, and no user keeps a role that
// was removed.

var (
	grantColumns = `g.id, g.granted_org_id, g.role_keys, g.state, g.generation, g.sequence, g.created_at, g.changed_at,
		g.project_id, p.org_id, p.name as project_name, p.state as project_state,
		coalesce(x.state, ` + pending + `) as acceptance, coalesce(x.sequence, 0) as acceptance_sequence,
		coalesce(x.created_at, g.created_at) as acceptance_created_at,
		coalesce(x.changed_at, g.created_at) as acceptance_changed_at`
	pending   = strconv.Itoa(int(domain.AcceptancePending))
	grantFrom = `project_grants g join projects p on p.id = g.project_id
		left join project_grant_acceptances x on x.grant_id = g.id`
	readGrant = `select ` + grantColumns + ` from ` + grantFrom +
		` where g.id = @id and p.org_id is not distinct from @org_id and g.project_id is not distinct from @project_id`
	lockGrant = readGrant + ` for no key update of p for update of g`
)

func grantKey(orgID, projectID, id string) postgres.Args {
	return postgres.Args{"org_id": orgID, "project_id": projectID, "id": id}
}

// GrantedProjectName is the column that granted projects are searched by.
var GrantedProjectName = search.Column{Exact: "p.name", Folded: "p.name_folded"}

// ProjectGrant reads a grant of a project.
func (s Store) ProjectGrant(ctx context.Context, orgID, projectID, id string) (domain.ProjectGrant, error) {
	g, err := postgres.One[domain.ProjectGrant](ctx, s.journal.DB, readGrant, grantKey(orgID, projectID, id))
	return g, postgres.Missing(err, projectsfault.ErrProjectGrantNotFound)
}

// GrantTo reads a grant of a project to an organization.
func (s Store) GrantTo(ctx context.Context, grantedOrgID, projectID, id string) (domain.ProjectGrant, error) {
	g, err := postgres.One[domain.ProjectGrant](ctx, s.journal.DB, `select `+grantColumns+` from `+grantFrom+`
		where g.id = @id and g.granted_org_id is not distinct from @org_id
			and g.project_id is not distinct from @project_id`,
		grantKey(grantedOrgID, projectID, id))
	return g, postgres.Missing(err, projectsfault.ErrProjectGrantNotFound)
}

// granting locks a project and writes a grant of its roles. lock has both statements, and granted is the event.
func (s Store) granting(
	ctx context.Context, lock event.Locked[domain.Project], granted proto.Message,
) (resource.Record, error) {
	p, err := event.Change(ctx, s.journal, lock, func(*domain.Project) (proto.Message, error) { return granted, nil })
	return resource.Record{Sequence: p.Sequence, CreatedAt: p.ChangedAt, ChangedAt: p.ChangedAt}, err
}

// holdOwn locks an organization's own project while its roles are granted.
const holdOwn = readProject + ` for share`

// CreateProjectGrant writes a grant, and its acceptance if the grant is accepted at once. It returns
// ErrProjectRoleUnknown if a role was removed meanwhile.
func (s Store) CreateProjectGrant(
	ctx context.Context, g domain.ProjectGrant, added proto.Message,
) (resource.Record, error) {
	return s.granting(ctx, event.Locked[domain.Project]{
		Lock: holdOwn, Args: projectKey(g.OrgID, g.ProjectID), NotFound: projectsfault.ErrProjectNotFound,
		Write: func(p domain.Project) event.Statement {
			return event.Statement{
				AggregateID: g.ID, OrganizationID: p.OrgID, Unless: projectsfault.ErrProjectRoleUnknown,
				If: `@role_keys::text[] <@ array(select key from roles where project_id = @project_id)`,
				Along: `select 'project_grant', 'accepted', @id, @granted_org_id,
						jsonb_build_object('projectId', @project_id::text)
					where @acceptance::smallint = @accepted`,
				SQL: `project_grant as (
					insert into project_grants (
						id, project_id, granted_org_id, role_keys, state, sequence, created_at, changed_at)
					select
						@id, @project_id, @granted_org_id, @role_keys::text[], @state, position, time, time
					from event
				), ` + accepting,
				Args: postgres.Args{
					"id": g.ID, "project_id": p.ID, "granted_org_id": g.GrantedOrgID, "role_keys": g.RoleKeys,
					"state": g.State, "acceptance": g.Acceptance, "accepted": domain.AcceptanceAccepted,
				},
			}
		},
	}, added)
}

// ChangeProjectGrant locks a grant, calls change and saves the result. Users lose the roles that the grant no longer
// has.
func (s Store) ChangeProjectGrant(
	ctx context.Context, orgID, projectID, id string, change func(*domain.ProjectGrant) (proto.Message, error),
) (domain.ProjectGrant, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.ProjectGrant]{
		Lock: lockGrant, Args: grantKey(orgID, projectID, id), NotFound: projectsfault.ErrProjectGrantNotFound,
		Write: func(g domain.ProjectGrant) event.Statement {
			return event.Statement{
				AggregateID: g.ID, OrganizationID: g.OrgID, Unless: projectsfault.ErrProjectRoleUnknown,
				If: `@role_keys::text[] <@ array(select key from roles where project_id = @project_id)`,
				Along: `select 'user_grant', 'changed', u.id, u.org_id,
						jsonb_build_object('userId', u.user_id, 'projectId', u.project_id, 'changed', array['roleKeys'])
					from user_grants u where u.project_grant_id = @id and not u.role_keys <@ @role_keys::text[]`,
				SQL: `project_grant as (
					update project_grants set role_keys = @role_keys::text[], state = @state,
						generation = @generation, sequence = position, changed_at = time
					from event where id = @id
				), users as (
					update user_grants u set sequence = along.position, changed_at = along.time,
						role_keys = array(select k from unnest(u.role_keys) k where k = any (@role_keys::text[])
							order by k)
					from along where along.aggregate_id = u.id
				)`,
				Args: postgres.Args{"id": g.ID, "project_id": g.ProjectID, "role_keys": g.RoleKeys, "state": g.State,
					"generation": g.Generation},
			}
		},
	}, change)
}

// RemoveProjectGrant removes a grant and the users' roles by it.
func (s Store) RemoveProjectGrant(
	ctx context.Context, orgID, projectID, id string, remove func(*domain.ProjectGrant) (proto.Message, error),
) (domain.ProjectGrant, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.ProjectGrant]{
		Lock: lockGrant, Args: grantKey(orgID, projectID, id), NotFound: projectsfault.ErrProjectGrantNotFound,
		Write: func(g domain.ProjectGrant) event.Statement {
			removal := event.Removal("project_grants", g.ID, g.OrgID)
			removal.Along = `select 'user_grant', 'removed', u.id, u.org_id,
					jsonb_build_object('userId', u.user_id, 'projectId', u.project_id)
				from user_grants u where u.project_grant_id = @id`
			return removal
		},
	}, remove)
}

// ProjectGrants returns a query for the grants of a project.
func (s Store) ProjectGrants(orgID, projectID string) *search.Query {
	return search.Select(grantColumns, grantFrom, "g.created_at, g.id").
		Where("p.org_id = ?", orgID).Where("g.project_id = ?", projectID)
}

// GrantedProjects returns a query for the grants to an organization.
func (s Store) GrantedProjects(grantedOrgID string) *search.Query {
	return search.Select(grantColumns, grantFrom, "g.created_at, g.id").Where("g.granted_org_id = ?", grantedOrgID)
}
