package account

import (
	"net/http"
	"slices"

	"herald/services/auth/internal/domain"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/search"
)

// mostApps is how many applications the page shows.
const mostApps = 200

func (p *Pages) access(w http.ResponseWriter, v visit) {
	all, err := p.apps(v)
	if err != nil {
		p.failed(w, v, err)
		return
	}
	shown := list{EmptyKey: "access.none"}
	for _, a := range all {
		shown.Rows = append(shown.Rows, row{Title: a.Name, Lines: []line{{Key: "access.since", At: a.GivenAt}},
			Address: v.address("access/end", "id", a.ClientID), ActionKey: "access.end"})
	}
	p.writeList(w, v, "access", shown)
}

func (p *Pages) askEndAccess(w http.ResponseWriter, v visit) {
	all, err := p.apps(v)
	if err != nil {
		p.failed(w, v, err)
		return
	}
	for _, a := range all {
		if a.ClientID == v.id() {
			p.confirm(w, v, "accessend", "access.end", line{Text: a.Name}, line{Key: "access.since", At: a.GivenAt})
			return
		}
	}
	p.gone(w, v)
}

func (p *Pages) endAccess(w http.ResponseWriter, v visit) {
	userID, clientID := v.session.UserID, v.id()
	if _, err := p.Sessions.Store.RevokeApp(v.as(), userID, clientID,
		&authv1.ConsentWithdrawn{UserId: userID, ClientId: clientID},
		&authv1.AuthorizationEnded{
			UserId: userID, ClientId: clientID, By: authv1.AuthorizationEnd_AUTHORIZATION_END_TAKEN_BACK,
		}); err != nil {
		p.failed(w, v, err)
		return
	}
	p.done(w, v, "access")
}

// apps returns the applications of the person that still exist, the last login first.
func (p *Pages) apps(v visit) ([]domain.AuthorizedApp, error) {
	found, err := p.Sessions.Store.AuthorizedApps(v.Context(), v.session.Owner(), search.Page{Limit: mostApps})
	if err == nil {
		err = p.Sessions.Upstream.NameApps(v.Context(), found.Rows)
	}
	return slices.DeleteFunc(found.Rows, func(a domain.AuthorizedApp) bool { return a.Name == "" }), err
}
