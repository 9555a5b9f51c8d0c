package account

import (
	"cmp"
	"net/http"
	"slices"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/login/federated"
	usersv1 "herald/shared/gen/herald/users/v1"
)

func (p *Pages) idpLinks(w http.ResponseWriter, v visit) {
	found, err := p.IdpLinks.SearchMyIdpLinks(v.as(), &usersv1.SearchMyIdpLinksRequest{})
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
	linkable, err := p.linkable(v)
	if err != nil { // people see their links even if the service idp is away
		p.Federated.Log.WarnContext(v.Context(), "an account's page offers no identity providers", "err", err)
	}
	for _, o := range linkable {
		shown.Rows = append(shown.Rows, row{
			Title: o.Name, Address: v.address("idplinks/add", "id", o.ID), ActionKey: "idplinks.add",
		})
	}
	p.writeList(w, v, "idplinks", shown)
}

// linkable returns the identity providers whose accounts the person may link.
func (p *Pages) linkable(v visit) (may []federated.Offer, err error) {
	offers, err := p.Federated.Offered(v.Context(), v.session.OrgID)
	for _, o := range offers {
		if o.Linking {
			may = append(may, o)
		}
	}
	return may, err
}

// askLink shows to which user an account will be linked, because another person may be logged in at this browser.
func (p *Pages) askLink(w http.ResponseWriter, v visit) {
	offers, err := p.linkable(v)
	if err != nil {
		p.failed(w, v, err)
		return
	}
	i := slices.IndexFunc(offers, func(o federated.Offer) bool { return o.ID == v.id() })
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

// link sends the person to the identity provider. They must authenticate there again, so that nobody links the account
// of the person who has used the browser before.
func (p *Pages) link(w http.ResponseWriter, v visit) {
	offers, err := p.linkable(v)
	if err != nil {
		p.failed(w, v, err)
		return
	}
	if !slices.ContainsFunc(offers, func(o federated.Offer) bool { return o.ID == v.id() }) {
		p.gone(w, v)
		return
	}
	err = p.Federated.Begin(w, v.Request, domain.ExternalLogin{
		OrgID: v.session.OrgID, IdpID: v.id(), Language: v.Picked, Again: true, SessionID: v.session.ID,
	})
	if err != nil {
		p.failed(w, v, err)
		return
	}
	http.Redirect(w, v.Request, domain.ForwardPath, http.StatusSeeOther)
}

// toUnlink returns the link that a page is about. If there is no such link, or the person has no password and no other
// link to log in with, it writes a page that says so and returns nil.
func (p *Pages) toUnlink(w http.ResponseWriter, v visit) *usersv1.UserIdpLink {
	found, err := p.IdpLinks.SearchMyIdpLinks(v.as(), &usersv1.SearchMyIdpLinksRequest{})
	if err != nil {
		p.failed(w, v, err)
		return nil
	}
	me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
	if err != nil {
		p.failed(w, v, err)
		return nil
	}
	i := slices.IndexFunc(found.Result, func(l *usersv1.UserIdpLink) bool {
		return l.IdpId == v.idp() && l.ExternalUserId == v.id()
	})
	switch {
	case i < 0:
		p.gone(w, v)
		return nil
	case len(found.Result) == 1 && !me.HasPassword:
		p.noPassword(w, v)
		return nil
	}
	return found.Result[i]
}

func (p *Pages) askUnlink(w http.ResponseWriter, v visit) {
	if l := p.toUnlink(w, v); l != nil {
		p.confirm(w, v, "idplinkend", "idplinks.end", line{Text: cmp.Or(l.DisplayName, l.ExternalUserId)},
			line{Text: l.ExternalUserId})
	}
}

func (p *Pages) unlink(w http.ResponseWriter, v visit) {
	l := p.toUnlink(w, v)
	if l == nil {
		return
	}
	_, err := p.IdpLinks.RemoveMyIdpLink(v.as(), &usersv1.RemoveMyIdpLinkRequest{
		IdpId: l.IdpId, ExternalUserId: l.ExternalUserId,
	})
	if err != nil {
		p.failed(w, v, err)
		return
	}
	p.done(w, v, "idplinks")
}

// idp returns the id of the identity provider of the account that the page is about.
func (v visit) idp() string { return v.Text("idp", maxID) }
