package delivery

import (
	"context"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/smtp"
	"herald/shared/mailer"
)

// TestMail is a mail that somebody waits for. It is sent like all others, but at once: it needs no
// free worker and no open gate.
type TestMail struct {
	claim domain.Claim
	ended chan struct{}
	// route is how it is sent; nil for the present one.
	route *Route
}

// SendTest sends a test mail with the running sender and waits until its outcome is recorded or ctx
// ends. The notification is written with its claim. Another notifier can take it only if this one
// dies, and then does not send it. It is sent by a route, or by the present one if by is nil.
func (s *Sender) SendTest(ctx context.Context, n domain.Notification, by *Route) error {
	n.Kind, n.Language = domain.Test, testLanguage
	claim, err := s.Store.Begin(ctx, n, s.Times.Lease)
	if err != nil {
		return err
	}
	t := TestMail{claim, make(chan struct{}), by}
	select {
	case s.TestMails <- t:
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

// prepareTest returns the test mail, which has the same text in every organization.
func (s *Sender) prepareTest(c *domain.Claim, by *Route) (smtp.Mail, error) {
	rendered, err := mailer.Message{
		Language: testLanguage,
		Texts: mailer.Texts{
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
	d, err := s.draft(c, rendered, by)
	return d.mail(c), err
}
