package mailer

import (
	"net/url"
	"strconv"

	"golang.org/x/text/language"

	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
)

// Mail is a mail to a user, made of the texts of the text service and the reader's data of the
// users service. The notifier sends it and the text service previews it: both render it here.
type Mail struct {
	// PublicURL begins the link, without a slash at its end.
	PublicURL string
	Kind      mail.Kind
	UserID    string
	Reader    *usersv1.PrepareMailResponse
	Text      *textv1.CustomText
	// Language is the BCP 47 tag of Text.
	Language string
}

// Render makes the mail without its code, which Fill adds. A notice has no code and is ready. Render fails
// for an unknown kind, and as Message.Render does.
func (m Mail) Render() (Rendered, error) {
	if _, err := mail.ParseKind(string(m.Kind)); err != nil {
		return Rendered{}, err
	}
	link := ""
	if !m.Kind.Notice() {
		link = m.PublicURL + m.Kind.Page().Path + "?" + m.query()
	}
	values := m.values()
	return Message{
		Texts: Texts{
			Title: m.Text.GetTitle(), PreHeader: m.Text.GetPreHeader(), Subject: m.Text.GetSubject(),
			Greeting: m.Text.GetGreeting(), Text: m.Text.GetText(), ButtonText: m.Text.GetButtonText(),
			FooterText: m.Text.GetFooterText(),
		},
		Language: m.Language,
		Link:     link,
		Value:    func(name string) string { return values[name] },
	}.Render()
}

// query returns the query of the link. A page that asks for a missing password learns from it
// whether the user has one, and each page the language of the mail: a used code does not tell whose it was.
func (m Mail) query() string {
	query := "userID=" + url.QueryEscape(m.UserID) + "&code={{.Code}}&orgID=" + url.QueryEscape(m.Reader.GetOrgId())
	if m.Kind.Page().Password == mail.AskedIfMissing {
		query += "&passwordset=" + strconv.FormatBool(m.Reader.GetPasswordSet())
	}
	return query + "&lang=" + url.QueryEscape(m.Language)
}

// values returns the values of the placeholders (see mail.ExpandPlaceholders). A user has one
// login name.
func (m Mail) values() map[string]string {
	r, w := m.Reader, wordsIn(language.Make(m.Language))
	changedBy := ""
	if m.Kind.Notice() {
		changedBy = w.Administrator
		if r.GetChangedByReader() {
			changedBy = w.Self
		}
	}
	return map[string]string{
		"FirstName": r.GetFirstName(), "LastName": r.GetLastName(),
		"NickName": r.GetNickName(), "DisplayName": r.GetDisplayName(),
		"UserName": r.GetUserName(), "PreferredLoginName": r.GetUserName(),
		"LoginName": r.GetUserName(), "LoginNames": r.GetUserName(),
		"LastEmail": r.GetRecipient(), "VerifiedEmail": r.GetVerifiedEmail(),
		"LastPhone": r.GetLastPhone(), "VerifiedPhone": r.GetVerifiedPhone(),
		"UserID": m.UserID, "OrgID": r.GetOrgId(), "OrgName": r.GetOrgName(),
		"CreationDate": w.date(r.GetCreationDate().AsTime()), "ChangeDate": w.date(r.GetChangeDate().AsTime()),
		"Expiry": w.date(r.GetExpiry().AsTime()), "ChangedBy": changedBy,
	}
}
