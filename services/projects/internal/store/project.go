package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const (
	projectColumns = `id, org_id, name, state, generation, project_role_assertion, project_role_check,
		has_project_check, private_labeling_setting, sequence, created_at, changed_at`
	readProject = `select ` + projectColumns + ` from projects where id = @id and org_id is not distinct from @org_id`
)

func projectKey(orgID, id string) postgres.Args { return postgres.Args{"org_id": orgID, "id": id} }

// ProjectName is the column that projects are searched by.
var ProjectName = search.Column{Exact: "name", Folded: "name_folded"}

// Project reads a project of an organization.
func (s Store) Project(ctx context.Context, orgID, id string) (domain.Project, error) {
	p, err := postgres.One[domain.Project](ctx, s.journal.DB, readProject, projectKey(orgID, id))
	return p, postgres.Missing(err, projectsfault.ErrProjectNotFound)
}

// CreateProject writes a project.
func (s Store) CreateProject(ctx context.Context, p domain.Project, created proto.Message) (resource.Record, error) {
	return s.journal.Create(ctx, created, event.Statement{
		AggregateID: p.ID, OrganizationID: p.OrgID,
		SQL: `project as (
			insert into projects (
				id, org_id, name, name_folded, state, project_role_assertion, project_role_check,
				has_project_check, private_labeling_setting, sequence, created_at, changed_at)
			select
				@id, @event_organization, @name, @name_folded, @state, @project_role_assertion, @project_role_check,
				@has_project_check, @private_labeling_setting, position, time, time
			from event
		)`,
		Args: projectArgs(p),
	})
}

// projectArgs are the arguments that a creation and a change have in common.
func projectArgs(p domain.Project) postgres.Args {
	return postgres.Args{
		"id": p.ID, "name": p.Name, "name_folded": search.Fold(p.Name), "state": p.State,
		"project_role_assertion": p.ProjectRoleAssertion, "project_role_check": p.ProjectRoleCheck,
		"has_project_check": p.HasProjectCheck, "private_labeling_setting": p.PrivateLabelingSetting,
	}
}

// lockProject locks a project, so that other changes of it or of objects in it wait.
const lockProject = readProject + ` for update`

// ChangeProject locks a project, calls change and saves the result.
func (s Store) ChangeProject(
	ctx context.Context, orgID, id string, change func(*domain.Project) (proto.Message, error),
) (domain.Project, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Project]{
		Lock: lockProject, Args: projectKey(orgID, id), NotFound: projectsfault.ErrProjectNotFound, Write: saveProject,
	}, change)
}

func saveProject(p domain.Project) event.Statement {
	args := projectArgs(p)
	args["generation"] = p.Generation
	return event.Statement{
		AggregateID: p.ID, OrganizationID: p.OrgID,
		SQL: `project as (
			update projects set name = @name, name_folded = @name_folded, state = @state, generation = @generation,
				project_role_assertion = @project_role_assertion, project_role_check = @project_role_check,
				has_project_check = @has_project_check, private_labeling_setting = @private_labeling_setting,
				sequence = position, changed_at = time
			from event where id = @id
		)`,
		Args: args,
	}
}

// inProject selects the events of objects that are removed with their project.
const inProject = `
	select 'user_grant', 'removed', u.id, u.org_id, jsonb_build_object('userId', u.user_id, 'projectId', u.project_id)
		from user_grants u where u.project_id = @id
	union all
	select 'project_grant', 'removed', g.id, @event_organization::text,
			jsonb_build_object('projectId', g.project_id, 'grantedOrgId', g.granted_org_id)
		from project_grants g where g.project_id = @id
	union all
	select 'project', 'role_removed', r.project_id, @event_organization::text, jsonb_build_object('key', r.key)
		from roles r where r.project_id = @id
	union all
	select 'application', 'key_removed', a.id, @event_organization::text,
			jsonb_build_object('projectId', a.project_id, 'keyId', k.id)
		from application_keys k join applications a on a.id = k.application_id where a.project_id = @id
	union all
	select 'application', 'removed', a.id, @event_organization::text, jsonb_build_object('projectId', a.project_id)
		from applications a where a.project_id = @id`

// RemoveProject removes a project with everything in it.
func (s Store) RemoveProject(ctx context.Context, orgID, id string, removed proto.Message) (domain.Project, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Project]{
		Lock: lockProject, Args: projectKey(orgID, id), NotFound: projectsfault.ErrProjectNotFound,
		// Applications and their keys are added and removed without the project's lock.
		LockParts: `select from applications where org_id = @org_id and project_id = @id order by id for update`,
		Write: func(p domain.Project) event.Statement {
			removal := event.Removal("projects", p.ID, p.OrgID)
			removal.Along = inProject
			return removal
		},
	}, func(*domain.Project) (proto.Message, error) { return removed, nil })
}

// Projects returns a query for the projects of an organization.
func (s Store) Projects(orgID string) *search.Query {
	return search.Select(projectColumns, "projects", "created_at, id").Where("org_id = ?", orgID)
}
