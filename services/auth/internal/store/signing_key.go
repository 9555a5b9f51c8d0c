package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/authfault"
	"herald/shared/postgres"
)

const signingKeyColumns = `k.id, k.algorithm, k.private_key, k.signs_at, k.sequence, k.created_at, k.changed_at`

// lockSigningKeys lets one transaction at a time add or remove keys.
var lockSigningKeys = event.Lock{SQL: `select from pg_advisory_xact_lock(hashtext('signing_keys'))`}

// SigningKeys reads all keys in the order in which they sign.
func (s Store) SigningKeys(ctx context.Context) (domain.SigningKeys, error) {
	keys, err := postgres.All[domain.SigningKey](ctx, s.journal.DB,
		`select `+signingKeyColumns+` from signing_keys k order by k.signs_at, k.id`, nil)
	if err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	return keys, nil
}

// AddSigningKey adds a waiting key. If there is already a key that signs after the time last, another replica
// was faster. Then it adds no key, and returns no error.
func (s Store) AddSigningKey(ctx context.Context, k domain.SigningKey, last time.Time, added proto.Message) error {
	_, err := s.journal.CreateLocked(ctx, lockSigningKeys, added, event.Statement{
		AggregateID: k.ID,
		If: `not exists (
			select from signing_keys where algorithm = @algorithm and signs_at > @last
		)`,
		SQL: `key as (
			insert into signing_keys (id, algorithm, private_key, signs_at, sequence, created_at, changed_at)
			select @id, @algorithm, @private_key, @signs_at, position, time, time from event
		)`,
		Args: postgres.Args{"id": k.ID, "algorithm": k.Algorithm, "private_key": k.PrivateKey, "signs_at": k.SignsAt,
			"last": last},
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// RemoveSigningKey removes a key. If it is the key that signs, the waiting key signs from now on.
func (s Store) RemoveSigningKey(ctx context.Context, id string, removed func(domain.Removal) proto.Message) error {
	now := s.journal.Now()
	_, err := event.Change(ctx, s.journal, event.Locked[domain.Removal]{
		LockFirst: lockSigningKeys,
		Lock: `select ` + signingKeyColumns + `,
			exists (
				select from signing_keys o where o.algorithm = k.algorithm and o.signs_at > k.signs_at
					and o.signs_at <= @now
			) as replaced,
			coalesce((
				select w.id from signing_keys w where w.algorithm = k.algorithm and w.signs_at > @now
				order by w.signs_at limit 1
			), '') as waiting
			from signing_keys k where k.id = @id for update of k`,
		Args: postgres.Args{"id": id, "now": now}, NotFound: authfault.ErrSigningKeyNotFound,
		Write: func(r domain.Removal) event.Statement {
			return event.Statement{
				AggregateID: id,
				Along: `select 'signing_key', 'activated', h.id, '', jsonb_build_object('algorithm', h.algorithm)
					from signing_keys h where h.id = @heir`,
				SQL: `removed as (
					delete from signing_keys using event where id = @id
				), heir as (
					update signing_keys set signs_at = along.time, sequence = along.position, changed_at = along.time
					from along where signing_keys.id = along.aggregate_id
				)`,
				Args: postgres.Args{"id": id, "heir": r.Heir(now)},
			}
		},
	}, func(r *domain.Removal) (proto.Message, error) {
		if err := r.Check(now); err != nil {
			return nil, err
		}
		return removed(*r), nil
	})
	return err
}

// ActivateSigningKey makes a waiting key sign from now on.
func (s Store) ActivateSigningKey(
	ctx context.Context, id string, activated func(domain.SigningKey) proto.Message,
) error {
	_, err := event.Change(ctx, s.journal, event.Locked[domain.SigningKey]{
		LockFirst: lockSigningKeys,
		Lock:      `select ` + signingKeyColumns + ` from signing_keys k where k.id = @id for update`,
		Args:      postgres.Args{"id": id}, NotFound: authfault.ErrSigningKeyNotFound,
		Write: func(k domain.SigningKey) event.Statement {
			return event.Statement{
				AggregateID: id,
				SQL: `key as (
					update signing_keys set signs_at = @signs_at, sequence = position, changed_at = time
					from event where signing_keys.id = @id
				)`,
				Args: postgres.Args{"id": id, "signs_at": k.SignsAt},
			}
		},
	}, func(k *domain.SigningKey) (proto.Message, error) {
		if err := k.Activate(s.journal.Now()); err != nil {
			return nil, err
		}
		return activated(*k), nil
	})
	return err
}
