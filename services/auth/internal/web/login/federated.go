package login

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/login/federated"
	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	"herald/shared/gen/fault/idpfault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// org returns the organization whose identity providers a page offers: the one that the client asks for, or else the
// client's own. Without a client, as for the pages of the account, it is the organization of the browser's session, if
// there is one.
func (p Pages) org(v visit) (string, error) {
	if v.ID != "" {
		asked, err := domain.AskedOrg(v.asked.Scopes)
		if err != nil || asked != "" {
			return asked, err
		}
		if v.client.OrgID != "" {
			return v.client.OrgID, nil
		}
	}
	s, _, err := p.Sessions.Session(v.Request)
	return s.OrgID, err
}

// offers returns the identity providers that a page offers, and their organization.
func (p Pages) offers(v visit) (offers []federated.Offer, orgID string, err error) {
	if orgID, err = p.org(v); err == nil {
		offers, err = p.Federated.Offered(v.Context(), orgID)
	}
	return offers, orgID, err
}

// begin begins a login at an identity provider that the page offers.
func (p Pages) begin(w http.ResponseWriter, v visit) {
	id := v.Values.Get("idp")
	offers, orgID, err := p.offers(v)
	if err != nil {
		p.failed(w, v, err)
		return
	}
	if !slices.ContainsFunc(offers, func(o federated.Offer) bool { return o.ID == id }) {
		p.externalNotice(w, v, http.StatusBadRequest, "externaloff", v.address(Path))
		return
	}
	confirmed := v.Values.Get("confirmed")
	if len(confirmed) > maxName || !domain.Plain(confirmed) {
		confirmed = ""
	}
	s, there, err := p.Sessions.Session(v.Request)
	if err == nil {
		err = p.Federated.Begin(w, v.Request, domain.ExternalLogin{
			OrgID: orgID, IdpID: id, RequestID: v.ID, Language: v.Picked,
			// A person who is logged in authenticates again, because the login is too old or another account is wanted.
			Again: confirmed == "" && (there && s.OrgID == orgID ||
				v.ID != "" && !v.asked.Satisfied(domain.Session{}, p.Now())),
			Confirmed: confirmed,
		})
	}
	if err != nil {
		p.failed(w, v, err)
		return
	}
	redirect(w, v, v.address(forwardPath))
}

// forward sends the browser to the identity provider. It does so with a page and not with a redirect, because browsers
// check all redirects after a form, and Herald does not know to which addresses a provider redirects.
func (p Pages) forward(w http.ResponseWriter, v visit) {
	to, err := p.Federated.Forward(v.Request)
	if err != nil {
		p.refusal(w, v, err, v.address(Path))
		return
	}
	w.Header().Set("Refresh", "0;url="+to.Address)
	p.Frame.Write(w, v.Request, frame.Page{Status: http.StatusOK, Name: "forward", Body: forwardBody, Data: to,
		Language: v.Language, InLanguage: v.in(forwardPath)})
}

// arrive takes a browser that comes back from an identity provider.
func (p Pages) arrive(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), arriveTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	a, err := p.Federated.Arrive(w, r)
	v := visit{Visit: frame.Visit{Request: r, Picked: a.Language}, ID: a.RequestID, Language: a.Language}
	if !p.asked(w, &v) {
		return
	}
	if err != nil {
		p.refuse(w, v, a, err)
		return
	}
	if a.SessionID != "" {
		p.link(w, v, a)
		return
	}
	found, err := p.Federated.User(ctx, a)
	ask, asks := errors.AsType[federated.ErrAsk](err)
	switch {
	case asks:
		p.askNew(w, v, a, ask.Account)
	case err != nil:
		p.refuse(w, v, a, err)
	case found.State != usersv1.UserState_USER_STATE_ACTIVE || !found.OrgActive:
		p.refuse(w, v, a, authfault.ErrExternalUserInactive)
	default:
		p.enter(w, v, p.Federated.Login(a, found))
	}
}

// newForm is the form that asks whether a user shall be created.
type newForm struct {
	kept
	federated.Account
	// Link is the address for people who have a user already; empty if people may not link accounts.
	Link string
}

