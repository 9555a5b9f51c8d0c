// Package intake turns events that ask for a mail into notifications. A notification
// has its event's id, so that an event delivered twice is one mail.
package intake

import (
	"context"
	"fmt"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Handlers queue the mails with codes and wake a sender.
func Handlers(db store.Store, wake func()) []event.Handler {
	queue := func(ctx context.Context, d event.Delivery, kind string) error {
		switch kind {
		case "":
			return nil
		case domain.Init, domain.VerifyEmail, domain.PasswordReset:
		default:
			return fmt.Errorf("there is no mail of kind %q", kind)
		}
		err := db.Queue(ctx, domain.Notification{ID: d.ID, OrgID: d.OrganizationID, UserID: d.AggregateID, Kind: kind, CreatedAt: d.Time})
		if err == nil {
			wake()
		}
		return err
	}
	return []event.Handler{
		event.On(func(ctx context.Context, d event.Delivery, e *usersv1.HumanCreated) error {
			return queue(ctx, d, kind(e.InitMail))
		}),
		event.On(func(ctx context.Context, d event.Delivery, e *usersv1.HumanImported) error {
			return queue(ctx, d, kind(e.InitMail))
		}),
		event.On(func(ctx context.Context, d event.Delivery, e *usersv1.HumanInitializationRequested) error {
			return queue(ctx, d, kind(e.InitMail))
		}),
		event.On(func(ctx context.Context, d event.Delivery, e *usersv1.HumanEmailChanged) error {
			return queue(ctx, d, e.Mail)
		}),
		event.On(func(ctx context.Context, d event.Delivery, e *usersv1.HumanEmailVerificationRequested) error {
			return queue(ctx, d, e.Mail)
		}),
		event.On(func(ctx context.Context, d event.Delivery, e *usersv1.HumanPasswordResetRequested) error {
			return queue(ctx, d, e.Mail)
		}),
	}
}

func kind(m usersv1.InitMail) string {
	if m == usersv1.InitMail_INIT_MAIL_QUEUED {
		return domain.Init
	}
	return ""
}
