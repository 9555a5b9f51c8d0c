package mailer

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/mail"
)

// Mail is a mail to a user. It is made from the texts of the text service and the user's data of the users service.
// The notifier, which sends mails, and the text service, which previews them, both use it.
type Mail struct {
	// PublicURL is the beginning of the link, without a slash at its end.
	PublicURL string
	Kind      mail.Kind
	UserID    string
	Reader    *usersv1.PrepareMailResponse
	Text      *textv1.CustomText
	// Language is the BCP 47 tag of Text.
	Language string
	// Branding is that of the user's organization; nil for Herald's.
	Branding *textv1.ResolveBrandingResponse
}

// Render returns the mail without its code, which Fill adds. A notice has no code and is complete. Render fails for
// an unknown kind, and in the cases in which Message.Render fails.
func (m Mail) Render() (Rendered, error) {
	if _, err := mail.ParseKind(string(m.Kind)); err != nil {
		return Rendered{}, err
	}
	values := m.values()
	return Message{
		Texts: Texts{
			Title: m.Text.GetTitle(), PreHeader: m.Text.GetPreHeader(), Subject: m.Text.GetSubject(),
			Greeting: m.Text.GetGreeting(), Text: m.Text.GetText(), ButtonText: m.Text.GetButtonText(),
			FooterText: m.Text.GetFooterText(),
		},
		Language: m.Language,
		List:     m.list(),
		Link:     m.link(),
		Color:    m.Branding.GetPrimaryColor(), Support: m.Branding.GetSupportEmail(),
		Value: func(name string) string { return shown(name, values[name]) },
	}.Render()
}

// The pages to which a mail about what ends soon leads.
const (
	ownTokens   = "/ui/account/tokens"
	expirations = "/docs/api#tag/Expirations/operation/Expirations_ListExpirations"
)

// link returns the link of the mail, or "" if it has none. Only a page of the own account, or a public page, is linked
// without a code.
func (m Mail) link() string {
	switch {
	case !m.Kind.Notice():
		return m.PublicURL + m.Kind.Page().Path + "?" + m.query()
	case m.Kind != mail.Expiring:
		return ""
	case slices.ContainsFunc(m.Reader.GetExpirations(), func(e *heraldv1.Expiration) bool {
		return e.OwnerId != m.UserID
	}):
		return m.PublicURL + expirations
	}
	return m.PublicURL + ownTokens
}

// list returns a line for each thing that ends soon, and one that says how many more there are.
func (m Mail) list() (lines []string) {
	if m.Kind != mail.Expiring {
		return nil
	}
	w := wordsIn(language.Make(m.Language))
	for _, e := range m.Reader.GetExpirations() {
		name := mail.WithoutLinks(cmp.Or(e.Name, e.Id))
		lines = append(lines, w.kind(e.Kind)+": "+name+" – "+w.day(e.ExpirationDate.AsTime()))
	}
	if n := m.Reader.GetFurtherExpirations(); n > 0 {
		lines = append(lines, strings.ReplaceAll(w.Further, "{n}", strconv.FormatInt(n, 10)))
	}
	return lines
}

// shown returns the value of a placeholder as the mail shows it. People choose names, and a link in one would look like
// ours. The reader's own addresses and login name stay as they are, because the reader compares and copies them.
func shown(name, value string) string {
	switch name {
	case "LastEmail", "VerifiedEmail", "UserName", "LoginName", "LoginNames", "PreferredLoginName":
		if _, err := mail.ParseAddress(value); err == nil {
			return value
		}
	}
	return mail.WithoutLinks(value)
}

// query returns the query of the link. It contains the language for the page, because a used code does not identify
// the user any more. For a page that asks for a missing password, it also contains whether the user has a password.
func (m Mail) query() string {
	query := "userID=" + url.QueryEscape(m.UserID) + "&code={{.Code}}&orgID=" + url.QueryEscape(m.Reader.GetOrgId())
	if m.Kind.Page().Password == mail.AskedIfMissing {
		query += "&passwordset=" + strconv.FormatBool(m.Reader.GetPasswordSet())
	}
	return query + "&lang=" + url.QueryEscape(m.Language)
}

// values returns the values of the placeholders (see mail.ExpandPlaceholders). A user has only one login name, so
// several placeholders have the same value.
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
		"CreationDate": w.day(r.GetCreationDate().AsTime()), "ChangeDate": w.day(r.GetChangeDate().AsTime()),
		"Expiry": w.day(r.GetExpiry().AsTime()), "ChangedBy": changedBy,
	}
}
