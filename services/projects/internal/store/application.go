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

const (
	applicationColumns = `id, project_id, org_id, name, state, generation, oidc_config, api_config,
		secret_hash, former_secret_hash, former_secret_until, sequence, created_at, changed_at`
	readApplication = `select ` + applicationColumns + ` from applications where org_id = $1 and project_id = $2 and id = $3`
)

// ApplicationName is the column that applications are searched by.
var ApplicationName = search.Column{Exact: "name", Folded: "name_folded"}

// Application reads an application of a project.
func (s Store) Application(ctx context.Context, orgID, projectID, id string) (domain.Application, error) {
	a, err := postgres.One[domain.Application](ctx, s.DB, readApplication, orgID, projectID, id)
	return a, postgres.Missing(err, domain.ErrAppNotFound)
}

// CreateApplication writes an application.
func (s Store) CreateApplication(ctx context.Context, a domain.Application, created proto.Message) (resource.Record, error) {
	return s.Create(ctx, created, event.Save{
		AggregateID: a.ID, OrganizationID: a.OrgID, Constraints: constraints, Unless: domain.ErrProjectNotFound,
		If: `exists (select from projects where id = $10 and org_id = $11)`,
		SQL: `application as (
			insert into applications (id, project_id, org_id, name, name_folded, state, oidc_config, api_config, secret_hash, sequence, created_at, changed_at)
			select $9, $10, $11, $12, $13, $14, $15::jsonb, $16::jsonb, $17, position, time, time from event
		)`,
		Args: []any{a.ID, a.ProjectID, a.OrgID, a.Name, search.Fold(a.Name), a.State, a.OIDC, a.API, a.SecretHash},
	})
}

// ChangeApplication locks an application and saves what change makes of it.
func (s Store) ChangeApplication(ctx context.Context, orgID, projectID, id string, change func(*domain.Application) (proto.Message, error)) (domain.Application, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.Application]{
		Lock: readApplication + ` for update`, NotFound: domain.ErrAppNotFound, Save: saveApplication,
	}, []any{orgID, projectID, id}, change)
}

func saveApplication(a domain.Application) event.Save {
	return event.Save{
		AggregateID: a.ID, OrganizationID: a.OrgID, Constraints: constraints,
		SQL: `application as (
			update applications set name = $10, name_folded = $11, state = $12, generation = $13, oidc_config = $14::jsonb, api_config = $15::jsonb,
				secret_hash = $16, former_secret_hash = $17, former_secret_until = $18, sequence = position, changed_at = time
			from event where id = $9
		)`,
		Args: []any{
			a.ID, a.Name, search.Fold(a.Name), a.State, a.Generation, a.OIDC, a.API,
			a.SecretHash, a.FormerSecretHash, a.FormerSecretUntil,
		},
	}
}

// RemoveApplication removes an application with its keys.
func (s Store) RemoveApplication(ctx context.Context, orgID, projectID, id string, removed proto.Message) (domain.Application, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.Application]{
		Lock: readApplication + ` for update`, NotFound: domain.ErrAppNotFound,
		Save: func(a domain.Application) event.Save {
			return event.Save{
				AggregateID: a.ID, OrganizationID: a.OrgID,
				SQL: `gone as (delete from applications using event where applications.id = $9)`, Args: []any{a.ID},
			}
		},
	}, []any{orgID, projectID, id}, func(*domain.Application) (proto.Message, error) { return removed, nil })
}

// Applications begins a search among the applications of a project.
func (s Store) Applications(orgID, projectID string) *search.Query {
	return search.Select(applicationColumns, "applications", "created_at, id").Where("org_id = ?", orgID).Where("project_id = ?", projectID)
}

// SearchApplications runs it.
func (s Store) SearchApplications(ctx context.Context, query *search.Query, p search.Page) (search.List[domain.Application], error) {
	return search.Read[domain.Application](ctx, s.DB, query, p)
}
