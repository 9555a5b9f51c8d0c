package mailrender

import (
	"fmt"
	"net/url"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mailkind"
)

// Mail is a mail with a code, made of the texts of the text service and the reader's data of the
// users service. The notifier sends it and the text service previews it: both render it here.
type Mail struct {
	// PublicURL begins the link, without a slash at its end.
	PublicURL string
	Kind      mailkind.Kind
	UserID    string
	Reader    *usersv1.PrepareMailResponse
	Text      *textv1.CustomText
	// Language is the BCP 47 tag of Text.
	Language string
}

// Render makes the mail without its code, which Fill adds. It fails for an unknown kind, and as
// Message.Render does.
func (m Mail) Render() (Rendered, error) {
	page := m.Kind.Page()
	if page.Path == "" {
		return Rendered{}, fmt.Errorf("there is no mail of the kind %q", m.Kind)
	}
	values := m.values()
	return Message{
		Texts: Texts{
			Title: m.Text.GetTitle(), PreHeader: m.Text.GetPreHeader(), Subject: m.Text.GetSubject(),
			Greeting: m.Text.GetGreeting(), Text: m.Text.GetText(), ButtonText: m.Text.GetButtonText(),
			FooterText: m.Text.GetFooterText(),
		},
		Language: m.Language,
		Link:     m.PublicURL + page.Path + "?" + m.query(),
		Value:    func(name string) string { return values[name] },
	}.Render()
}

// query returns the query of the link. A page that asks for a missing password learns from it
// whether the user has one.
func (m Mail) query() string {
	query := "userID=" + url.QueryEscape(m.UserID) + "&code={{.Code}}&orgID=" + url.QueryEscape(m.Reader.GetOrgId())
	if m.Kind.Page().Password == mailkind.AskedIfMissing {
		query += "&passwordset=" + strconv.FormatBool(m.Reader.GetPasswordSet())
	}
	return query
}

// values returns the values of the placeholders (see herald/shared/placeholder). A user has one
// login name.
func (m Mail) values() map[string]string {
	r := m.Reader
	return map[string]string{
		"FirstName": r.GetFirstName(), "LastName": r.GetLastName(),
		"NickName": r.GetNickName(), "DisplayName": r.GetDisplayName(),
		"UserName": r.GetUserName(), "PreferredLoginName": r.GetUserName(),
		"LoginName": r.GetUserName(), "LoginNames": r.GetUserName(),
		"LastEmail": r.GetRecipient(), "VerifiedEmail": r.GetVerifiedEmail(),
		"LastPhone": r.GetLastPhone(), "VerifiedPhone": r.GetVerifiedPhone(),
		"UserID": m.UserID, "OrgID": r.GetOrgId(), "OrgName": r.GetOrgName(),
		"CreationDate": readable(r.GetCreationDate()), "ChangeDate": readable(r.GetChangeDate()),
		"Expiry": readable(r.GetExpiry()),
	}
}

func readable(at *timestamppb.Timestamp) string { return at.AsTime().Format("2006-01-02 15:04 UTC") }