func (p Pages) askNew(w http.ResponseWriter, v visit, a federated.Arrived, shown federated.Account) {
	f := newForm{kept: v.kept(), Account: shown}
	if a.ProviderOptions.GetIsLinkingAllowed() {
		f.Link = p.toLink(w, v, a)
	}
	p.Frame.Write(w, v.Request, frame.Page{Status: http.StatusOK, Name: "externalnew", Body: newBody, Data: f,
		Language: v.Language, InLanguage: v.in(Path)})
}

// enter continues a login after the account's user is found.
func (p Pages) enter(w http.ResponseWriter, v visit, l domain.Login) {
	p.Federated.Succeeded()
	p.entered(w, v, l)
}

// stillOn checks a new session. If its identity provider was deactivated at the same time, stillOn ends the session,
// writes a page that says so and returns false.
func (p Pages) stillOn(w http.ResponseWriter, v visit, s domain.Session) bool {
	id := s.Provider()
	if id == "" {
		return true
	}
	err := p.Federated.StillOn(v.Context(), s.OrgID, id)
	if err == nil {
		return true
	}
	if errors.Is(err, authfault.ErrExternalLoginOver) {
		err = errors.Join(err, p.Sessions.EndOne(v.Context(), s, s.ID))
	}
	p.refuse(w, v, federated.Arrived{ExternalLogin: domain.ExternalLogin{OrgID: s.OrgID, IdpID: id}}, err)
	return false
}

// refuse writes the page that says why a login with an account failed, and records it for the administrators.
func (p Pages) refuse(w http.ResponseWriter, v visit, a federated.Arrived, why error) {
	p.Federated.Refused(v.Context(), a, why)
	if a.SessionID != "" {
		p.refuseLink(w, v, why)
		return
	}
	linking := a.FinishIdpLoginResponse.GetProviderOptions().GetIsLinkingAllowed()
	if id := fault.From(why).ID; linking && (id == usersfault.ErrIdpLinkNotFound.ID ||
		id == usersfault.ErrUserNameTaken.ID) {
		p.askUnlinked(w, v, a)
		return
	}
	p.refusal(w, v, why, v.address(Path))
}

// refusal writes the page for a refused login, with a link back.
func (p Pages) refusal(w http.ResponseWriter, v visit, why error, back string) {
	notice := func(status int, name string) { p.externalNotice(w, v, status, name, back) }
	switch f := fault.From(why); f.ID {
	case authfault.ErrExternalLoginGone.ID:
		notice(http.StatusBadRequest, "externalgone")
	case authfault.ErrExternalLoginDenied.ID:
		notice(http.StatusForbidden, "externaldenied")
	case authfault.ErrExternalUserInactive.ID:
		p.inactive(w, v)
	case authfault.ErrExternalLoginOver.ID, idpfault.ErrIdpNotActive.ID, idpfault.ErrIdpNotFound.ID:
		notice(http.StatusForbidden, "externaloff")
	case idpfault.ErrIdpTenantRefused.ID:
		notice(http.StatusForbidden, "externaltenant")
	case usersfault.ErrUserNameTaken.ID, usersfault.ErrIdpLinkTaken.ID:
		notice(http.StatusForbidden, "externaltaken")
	case authfault.ErrExternalProfileIncomplete.ID:
		notice(http.StatusForbidden, "externallacking")
	case usersfault.ErrIdpLinkNotFound.ID, usersfault.ErrIdpLinkOtherTenant.ID:
		notice(http.StatusForbidden, "externalunknown")
	default:
		if f.Code == fault.Precondition {
			notice(http.StatusForbidden, "externalrefused")
			return
		}
		p.failed(w, v, why)
	}
}

// externalNotice writes a page that has only its texts and a link back.
func (p Pages) externalNotice(w http.ResponseWriter, v visit, status int, name, back string) {
	p.Frame.Write(w, v.Request, frame.Page{Status: status, Name: name, Body: frame.NoticeBody, Data: back,
		Language: v.Language, InLanguage: v.in(Path)})
}
