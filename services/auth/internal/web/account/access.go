package account

import (
	"cmp"
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/upstream"
	authv1 "herald/shared/gen/herald/auth/v1"
)

// accessRows returns the applications with access to the account that still exist, the last login first.
func (p *Pages) accessRows(v visit) (rows []row, err error) {
	apps, err := p.Sessions.Apps(v.Context(), v.session)
	if err == nil {
		err = upstream.SetMade(v.as(), p.Credentials, p.Factors, apps)
	}
	for _, a := range apps {
		if a.Name != "" {
			rows = append(rows, row{id: a.ClientID, Title: a.Name, Lines: accessLines(a),
				Actions: []link{{v.address("access/end", "id", a.ClientID), "access.end"}}})
		}
	}
	return rows, err
}

// accessLines says who offers an application, since when it has access, and what it made, which ends with the access.
func accessLines(a domain.AuthorizedApp) []line {
	lines := []line{{Text: a.OrgName}, {Key: "access.since", At: a.GivenAt}}
	for _, m := range a.Made {
		made := line{Key: "access.otp", At: m.At}
		switch {
		case m.TokenID != "":
			made.Key, made.Text = "access.token", cmp.Or(m.Name, m.TokenID)
		case m.Prepared:
			made.Key = "access.otpprepared"
		}
		lines = append(lines, made)
	}
	return lines
}

func (p *Pages) access(w http.ResponseWriter, v visit) error {
	rows, err := p.accessRows(v)
	return p.writeList(w, v, "access", list{Rows: rows, EmptyKey: "access.none"}, err)
}

func (p *Pages) endAccess(w http.ResponseWriter, v visit) error {
	userID, clientID := v.session.UserID, v.id()
	_, err := p.Sessions.Store.RevokeApp(v.as(), userID, clientID,
		&authv1.ConsentWithdrawn{UserId: userID, ClientId: clientID},
		&authv1.AuthorizationEnded{
			UserId: userID, ClientId: clientID, By: authv1.AuthorizationEnd_AUTHORIZATION_END_TAKEN_BACK,
		})
	return p.done(w, v, "access", err)
}
