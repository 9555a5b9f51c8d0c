// Package consumer turns events that ask for a mail into notifications. A notification has the id of
// its event, so that an event that is delivered twice makes one mail. The notifications
// of a removed user are removed.
package consumer

import (
	"context"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
	"herald/shared/mailer"
)

// Handlers returns handlers of events that queue the mails with codes and call wake, and that remove the
// notifications of removed users.
func Handlers(db store.Store, wake func()) []event.Handler {
	return append(queueing(db, wake), event.On(forgetting(db)))
}

func forgetting(db store.Store) func(context.Context, event.Delivery, *usersv1.UserRemoved) error {
	return func(ctx context.Context, d event.Delivery, _ *usersv1.UserRemoved) error {
		return db.Forget(ctx, d.OrganizationID, d.AggregateID)
	}
}

func queueing(db store.Store, wake func()) []event.Handler {
	return mailer.Handlers(func(ctx context.Context, d event.Delivery, kind mail.Kind) error {
		n := domain.Notification{
			ID: d.ID, OrgID: d.OrganizationID, UserID: d.AggregateID, Kind: kind, CreatedAt: d.Time,
		}
		if _, err := db.Queue(ctx, n); err != nil {
			return err
		}
		wake()
		return nil
	})
}
