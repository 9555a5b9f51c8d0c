package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/smtp"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mailer"
)

// prepareTime bounds the requests to users and text for one mail.
const prepareTime = 10 * time.Second

// draft is a mail without its code. It is stored at the first try, so that every try sends the
// same bytes even if texts have changed, with the sender of its time.
type draft struct {
	From      string `json:"from"`
	ReplyTo   string `json:"replyTo,omitempty"`
	To        string `json:"to"`
	MessageID string `json:"messageId"`
	Language  string `json:"language"`
	mailer.Rendered
}

// prepare returns the mail to send. It sets the claim's recipient, language and draft.
func (s *Sender) prepare(ctx context.Context, c *domain.Claim, by *Route) (smtp.Mail, error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	if c.Kind == domain.Test {
		return s.prepareTest(c, by)
	}
	d, code, err := s.prepareKind(ctx, c, by)
	if err != nil {
		return smtp.Mail{}, err
	}
	if c.Kind.Notice() {
		return d.mail(c), nil
	}
	if d.Rendered, err = d.Fill(code); err != nil {
		return smtp.Mail{}, err
	}
	m := d.mail(c)
	m.Code = code
	return m, nil
}

// prepareKind asks users for the contents of the mail and for its code. The code is the same at every try. A notice
// has no code. prepareKind makes a new draft or reads the stored one.
func (s *Sender) prepareKind(
	ctx context.Context, c *domain.Claim, by *Route,
) (d draft, code string, err error) {
	m, err := s.Users.PrepareMail(ctx, &usersv1.PrepareMailRequest{NotificationId: c.ID, UserId: c.UserID})
	if err != nil {
		return draft{}, "", fmt.Errorf("ask users: %w", err)
	}
	if c.Rendered != nil {
		if err := json.Unmarshal(c.Rendered, &d); err != nil {
			return draft{}, "", fmt.Errorf("read what was sent before: %w", err)
		}
		d, err = d.by(c, by)
		return d, m.Code, err
	}
	t, err := s.Text.ResolveMessageText(ctx, &textv1.ResolveMessageTextRequest{
		OrgId: m.OrgId, Kind: string(c.Kind), PreferredLanguage: m.PreferredLanguage,
	})
	if err != nil {
		return draft{}, "", fmt.Errorf("ask text: %w", err)
	}
	c.Recipient, c.Language = m.Recipient, t.Language
	rendered, err := mailer.Mail{
		PublicURL: s.PublicURL, Kind: c.Kind, UserID: c.UserID, Reader: m, Text: t.CustomText, Language: t.Language,
		Branding: t.Branding,
	}.Render()
	if err != nil {
		return draft{}, "", err
	}
	d, err = s.draft(c, rendered, by)
	return d, m.Code, err
}

func (s *Sender) draft(c *domain.Claim, r mailer.Rendered, by *Route) (draft, error) {
	return draft{To: c.Recipient, MessageID: c.ID + "@" + s.Domain, Language: c.Language, Rendered: r}.by(c, by)
}

// by sets the sender of a draft, and makes it that of the claim. A repeat has the sender of its time: another mail
// server may refuse the sender of before. Its Message-ID is the same.
func (d draft) by(c *domain.Claim, by *Route) (_ draft, err error) {
	d.From, d.ReplyTo = by.From, by.ReplyTo
	c.Rendered, err = json.Marshal(d)
	return d, err
}

// mail returns the draft as a mail for the mail server. The date and the boundary come from the notification.
func (d draft) mail(c *domain.Claim) smtp.Mail {
	return smtp.Mail{
		MessageID: d.MessageID, From: d.From, ReplyTo: d.ReplyTo, To: d.To, Subject: d.Subject, Text: d.Text,
		HTML: d.HTML, Language: d.Language, Date: c.CreatedAt, Seed: c.ID,
	}
}
