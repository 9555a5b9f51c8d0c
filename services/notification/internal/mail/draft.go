package mail

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"herald/services/notification/internal/domain"
	"herald/shared/render"
	"herald/services/notification/internal/send"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// obsolete is the fault of users for a mail whose code was used or replaced.
const obsolete = "NOTIFICATION_OBSOLETE"

// prepareTime bounds the calls to users and text for one mail.
const prepareTime = 10 * time.Second

// draft is all of a mail but its code: kept, it makes the same bytes again, whatever
// was set up differently since.
type draft struct {
	From      string `json:"from"`
	To        string `json:"to"`
	MessageID string `json:"messageId"`
	Language  string `json:"language"`
	render.Rendered
}

// prepare asks for the code, which is the same each time, and makes the draft, or takes
// the one that was sent before. The claim learns recipient, language and draft.
func (s *Sender) prepare(ctx context.Context, c *domain.Claim) (d draft, code string, err error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	m, err := s.Users.PrepareMail(ctx, &usersv1.PrepareMailRequest{NotificationId: c.ID, UserId: c.UserID})
	if err != nil {
		return draft{}, "", fmt.Errorf("ask users: %w", err)
	}
	if c.Rendered != nil {
		if err := json.Unmarshal(c.Rendered, &d); err != nil {
			return draft{}, "", fmt.Errorf("read what was sent before: %w", err)
		}
		return d, m.Code, nil
	}
	t, err := s.Text.ResolveMessageText(ctx, &textv1.ResolveMessageTextRequest{OrgId: m.OrgId, Kind: c.Kind, PreferredLanguage: m.PreferredLanguage})
	if err != nil {
		return draft{}, "", fmt.Errorf("ask text: %w", err)
	}
	d = draft{From: s.From, To: m.Recipient, MessageID: c.ID + "@" + s.Domain, Language: t.Language}
	c.Recipient, c.Language = d.To, d.Language
	if d.Rendered, err = s.message(c, m, t).Render(); err != nil {
		return draft{}, "", err
	}
	c.Rendered, err = json.Marshal(d)
	return d, m.Code, err
}

func (s *Sender) message(c *domain.Claim, m *usersv1.PrepareMailResponse, t *textv1.ResolveMessageTextResponse) render.Message {
	text := t.GetCustomText()
	values := values(c, m)
	return render.Message{
		Texts: render.Texts{
			Title: text.GetTitle(), PreHeader: text.GetPreHeader(), Subject: text.GetSubject(), Greeting: text.GetGreeting(),
			Text: text.GetText(), ButtonText: text.GetButtonText(), FooterText: text.GetFooterText(),
		},
		Language: t.Language,
		Link: s.PublicURL + "/ui/login/user/init?userID=" + url.QueryEscape(c.UserID) + "&code={{.Code}}&orgID=" + url.QueryEscape(m.OrgId) +
			"&passwordset=" + strconv.FormatBool(m.PasswordSet),
		Value: func(name string) string { return values[name] },
	}
}

// values are the placeholders' (see herald/shared/placeholder). A user has one login name.
func values(c *domain.Claim, m *usersv1.PrepareMailResponse) map[string]string {
	const readable = "2006-01-02 15:04 UTC"
	return map[string]string{
		"FirstName": m.FirstName, "LastName": m.LastName, "NickName": m.NickName, "DisplayName": m.DisplayName,
		"UserName": m.UserName, "LoginName": m.UserName, "LoginNames": m.UserName, "PreferredLoginName": m.UserName,
		"LastEmail": m.Recipient, "VerifiedEmail": m.VerifiedEmail, "LastPhone": m.LastPhone, "VerifiedPhone": m.VerifiedPhone,
		"UserID": c.UserID, "OrgID": m.OrgId, "OrgName": m.OrgName,
		"CreationDate": m.CreationDate.AsTime().Format(readable), "ChangeDate": m.ChangeDate.AsTime().Format(readable),
		"Expiry": m.Expiry.AsTime().Format(readable),
	}
}

// mail is what is sent; its date and boundary derive from the notification.
func (d draft) mail(c *domain.Claim, code string) (send.Mail, error) {
	filled, err := d.Fill(code)
	if err != nil {
		return send.Mail{}, err
	}
	return send.Mail{
		MessageID: d.MessageID, From: d.From, To: d.To, Subject: filled.Subject, Text: filled.Text, HTML: filled.HTML,
		Language: d.Language, Date: c.CreatedAt, Seed: c.ID,
	}, nil
}
