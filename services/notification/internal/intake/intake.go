// Package intake turns events that ask for a mail into notifications. A notification
// has its event's id, so that an event delivered twice is one mail.
package intake

import (
	"context"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Handlers queue the initialize-user mails and wake a sender.
func Handlers(db store.Store, wake func()) []event.Handler {
	queue := func(ctx context.Context, d event.Delivery, mail usersv1.InitMail) error {
		if mail != usersv1.InitMail_INIT_MAIL_QUEUED {
			return nil
		}
		err := db.Queue(ctx, domain.Notification{ID: d.ID, OrgID: d.OrganizationID, UserID: d.AggregateID, Kind: domain.Init, CreatedAt: d.Time})
		if err == nil {
			wake()
		}
		return err
	}
	return []event.Handler{
		event.On(func(ctx context.Context, d event.Delivery, e *usersv1.HumanCreated) error {
			return queue(ctx, d, e.InitMail)
		}),
		event.On(func(ctx context.Context, d event.Delivery, e *usersv1.HumanImported) error {
			return queue(ctx, d, e.InitMail)
		}),
		event.On(func(ctx context.Context, d event.Delivery, e *usersv1.HumanInitializationRequested) error {
			return queue(ctx, d, e.InitMail)
		}),
	}
}
