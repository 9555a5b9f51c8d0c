package account

import (
	"net/http"

	"herald/services/auth/internal/authorizedapps"
)

func (p *Pages) access(w http.ResponseWriter, v visit) {
	all, err := p.apps().Existing(v.Context(), v.session.Owner())
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
	all, err := p.apps().Existing(v.Context(), v.session.Owner())
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
	if _, err := p.apps().Revoke(v.as(), v.session.UserID, v.id()); err != nil {
		p.failed(w, v, err)
		return
	}
	p.done(w, v, "access")
}

func (p *Pages) apps() authorizedapps.Apps {
	return authorizedapps.Apps{Store: p.Sessions.Store, Upstream: p.Sessions.Upstream}
}
