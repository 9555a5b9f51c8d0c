package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/notification/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

const smtpSettings = `select url, "user", password, sender_address, sender_name, reply_to, sequence, created_at,
	changed_at from smtp`

// SMTP reads how mails are sent, as the API has set it.
func (s Store) SMTP(ctx context.Context) (domain.SMTP, error) {
	found, err := postgres.One[domain.SMTP](ctx, s.journal.DB, smtpSettings, nil)
	return found, postgres.Fault(err)
}

// ChangeSMTP locks how mails are sent, calls change and saves the result.
func (s Store) ChangeSMTP(
	ctx context.Context, change func(*domain.SMTP) (proto.Message, error),
) (domain.SMTP, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.SMTP]{
		Lock: smtpSettings + ` for update`,
		Write: func(m domain.SMTP) event.Statement {
			return event.Statement{
				AggregateID: domain.Instance,
				SQL: `changed as (
					update smtp set url = @url, "user" = @user, password = @password,
						sender_address = @sender_address, sender_name = @sender_name, reply_to = @reply_to,
						sequence = position, changed_at = time
					from event
				)`,
				Args: postgres.Args{
					"url": m.URL, "user": m.User, "password": m.Password, "sender_address": m.SenderAddress,
					"sender_name": m.SenderName, "reply_to": m.ReplyTo,
				},
			}
		},
	}, change)
}
