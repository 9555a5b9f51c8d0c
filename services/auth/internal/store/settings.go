package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

const settings = `select access, refresh_idle, refresh, key_period, sequence, created_at, changed_at from settings`

// Settings reads the settings of the instance, as the API has set them.
func (s Store) Settings(ctx context.Context) (domain.Settings, error) {
	found, err := postgres.One[domain.Settings](ctx, s.journal.DB, settings, nil)
	return found, postgres.Fault(err)
}

// ChangeSettings locks the settings of the instance, calls change and saves the result.
func (s Store) ChangeSettings(
	ctx context.Context, change func(*domain.Settings) (proto.Message, error),
) (domain.Settings, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Settings]{
		Lock: settings + ` for update`,
		Write: func(c domain.Settings) event.Statement {
			return event.Statement{
				AggregateID: domain.Instance,
				SQL: `changed as (
					update settings set access = @access, refresh_idle = @refresh_idle, refresh = @refresh,
						key_period = @key_period, sequence = position, changed_at = time
					from event
				)`,
				Args: postgres.Args{"access": c.Access, "refresh_idle": c.RefreshIdle, "refresh": c.Refresh,
					"key_period": c.KeyPeriod},
			}
		},
	}, change)
}
