package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const (
	machineKeyColumns = `k.id, k.user_id, u.org_id, k.expires_at, k.sequence, k.created_at, k.changed_at`
	machineKeyFrom    = `machine_keys k join users u on u.id = k.user_id`
	readMachineKey    = `select ` + machineKeyColumns + ` from ` + machineKeyFrom +
		` where k.id = @id and u.org_id is not distinct from @org_id and k.user_id is not distinct from @user_id`
)

// MachineKey returns the details of a machine user's key.
func (s Store) MachineKey(ctx context.Context, orgID, userID, id string) (domain.MachineKey, error) {
	k, err := postgres.One[domain.MachineKey](ctx, s.journal.DB, readMachineKey,
		postgres.Args{"org_id": orgID, "user_id": userID, "id": id})
	return k, postgres.Missing(err, usersfault.ErrMachineKeyNotFound)
}

// AddMachineKey writes the public key of a user who may have one.
func (s Store) AddMachineKey(
	ctx context.Context, k domain.MachineKey, publicKey []byte, added proto.Message,
) (resource.Record, error) {
	return s.createCredential(ctx, k.UserID, event.Statement{
		AggregateID: k.ID, OrganizationID: k.OrgID,
		SQL: `key as (
			insert into machine_keys (id, user_id, public_key, expires_at, makers, sequence, created_at, changed_at)
			select @id, @user_id, @public_key, @expires_at, ` + makers + `, position, time, time from event
		)`,
		Args: postgres.Args{"id": k.ID, "user_id": k.UserID, "public_key": publicKey, "expires_at": k.ExpiresAt,
			"made_with": madeWith(ctx)},
	}, func(u *domain.User) (NoticedChange, error) { return NoticedChange{Event: added}, u.MayHaveKeys() })
}

// RemoveMachineKey removes a machine user's key.
func (s Store) RemoveMachineKey(
	ctx context.Context, orgID, userID, id string, removed proto.Message,
) (domain.MachineKey, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.MachineKey]{
		Lock: readMachineKey + ` for update of k`,
		Args: postgres.Args{"org_id": orgID, "user_id": userID, "id": id}, NotFound: usersfault.ErrMachineKeyNotFound,
		Write: func(k domain.MachineKey) event.Statement {
			return event.Removal("machine_keys", k.ID, k.OrgID)
		},
	}, func(*domain.MachineKey) (proto.Message, error) { return removed, nil })
}

// SearchMachineKeys lists a machine user's keys.
func (s Store) SearchMachineKeys(
	ctx context.Context, orgID, userID string, p search.Page,
) (search.List[domain.MachineKey], error) {
	return search.Read[domain.MachineKey](ctx, s.journal.DB,
		search.Select(machineKeyColumns, machineKeyFrom, "k.created_at, k.id").
			Where("u.org_id = ?", orgID).Where("k.user_id = ?", userID), p)
}
