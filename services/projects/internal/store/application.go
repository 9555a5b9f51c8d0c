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
	applicationColumns = `id, project_id, org_id, name, state, generation, oidc_config, api_config,
		secret_hash, former_secret_hash, former_secret_until, sequence, created_at, changed_at`
	readApplication = `select ` + applicationColumns + ` from applications where id = @id
		and org_id is not distinct from @org_id and project_id is not distinct from @project_id`
)

func applicationKey(orgID, projectID, id string) postgres.Args {
	return postgres.Args{"org_id": orgID, "project_id": projectID, "id": id}
}

// ApplicationName is the column that applications are searched by.
var ApplicationName = search.Column{Exact: "name", Folded: "name_folded"}

// Application reads an application of a project.
func (s Store) Application(ctx context.Context, orgID, projectID, id string) (domain.Application, error) {
	a, err := postgres.One[domain.Application](ctx, s.journal.DB, readApplication, applicationKey(orgID, projectID, id))
	return a, postgres.Missing(err, projectsfault.ErrAppNotFound)
}

// CreateApplication writes an application.
func (s Store) CreateApplication(
	ctx context.Context, a domain.Application, created proto.Message,
) (resource.Record, error) {
	return s.journal.Create(ctx, created, event.Statement{
		AggregateID: a.ID, OrganizationID: a.OrgID, Unless: projectsfault.ErrProjectNotFound,
		If: `exists (select from projects where id = @project_id and org_id is not distinct from @event_organization)`,
		SQL: `application as (
			insert into applications (
				id, project_id, org_id, name, name_folded, state,
				oidc_config, api_config, secret_hash, sequence, created_at, changed_at)
			select
				@id, @project_id, @event_organization, @name, @name_folded, @state,
				@oidc_config::jsonb, @api_config::jsonb, @secret_hash, position, time, time
			from event
		)`,
		Args: postgres.Args{
			"id": a.ID, "project_id": a.ProjectID, "name": a.Name, "name_folded": search.Fold(a.Name), "state": a.State,
			"oidc_config": a.OIDC, "api_config": a.API, "secret_hash": a.SecretHash,
		},
	})
}

// ChangeApplication locks an application, calls change and saves the result.
func (s Store) ChangeApplication(
	ctx context.Context, orgID, projectID, id string, change func(*domain.Application) (proto.Message, error),
) (domain.Application, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Application]{
		Lock: readApplication + ` for update`, Args: applicationKey(orgID, projectID, id),
		NotFound: projectsfault.ErrAppNotFound,
		Write:    saveApplication,
	}, change)
}

func saveApplication(a domain.Application) event.Statement {
	return event.Statement{
		AggregateID: a.ID, OrganizationID: a.OrgID,
		SQL: `application as (
			update applications set name = @name, name_folded = @name_folded, state = @state, generation = @generation,
				oidc_config = @oidc_config::jsonb, api_config = @api_config::jsonb, secret_hash = @secret_hash,
				former_secret_hash = @former_secret_hash, former_secret_until = @former_secret_until,
				sequence = position, changed_at = time
			from event where id = @id
		)`,
		Args: postgres.Args{
			"id": a.ID, "name": a.Name, "name_folded": search.Fold(a.Name), "state": a.State,
			"generation": a.Generation, "oidc_config": a.OIDC, "api_config": a.API, "secret_hash": a.SecretHash,
			"former_secret_hash": a.FormerSecretHash, "former_secret_until": a.FormerSecretUntil,
		},
	}
}

// RemoveApplication removes an application with its keys.
func (s Store) RemoveApplication(
	ctx context.Context, orgID, projectID, id string, removed proto.Message,
) (domain.Application, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Application]{
		Lock: readApplication + ` for update`, Args: applicationKey(orgID, projectID, id),
		NotFound: projectsfault.ErrAppNotFound,
		Write: func(a domain.Application) event.Statement {
			removal := event.Removal("applications", a.ID, a.OrgID)
			removal.Along = `select 'application', 'key_removed', @id::text, @event_organization::text,
					jsonb_build_object('projectId', @project_id::text, 'keyId', k.id)
				from application_keys k where k.application_id = @id`
			removal.Args["project_id"] = a.ProjectID
			return removal
		},
	}, func(*domain.Application) (proto.Message, error) { return removed, nil })
}

// Applications returns a query for the applications of a project.
func (s Store) Applications(orgID, projectID string) *search.Query {
	return search.Select(applicationColumns, "applications", "created_at, id").
		Where("org_id = ?", orgID).Where("project_id = ?", projectID)
}
