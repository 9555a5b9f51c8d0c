package store

import (
	"context"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/mail"
	"herald/shared/mailer"
)

// mostAsked is the maximum number of events that AskedMails reads.
const mostAsked = 100

// AskedMail is a mail that an event requested.
type AskedMail struct {
	NotificationID string
	Kind           domain.Kind
	Time           time.Time
}

// AskedMails returns the mails to a user that were requested since a time, newest first.
func (s Store) AskedMails(ctx context.Context, orgID, userID string, since time.Time) (all []AskedMail, err error) {
	asked := func(_ context.Context, d event.Delivery, kind mail.Kind) error {
		all = append(all, AskedMail{d.ID, domain.Kind(kind), d.Time})
		return nil
	}
	past := event.Past{OrganizationID: orgID, HistoryID: userID, Since: since, Most: mostAsked}
	err = s.journal.Recall(ctx, past, mailer.Handlers(asked)...)
	return all, err
}
