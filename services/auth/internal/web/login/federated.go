package login

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/login/federated"
	"herald/services/auth/internal/web/session"
	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	"herald/shared/gen/fault/idpfault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// org returns the organization whose identity providers a page offers: the one that the client asks for, or else the
// client's own. Without a client, as for the pages of the account, it is the organization of the browser's session, if
// there is one.
func (p Pages) org(v *visit) (string, error) {
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
func (p Pages) offers(v *visit) (offers []federated.Offer, orgID string, err error) {
	if orgID, err = p.org(v); err == nil {
		offers, err = p.Federated.Offered(v.Context(), orgID)
	}
	return offers, orgID, err
}

// begin begins a login at an identity provider that the page offers.
func (p Pages) begin(w http.ResponseWriter, v *visit) error {
	if !session.TakesCookies(v.Request) {
		p.notice(w, v, http.StatusBadRequest, "nocookies", v.address(Path))
		return nil
	}
	id := v.Values.Get("idp")
	offers, orgID, err := p.offers(v)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(offers, func(o federated.Offer) bool { return o.ID == id }) {
		p.notice(w, v, http.StatusBadRequest, "externaloff", v.address(Path))
		return nil
	}
	confirmed := v.Text("confirmed", maxName)
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
	if err == nil {
		redirect(w, v, v.address(forwardPath))
	}
	return err
}

// forward sends the browser to the identity provider. It does so with a page and not with a redirect, because browsers
// check all redirects after a form, and Herald does not know to which addresses a provider redirects.
func (p Pages) forward(w http.ResponseWriter, v *visit) error {
	to, err := p.Federated.Forward(v.Request)
	if err != nil {
		return p.refusal(w, v, err, v.address(Path))
	}
	w.Header().Set("Refresh", "0;url="+to.Address)
	p.write(w, v, forwardPath, frame.Page{Name: "forward", Body: forwardBody, Data: to})
	return nil
}

// arrive takes a browser that comes back from an identity provider.
func (p Pages) arrive(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), arriveTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	a, err := p.Federated.Arrive(w, r)
	v := &visit{Visit: frame.Visit{Request: r, Picked: a.Language}, ID: a.RequestID, Language: a.Language}
	p.serve(w, v, func(w http.ResponseWriter, v *visit) error {
		switch {
		case err != nil:
			return p.refuse(w, v, a, err)
		case a.SessionID != "":
			return p.link(w, v, a)
		}
		return p.logIn(w, v, a)
	})
}

// logIn logs in the user of the account with which a browser came back.
func (p Pages) logIn(w http.ResponseWriter, v *visit, a federated.Arrived) error {
	found, err := p.Federated.User(v.Context(), a)
	if ask, asks := errors.AsType[federated.ErrAsk](err); asks {
		p.askNew(w, v, a, ask.Account)
		return nil
	}
	if err == nil && found.OrgActive && found.State == usersv1.UserState_USER_STATE_INITIAL {
		p.initial(w, v, found.UserId, found.OrgId)
		return nil
	}
	if err == nil && (found.State != usersv1.UserState_USER_STATE_ACTIVE || !found.OrgActive) {
		err = authfault.ErrExternalUserInactive
	}
	if err != nil {
		return p.refuse(w, v, a, err)
	}
	p.Federated.Succeeded()
	return p.entered(w, v, p.Federated.Login(a, found))
}

// newForm is the form that asks whether a user shall be created.
type newForm struct {
	kept
	federated.Account
	// Link is the address for people who have a user already; empty if people may not link accounts.
	Link string
}

func (p Pages) askNew(w http.ResponseWriter, v *visit, a federated.Arrived, shown federated.Account) {
	f := newForm{kept: v.kept(), Account: shown}
	if a.ProviderOptions.GetIsLinkingAllowed() {
		f.Link = p.toLink(w, v, a)
	}
	p.write(w, v, Path, frame.Page{Name: "externalnew", Body: newBody, Data: f})
}

// stillOn checks a new session. If its identity provider was deactivated at the same time, stillOn ends the session and
// returns a fault.
func (p Pages) stillOn(v *visit, s domain.Session) error {
	id := s.Provider()
	if id == "" {
		return nil
	}
	err := p.Federated.StillOn(v.Context(), s.OrgID, id)
	if errors.Is(err, authfault.ErrExternalLoginOver) {
		err = errors.Join(err, p.Sessions.EndOne(v.Context(), s, s.ID))
	}
	return err
}

// refuse writes the page that says why a login with an account failed, or why an account is not linked, and records it
// for the administrators.
func (p Pages) refuse(w http.ResponseWriter, v *visit, a federated.Arrived, why error) error {
	p.Federated.Refused(v.Context(), a, why)
	id, linking := fault.From(why).ID, a.FinishIdpLoginResponse.GetProviderOptions().GetIsLinkingAllowed()
	switch {
	case a.SessionID != "":
		back := v.address(domain.LinksPath)
		if name := unlinkable[id]; name != "" {
			p.notice(w, v, http.StatusForbidden, name, back)
			return nil
		}
		return p.refusal(w, v, why, back)
	case linking && (id == usersfault.ErrIdpLinkNotFound.ID || id == usersfault.ErrUserNameTaken.ID):
		p.askUnlinked(w, v, a)
		return nil
	}
	return p.refusal(w, v, why, v.address(Path))
}

var (
	// refusals are the pages for refused logins, by the id of the fault.
	refusals = map[string]string{
		authfault.ErrExternalLoginGone.ID:         "externalgone",
		authfault.ErrExternalLoginDenied.ID:       "externaldenied",
		authfault.ErrExternalLoginOver.ID:         "externaloff",
		idpfault.ErrIdpNotActive.ID:               "externaloff",
		idpfault.ErrIdpNotFound.ID:                "externaloff",
		idpfault.ErrIdpTenantRefused.ID:           "externaltenant",
		usersfault.ErrUserNameTaken.ID:            "externaltaken",
		usersfault.ErrIdpLinkTaken.ID:             "externaltaken",
		authfault.ErrExternalProfileIncomplete.ID: "externallacking",
		usersfault.ErrIdpLinkNotFound.ID:          "externalunknown",
		usersfault.ErrIdpLinkOtherTenant.ID:       "externalunknown",
	}
	// unlinkable are the pages for accounts that cannot be linked, by the id of the fault. Other faults have the pages
	// of refused logins.
	unlinkable = map[string]string{
		usersfault.ErrIdpLinkTaken.ID:          "externallinked",
		usersfault.ErrIdpLinkLimit.ID:          "externalfull",
		authfault.ErrExternalLinkingRefused.ID: "externalunknown",
	}
)

// refusal writes the page for a refused login, with a link back. It returns a fault that has no page.
func (p Pages) refusal(w http.ResponseWriter, v *visit, why error, back string) error {
	f, status := fault.From(why), http.StatusForbidden
	name := refusals[f.ID]
	switch {
	case f.ID == authfault.ErrExternalUserInactive.ID:
		p.inactive(w, v)
		return nil
	case f.ID == authfault.ErrExternalLoginGone.ID:
		status = http.StatusBadRequest
	case name == "" && f.Code == fault.Precondition:
		name = "externalrefused"
	case name == "":
		return why
	}
	p.notice(w, v, status, name, back)
	return nil
}
