package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/search"
)

const (
	metadataColumns = `m.user_id, u.org_id, m.key, m.value, m.sequence, m.created_at, m.changed_at`
	metadataFrom    = `user_metadata m join users u on u.id = m.user_id`
	readMetadata    = `select ` + metadataColumns + ` from ` + metadataFrom + `
		where m.user_id = @user_id and m.key = @key and u.org_id is not distinct from @org_id`
)

func metadataKey(orgID, userID, key string) postgres.Args {
	return postgres.Args{"org_id": orgID, "user_id": userID, "key": key}
}

// Metadata returns the value of a metadata key of a user.
func (s Store) Metadata(ctx context.Context, orgID, userID, key string) (domain.Metadata, error) {
	m, err := postgres.One[domain.Metadata](ctx, s.journal.DB, readMetadata, metadataKey(orgID, userID, key))
	return m, postgres.Missing(err, usersfault.ErrMetadataNotFound)
}

// SetMetadata locks a user, calls change with the value of a metadata key, and saves the result. A
// new key has the sequence 0. The user is locked, although it does not change, so that events are
// in order and keys are counted correctly.
func (s Store) SetMetadata(
	ctx context.Context, orgID, userID, key string, change func(*domain.Metadata) (proto.Message, error),
) (domain.Metadata, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Metadata]{
		// A new row is inserted before it is locked, so that simultaneous calls wait for it.
		// Without a change it is rolled back.
		Lock: `insert into user_metadata as m (user_id, key, value, sequence, created_at, changed_at)
			select id, @key, '', 0, created_at, created_at from users
			where id = @user_id and org_id is not distinct from @org_id for no key update
			on conflict (user_id, key) do update set key = m.key
			returning m.user_id, @org_id::text as org_id, m.key, m.value, m.sequence, m.created_at, m.changed_at`,
		Args: metadataKey(orgID, userID, key), NotFound: usersfault.ErrUserNotFound,
		Write: func(m domain.Metadata) event.Statement {
			return event.Statement{
				AggregateID: m.UserID, OrganizationID: m.OrgID, Unless: usersfault.ErrMetadataLimit,
				If: `@sequence::bigint > 0 or (select count(*) from user_metadata where user_id = @user_id) <=
					(select most from quota_of(@quota, @org_id))`,
				SQL: `metadata as (
					update user_metadata set value = @value, sequence = position, changed_at = time,
						created_at = case sequence when 0 then time else created_at end
					from event where user_id = @user_id and key = @key
				), undone as (
					-- The transaction is also committed if the maximum is reached.
					delete from user_metadata where user_id = @user_id and key = @key and sequence = 0
						and not exists (select from event)
				)`,
				Args: postgres.Args{
					"user_id": m.UserID, "key": m.Key, "value": m.Value, "sequence": m.Sequence,
					"quota": quota.Metadata, "org_id": m.OrgID,
				},
			}
		},
	}, change)
}

// RemoveMetadata removes a metadata key of a user. It locks the user like SetMetadata.
func (s Store) RemoveMetadata(
	ctx context.Context, orgID, userID, key string, removed proto.Message,
) (domain.Metadata, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Metadata]{
		Lock: readMetadata + ` for no key update of u for update of m`, Args: metadataKey(orgID, userID, key),
		NotFound: usersfault.ErrMetadataNotFound,
		Write: func(m domain.Metadata) event.Statement {
			return event.Statement{
				AggregateID: m.UserID, OrganizationID: m.OrgID,
				SQL:  `gone as (delete from user_metadata m using event where m.user_id = @user_id and m.key = @key)`,
				Args: postgres.Args{"user_id": m.UserID, "key": m.Key},
			}
		},
	}, func(*domain.Metadata) (proto.Message, error) { return removed, nil })
}

// SearchMetadata returns a page of a user's metadata.
func (s Store) SearchMetadata(
	ctx context.Context, orgID, userID string, p search.Page,
) (search.List[domain.Metadata], error) {
	return search.Read[domain.Metadata](ctx, s.journal.DB,
		search.Select(metadataColumns, metadataFrom, "m.created_at, m.key").
			Where("u.org_id = ?", orgID).Where("m.user_id = ?", userID), p)
}
