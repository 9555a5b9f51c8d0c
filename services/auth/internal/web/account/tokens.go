package account

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/web/frame"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
)

const (
	// day is the form in which browsers send a day (HTML section 2.3.5.2).
	day = "2006-01-02"
	// suggested is the validity that the form suggests for a new token.
	suggested = 90 * 24 * time.Hour
)

func (p *Pages) tokenRows(v visit) (rows []row, err error) {
	found, err := p.Credentials.SearchMyPersonalAccessTokens(v.as(), &usersv1.SearchMyPersonalAccessTokensRequest{})
	for _, t := range found.GetResult() {
		rows = append(rows, row{id: t.Id, Title: cmp.Or(t.Name, t.Id), Lines: aboutToken(t),
			Actions: []link{{v.address("tokens/end", "id", t.Id), "tokens.end"}}})
	}
	return rows, err
}

func (p *Pages) tokens(w http.ResponseWriter, v visit) error {
	rows, err := p.tokenRows(v)
	return p.writeList(w, v, "tokens", list{Rows: rows, EmptyKey: "tokens.none", Address: v.address("tokens/new"),
		ActionKey: "newtoken.title"}, err)
}

// aboutToken says when a token was made, when it was last used, and until when it is valid.
func aboutToken(t *usersv1.PersonalAccessToken) []line {
	about := []line{{Key: "tokens.made", At: t.Details.GetCreationDate().AsTime()}, {Key: "tokens.unused"},
		{Key: "tokens.never"}}
	if t.LastUsedDate != nil {
		about[1] = line{Key: "tokens.used", At: t.LastUsedDate.AsTime()}
	}
	if until := t.ExpirationDate.AsTime(); until.Before(secret.NoExpiry) {
		about[2] = line{Key: "tokens.until", At: until}
	}
	return about
}

func (p *Pages) askToken(w http.ResponseWriter, v visit) error {
	return p.tokenForm(w, v, newToken{until: p.Now().Add(suggested).UTC().Format(day)})
}

// newToken is what was typed for a new token. The wrong fields have the keys of the texts that say why.
type newToken struct{ name, until, wrongName, wrongUntil string }

func (p *Pages) tokenForm(w http.ResponseWriter, v visit, t newToken) error {
	return p.writeForm(w, v, "newtoken", form{Submit: "newtoken.title", Fields: []field{
		{Name: "name", Label: "newtoken.name", Type: "text", Value: t.name, Most: mostName,
			Wrong: t.wrongName, Autocomplete: "off"},
		{Name: "until", Label: "newtoken.until", Hint: "newtoken.hint", Type: "date", Value: t.until,
			Wrong: t.wrongUntil},
	}})
}

// makeToken makes a token that is valid until the end of a day, in UTC. The token is shown in the answer to the form
// only.
func (p *Pages) makeToken(w http.ResponseWriter, v visit) error {
	typed := newToken{name: v.name("name"), until: v.Text("until", len(day))}
	ask := &usersv1.AddMyPersonalAccessTokenRequest{Name: typed.name}
	if v.Values.Get("until") != "" {
		last, err := time.Parse(day, typed.until)
		if err != nil {
			typed.until, typed.wrongUntil = "", "newtoken.wrong"
			return p.tokenForm(w, v, typed)
		}
		ask.ExpirationDate = timestamppb.New(last.AddDate(0, 0, 1))
	}
	made, err := p.Credentials.AddMyPersonalAccessToken(v.as(), ask)
	if f := fault.From(err); f.Code == fault.Invalid {
		if typed.wrongUntil = "newtoken.wrong"; len(f.Fields) > 0 && f.Fields[0].Path == "name" {
			typed.wrongName, typed.wrongUntil = "profile.wrong", ""
		}
		return p.tokenForm(w, v, typed)
	}
	return p.write(w, v, frame.Page{Name: "tokenmade", Body: shownBody, Data: once{
		base: v.base(), Name: cmp.Or(strings.TrimSpace(typed.name), made.GetTokenId()), Secret: made.GetToken(),
	}}, err)
}

// once is a new token. The token itself is shown only once.
type once struct {
	base
	// Name is how the list calls it.
	Name, Secret string
}

func (p *Pages) endToken(w http.ResponseWriter, v visit) error {
	_, err := p.Credentials.RemoveMyPersonalAccessToken(v.as(),
		&usersv1.RemoveMyPersonalAccessTokenRequest{TokenId: v.id()})
	return p.done(w, v, "tokens", err)
}
