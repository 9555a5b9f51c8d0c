package delivery

import (
	"context"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/smtp"
	"herald/shared/mailrender"
)

// Trial is a mail that somebody waits for. It goes the way of all others, but not behind
// them, and not only when the gate lets it.
type Trial struct {
	claim domain.Claim
	ended chan struct{}
}

// Try sends a test mail through the running sender and waits until what became of it is
// recorded, or ctx ends. The notification is claimed as it is written, so that no other
// notifier takes it unless this one dies, and then none sends it.
func (s *Sender) Try(ctx context.Context, n domain.Notification) error {
	n.Kind, n.Language = domain.Test, testLanguage
	claim, err := s.Store.Begin(ctx, n, s.Times.Lease)
	if err != nil {
		return err
	}
	t := Trial{claim, make(chan struct{})}
	select {
	case s.Trials <- t:
	case <-ctx.Done():
		return nil
	}
	select {
	case <-t.ended:
	case <-ctx.Done():
	}
	return nil
}

const testLanguage = "en"

// prepareTest makes the test mail, which says the same in every organization.
func (s *Sender) prepareTest(c *domain.Claim) (smtp.Mail, error) {
	rendered, err := mailrender.Message{
		Language: testLanguage,
		Texts: mailrender.Texts{
			Title:   "Test mail",
			Subject: "Test mail of Herald",
			Text: "An administrator of " + s.PublicURL + " sent this mail to see whether mails arrive.\n\nThis " +
				"one did. There is nothing to do.",
		},
		Value: func(string) string { return "" },
	}.Render()
	if err != nil {
		return smtp.Mail{}, err
	}
	d, err := s.draft(c, rendered)
	return d.mail(c), err
}
