package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/resource"
	"herald/shared/search"
)

const (
	appKeyColumns = `k.id, k.application_id, a.project_id, a.org_id, k.expires_at, k.sequence, k.created_at,
		k.changed_at`
	appKeyFrom = `application_keys k join applications a on a.id = k.application_id`
	readAppKey = `select ` + appKeyColumns + ` from ` + appKeyFrom + `
		where k.id = @id and a.id = @application_id and a.org_id is not distinct from @org_id
			and a.project_id is not distinct from @project_id`
)

func appKeyKey(orgID, projectID, appID, id string) postgres.Args {
	return postgres.Args{"org_id": orgID, "project_id": projectID, "application_id": appID, "id": id}
}

// AppKey reads a key of an application.
func (s Store) AppKey(ctx context.Context, orgID, projectID, appID, id string) (domain.AppKey, error) {
	k, err := postgres.One[domain.AppKey](ctx, s.journal.DB, readAppKey, appKeyKey(orgID, projectID, appID, id))
	return k, postgres.Missing(err, projectsfault.ErrAppKeyNotFound)
}

// AddAppKey adds a public key. It locks the application, which does not change, so that its events
// are in order and its keys can be counted.
func (s Store) AddAppKey(
	ctx context.Context, k domain.AppKey, publicKey []byte, added proto.Message,
) (resource.Record, error) {
	a, err := event.Change(ctx, s.journal, event.Locked[domain.Application]{
		Lock: readApplication + ` for no key update`, Args: applicationKey(k.OrgID, k.ProjectID, k.ApplicationID),
		NotFound: projectsfault.ErrAppNotFound,
		Write: func(a domain.Application) event.Statement {
			return event.Statement{
				AggregateID: a.ID, OrganizationID: a.OrgID, Unless: projectsfault.ErrAppKeyLimit,
				If: `(select count(*) from application_keys where application_id = @application_id) <
					(select most from quota_of(@quota, @org_id))`,
				SQL: `key as (
					insert into application_keys (
						id, application_id, public_key, expires_at, sequence, created_at, changed_at)
					select
						@id, @application_id, @public_key, @expires_at, position, time, time
					from event
				)`,
				Args: postgres.Args{
					"id": k.ID, "application_id": a.ID, "public_key": publicKey, "expires_at": k.ExpiresAt,
					"quota": quota.AppKeys, "org_id": a.OrgID,
				},
			}
		},
	}, func(*domain.Application) (proto.Message, error) { return added, nil })
	return resource.Record{Sequence: a.Sequence, CreatedAt: a.ChangedAt, ChangedAt: a.ChangedAt}, err
}

// RemoveAppKey removes a key of an application. It locks the application as AddAppKey does.
func (s Store) RemoveAppKey(
	ctx context.Context, orgID, projectID, appID, id string, removed proto.Message,
) (domain.AppKey, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.AppKey]{
		Lock: readAppKey + ` for no key update of a for update of k`, Args: appKeyKey(orgID, projectID, appID, id),
		NotFound: projectsfault.ErrAppKeyNotFound,
		Write: func(k domain.AppKey) event.Statement {
			removal := event.Removal("application_keys", k.ID, k.OrgID)
			removal.AggregateID = k.ApplicationID
			return removal
		},
	}, func(*domain.AppKey) (proto.Message, error) { return removed, nil })
}

// SearchAppKeys lists an application's keys.
func (s Store) SearchAppKeys(
	ctx context.Context, orgID, projectID, appID string, p search.Page,
) (search.List[domain.AppKey], error) {
	return search.Read[domain.AppKey](ctx, s.journal.DB, search.Select(appKeyColumns, appKeyFrom, "k.created_at, k.id").
		Where("a.org_id = ?", orgID).Where("a.project_id = ?", projectID).Where("a.id = ?", appID), p)
}
