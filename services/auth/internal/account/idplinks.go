package account

import (
	"cmp"
	"net/http"
	"slices"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/external"
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
	for _, o := range p.linkable(v) {
		shown.Rows = append(shown.Rows, row{
			Title: o.Name, Address: v.address("idplinks/add", "id", o.ID), ActionKey: "idplinks.add",
		})
	}
	p.writeList(w, v, "idplinks", shown)
}

// linkable returns the identity providers whose accounts the person may link. People see their other links also while
// nobody knows the providers.
func (p *Pages) linkable(v visit) (may []external.Offer) {
	offers, err := p.External.Offered(v.Context(), v.session.OrgID)
	if err != nil {
		p.External.Log.WarnContext(v.Context(), "an account's page offers no identity providers", "err", err)
	}
	for _, o := range offers {
		if o.Linking {
			may = append(may, o)
		}
	}
	return may
}

// askLink says to which user here an account is linked: another person may be logged in than the one who comes.
func (p *Pages) askLink(w http.ResponseWriter, v visit) {
	offers := p.linkable(v)
	i := slices.IndexFunc(offers, func(o external.Offer) bool { return o.ID == v.id() })
	if i < 0 {
		p.gone(w, v)
		return
	}
	me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
	if err != nil {
		p.failed(w, v, err)
		return
	}
	p.confirm(w, v, "idplinkadd", "idplinks.add", line{Text: offers[i].Name},
		line{Text: me.User.GetHuman().GetProfile().GetDisplayName()}, line{Text: me.User.GetPreferredLoginName()})
}

// link sends the person to the identity provider. They must authenticate there too, so that nobody links the account of
// whoever has used the browser before.
func (p *Pages) link(w http.ResponseWriter, v visit) {
	if !slices.ContainsFunc(p.linkable(v), func(o external.Offer) bool { return o.ID == v.id() }) {
		p.gone(w, v)
		return
	}
	err := p.External.Begin(w, v.Request, domain.ExternalLogin{
		OrgID: v.session.OrgID, IdpID: v.id(), Language: v.Language, Again: true, SessionID: v.session.ID,
	})
	if err != nil {
		p.failed(w, v, err)
		return
	}
	http.Redirect(w, v.Request, forwardPath, http.StatusSeeOther)
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
