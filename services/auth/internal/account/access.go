package account

import (
	"net/http"
	"slices"

	"herald/services/auth/internal/given"
	"herald/shared/search"
)

// mostGiven is how many applications a person sees.
const mostGiven = 200

func (p *Pages) access(w http.ResponseWriter, v visit) {
	all, err := p.applications(v)
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

func (p *Pages) askTakeBack(w http.ResponseWriter, v visit) {
	all, err := p.applications(v)
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

func (p *Pages) takeBack(w http.ResponseWriter, v visit) {
	if _, err := p.given().TakeBack(v.as(), v.session.UserID, v.id()); err != nil {
		p.failed(w, v, err)
		return
	}
	p.done(w, v, "access")
}

// applications returns those to which the person gave access, the last login first. Those that do not exist any more
// are left out.
func (p *Pages) applications(v visit) ([]given.Application, error) {
	all, err := p.given().Applications(v.Context(), v.session.Owner(), search.Page{Limit: mostGiven})
	return slices.DeleteFunc(all.Rows, func(a given.Application) bool { return a.Name == "" }), err
}

func (p *Pages) given() given.Given {
	return given.Given{Store: p.Sessions.Store, Owners: p.Sessions.Owners}
}
