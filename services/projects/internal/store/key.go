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
	appKeyColumns = `k.id, k.application_id, a.project_id, a.org_id, k.expires_at, k.sequence, k.created_at, k.changed_at`
	appKeyFrom    = `application_keys k join applications a on a.id = k.application_id`
	readAppKey    = `select ` + appKeyColumns + ` from ` + appKeyFrom + ` where a.org_id = $1 and a.project_id = $2 and a.id = $3 and k.id = $4`
)

// AppKey reads a key of an application.
func (s Store) AppKey(ctx context.Context, orgID, projectID, appID, id string) (domain.AppKey, error) {
	k, err := postgres.One[domain.AppKey](ctx, s.DB, readAppKey, orgID, projectID, appID, id)
	return k, postgres.Missing(err, domain.ErrAppKeyNotFound)
}

// AddAppKey writes a public key. The application is held meanwhile, so that its events
// stay in order and its keys can be counted; it does not change itself.
func (s Store) AddAppKey(ctx context.Context, k domain.AppKey, publicKey []byte, added proto.Message) (resource.Record, error) {
	a, err := event.Change(ctx, s.Journal, event.Object[domain.Application]{
		Lock: readApplication + ` for no key update`, NotFound: domain.ErrAppNotFound,
		Save: func(a domain.Application) event.Save {
			return event.Save{
				AggregateID: a.ID, OrganizationID: a.OrgID, Unless: domain.ErrAppKeyLimit,
				If: `(select count(*) from application_keys where application_id = $10) < $13`,
				SQL: `key as (
					insert into application_keys (id, application_id, public_key, expires_at, sequence, created_at, changed_at)
					select $9, $10, $11, $12, position, time, time from event
				)`,
				Args: []any{k.ID, a.ID, publicKey, k.ExpiresAt, domain.MaxAppKeys},
			}
		},
	}, []any{k.OrgID, k.ProjectID, k.ApplicationID}, func(*domain.Application) (proto.Message, error) { return added, nil })
	return resource.Record{Sequence: a.Sequence, CreatedAt: a.ChangedAt, ChangedAt: a.ChangedAt}, err
}

// RemoveAppKey ends a key of an application, which is held as AddAppKey does.
func (s Store) RemoveAppKey(ctx context.Context, orgID, projectID, appID, id string, removed proto.Message) (domain.AppKey, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.AppKey]{
		Lock: readAppKey + ` for no key update of a for update of k`, NotFound: domain.ErrAppKeyNotFound,
		Save: func(k domain.AppKey) event.Save {
			return event.Save{
				AggregateID: k.ApplicationID, OrganizationID: k.OrgID,
				SQL: `gone as (delete from application_keys using event where application_keys.id = $9)`, Args: []any{k.ID},
			}
		},
	}, []any{orgID, projectID, appID, id}, func(*domain.AppKey) (proto.Message, error) { return removed, nil })
}

// SearchAppKeys lists an application's keys.
func (s Store) SearchAppKeys(ctx context.Context, orgID, projectID, appID string, p search.Page) (search.List[domain.AppKey], error) {
	return search.Read[domain.AppKey](ctx, s.DB, search.Select(appKeyColumns, appKeyFrom, "k.created_at, k.id").
		Where("a.org_id = ?", orgID).Where("a.project_id = ?", projectID).Where("a.id = ?", appID), p)
}
