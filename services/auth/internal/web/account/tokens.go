package account

import (
	"net/http"
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
		rows = append(rows, row{id: t.Id, Title: t.Id, Lines: validity(t),
			Actions: []link{{v.address("tokens/end", "id", t.Id), "tokens.end"}}})
	}
	return rows, err
}

func (p *Pages) tokens(w http.ResponseWriter, v visit) error {
	rows, err := p.tokenRows(v)
	return p.writeList(w, v, "tokens", list{Rows: rows, EmptyKey: "tokens.none", Address: v.address("tokens/new"),
		ActionKey: "newtoken.title"}, err)
}

// validity says when a token was made and until when it is valid.
func validity(t *usersv1.PersonalAccessToken) []line {
	made := line{Key: "tokens.made", At: t.Details.GetCreationDate().AsTime()}
	if until := t.ExpirationDate.AsTime(); until.Before(secret.NoExpiry) {
		return []line{made, {Key: "tokens.until", At: until}}
	}
	return []line{made, {Key: "tokens.never"}}
}

func (p *Pages) askToken(w http.ResponseWriter, v visit) error {
	return p.tokenForm(w, v, p.Now().Add(suggested).UTC().Format(day), "")
}

func (p *Pages) tokenForm(w http.ResponseWriter, v visit, until, wrong string) error {
	return p.writeForm(w, v, "newtoken", form{Submit: "newtoken.title", Fields: []field{{
		Name: "until", Label: "newtoken.until", Hint: "newtoken.hint", Type: "date", Value: until, Wrong: wrong,
	}}})
}

// makeToken makes a token that is valid until the end of a day, in UTC. The token is shown in the answer to the form
// only.
func (p *Pages) makeToken(w http.ResponseWriter, v visit) error {
	typed := v.Text("until", len(day))
	ask := &usersv1.AddMyPersonalAccessTokenRequest{}
	if v.Values.Get("until") != "" {
		last, err := time.Parse(day, typed)
		if err != nil {
			return p.tokenForm(w, v, "", "newtoken.wrong")
		}
		ask.ExpirationDate = timestamppb.New(last.AddDate(0, 0, 1))
	}
	made, err := p.Credentials.AddMyPersonalAccessToken(v.as(), ask)
	if fault.From(err).Code == fault.Invalid {
		return p.tokenForm(w, v, typed, "newtoken.wrong")
	}
	return p.write(w, v, frame.Page{Name: "tokenmade", Body: shownBody,
		Data: once{base: v.base(), ID: made.GetTokenId(), Secret: made.GetToken()}}, err)
}

// once is a new token. The token itself is shown only once.
type once struct {
	base
	// ID is its name in the list.
	ID, Secret string
}

func (p *Pages) endToken(w http.ResponseWriter, v visit) error {
	_, err := p.Credentials.RemoveMyPersonalAccessToken(v.as(),
		&usersv1.RemoveMyPersonalAccessTokenRequest{TokenId: v.id()})
	return p.done(w, v, "tokens", err)
}
