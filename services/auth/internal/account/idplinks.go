package account

import (
	"cmp"
	"net/http"

	usersv1 "herald/shared/gen/herald/users/v1"
)

func (p *Pages) idpLinks(w http.ResponseWriter, v visit) {
	found, err := p.Users.SearchMyIdpLinks(v.as(), &usersv1.SearchMyIdpLinksRequest{})
	if err != nil {
		p.failed(w, v, err)
		return
	}
	shown := list{EmptyKey: "idplinks.none"}
	for _, l := range found.Result {
		shown.Rows = append(shown.Rows, row{
			Title: cmp.Or(l.DisplayName, l.ExternalUserId), Lines: []line{{Text: l.ExternalUserId}},
			Address:   v.address("idplinks/end", "idp", l.IdpId, "id", l.ExternalUserId),
			ActionKey: "idplinks.end",
		})
	}
	p.writeList(w, v, "idplinks", shown)
}

func (p *Pages) askUnlink(w http.ResponseWriter, v visit) {
	found, err := p.Users.SearchMyIdpLinks(v.as(), &usersv1.SearchMyIdpLinksRequest{})
	if err != nil {
		p.failed(w, v, err)
		return
	}
	for _, l := range found.Result {
		if l.IdpId == v.idp() && l.ExternalUserId == v.id() {
			p.confirm(w, v, "idplinkend", "idplinks.end", line{Text: cmp.Or(l.DisplayName, l.ExternalUserId)},
				line{Text: l.ExternalUserId})
			return
		}
	}
	p.gone(w, v)
}

func (p *Pages) unlink(w http.ResponseWriter, v visit) {
	_, err := p.Users.RemoveMyIdpLink(v.as(), &usersv1.RemoveMyIdpLinkRequest{
		IdpId: v.idp(), ExternalUserId: v.id(),
	})
	if err != nil {
		p.failed(w, v, err)
		return
	}
	p.done(w, v, "idplinks")
}

// idp returns the id of the identity provider of the account that the page is about.
func (v visit) idp() string { return v.text("idp", maxID) }
