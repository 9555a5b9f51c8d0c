package account

import (
	"net/http"

	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/search"
)

// mostApps is how many applications the page shows.
const mostApps = 200

// accessRows returns the applications with access to the account that still exist, the last login first.
func (p *Pages) accessRows(v visit) (rows []row, err error) {
	found, err := p.Sessions.Store.AuthorizedApps(v.Context(), v.session.Owner(), search.Page{Limit: mostApps})
	if err == nil {
		err = p.Sessions.Upstream.NameApps(v.Context(), found.Rows)
	}
	for _, a := range found.Rows {
		if a.Name != "" {
			rows = append(rows, row{id: a.ClientID, Title: a.Name, Lines: []line{{Key: "access.since", At: a.GivenAt}},
				Address: v.address("access/end", "id", a.ClientID), ActionKey: "access.end"})
		}
	}
	return rows, err
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
