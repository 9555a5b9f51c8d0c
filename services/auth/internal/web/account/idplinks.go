package account

import (
	"cmp"
	"net/http"
	"slices"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/login/federated"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

func (p *Pages) idpLinks(w http.ResponseWriter, v visit) error {
	found, err := p.IdpLinks.SearchMyIdpLinks(v.as(), &usersv1.SearchMyIdpLinksRequest{})
	if err != nil {
		return err
	}
	linkable, err := p.linkable(v)
	if err != nil && !fault.IsOutage(err) { // people see their links even if the service idp is away
		p.Federated.Log.WarnContext(v.Context(), "an account's page offers no identity providers", "err", err)
	}
	shown, names := list{EmptyKey: "idplinks.none"}, p.idpNames(v, found.Result)
	for _, l := range found.Result {
		about := aboutLink(names, l)
		shown.Rows = append(shown.Rows, row{
			Title: about[0].Text, Lines: about[1:],
			Actions: []link{{v.address("idplinks/end", "idp", l.IdpId, "id", l.ExternalUserId), "idplinks.end"}},
		})
	}
	for _, o := range linkable {
		shown.Rows = append(shown.Rows, row{
			Title: o.Name, Actions: []link{{v.address("idplinks/add", "id", o.ID), "idplinks.add"}},
		})
	}
	return p.writeList(w, v, "idplinks", shown, nil)
}

// linkable returns the identity providers whose accounts the person may link.
func (p *Pages) linkable(v visit) ([]federated.Offer, error) {
	offers, err := p.Federated.Offered(v.Context(), v.session.OrgID)
	return slices.DeleteFunc(slices.Clone(offers), func(o federated.Offer) bool { return !o.Linking }), err
}

// toLink returns the identity provider that a page is about.
func (p *Pages) toLink(v visit) (federated.Offer, error) {
	offers, err := p.linkable(v)
	if err != nil {
		return federated.Offer{}, err
	}
	i := slices.IndexFunc(offers, func(o federated.Offer) bool { return o.ID == v.id() })
	if i < 0 {
		return federated.Offer{}, fault.ErrNotFound
	}
	return offers[i], nil
}

// askLink shows to which user an account will be linked, because another person may be logged in at this browser.
func (p *Pages) askLink(w http.ResponseWriter, v visit) error {
	to, err := p.toLink(v)
	if err != nil {
		return err
	}
	me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
	if err != nil {
		return err
	}
	return p.confirm(w, v, "idplinkadd", "idplinks.add", line{Text: to.Name},
		line{Text: me.User.GetHuman().GetProfile().GetDisplayName()}, line{Text: me.User.GetPreferredLoginName()})
}

// link sends the person to the identity provider. They must authenticate there again, so that nobody links the account
// of the person who has used the browser before.
func (p *Pages) link(w http.ResponseWriter, v visit) error {
	to, err := p.toLink(v)
	if err != nil {
		return err
	}
	if err := p.Federated.Begin(w, v.Request, domain.ExternalLogin{
		OrgID: v.session.OrgID, IdpID: to.ID, Language: v.Picked, Again: true, SessionID: v.session.ID,
	}); err != nil {
		return err
	}
	http.Redirect(w, v.Request, domain.ForwardPath, http.StatusSeeOther)
	return nil
}

// withLink returns a handler that gets the link that a page is about. A person who has no password and no other link to
// log in with cannot end it, and gets a page that says so.
func (p *Pages) withLink(next func(http.ResponseWriter, visit, *usersv1.UserIdpLink) error) handler {
	return func(w http.ResponseWriter, v visit) error {
		found, err := p.IdpLinks.SearchMyIdpLinks(v.as(), &usersv1.SearchMyIdpLinksRequest{})
		if err != nil {
			return err
		}
		me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(found.Result, func(l *usersv1.UserIdpLink) bool {
			return l.IdpId == v.idp() && l.ExternalUserId == v.id()
		})
		switch {
		case i < 0:
			return fault.ErrNotFound
		case len(found.Result) == 1 && !me.HasPassword:
			return p.noPassword(w, v)
		}
		return next(w, v, found.Result[i])
	}
}

func (p *Pages) askUnlink(w http.ResponseWriter, v visit, l *usersv1.UserIdpLink) error {
	return p.confirm(w, v, "idplinkend", "idplinks.end", aboutLink(p.idpNames(v, []*usersv1.UserIdpLink{l}), l)...)
}

// idpNames returns the names of the identity providers of some links by their ids. It returns none if the service idp
// is away.
func (p *Pages) idpNames(v visit, links []*usersv1.UserIdpLink) map[string]string {
	var ids []string
	for _, l := range links {
		ids = append(ids, l.IdpId)
	}
	names, err := p.Federated.Names(v.Context(), v.session.OrgID, ids)
	if err != nil && !fault.IsOutage(err) {
		p.Federated.Log.WarnContext(v.Context(), "an account's page does not name identity providers", "err", err)
	}
	return names
}

// aboutLink says at which identity provider an account is, and whose it is there.
func aboutLink(idpNames map[string]string, l *usersv1.UserIdpLink) (about []line) {
	texts := []string{idpNames[l.IdpId], cmp.Or(l.DisplayName, l.ExternalUserId)}
	if l.DisplayName != "" && l.DisplayName != l.ExternalUserId {
		texts = append(texts, l.ExternalUserId)
	}
	for _, text := range texts {
		if text != "" {
			about = append(about, line{Text: text})
		}
	}
	return about
}

func (p *Pages) unlink(w http.ResponseWriter, v visit, l *usersv1.UserIdpLink) error {
	_, err := p.IdpLinks.RemoveMyIdpLink(v.as(), &usersv1.RemoveMyIdpLinkRequest{
		IdpId: l.IdpId, ExternalUserId: l.ExternalUserId,
	})
	return p.done(w, v, "idplinks", err)
}

// idp returns the id of the identity provider of the account that the page is about.
func (v visit) idp() string { return v.Text("idp", maxID) }
