package authorize

import (
	"context"
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/web/frame"
	authv1 "herald/shared/gen/herald/auth/v1"
)

// consentPath is where a person is asked whether a client gets what it asks for.
const consentPath = domain.LoginPath + "consent"

var consentBody = frame.Body(files, "consent.html")

// mustAgree reports whether a person who has logged in must be asked before a client gets a code. A person who may not
// get tokens of the project is not asked.
func (e *Endpoint) mustAgree(
	ctx context.Context, c domain.Client, request domain.AuthRequest, s domain.Session,
) (bool, error) {
	if request.ActsAsUser() || s.OrgID == c.OrgID {
		return request.MustAgree(c, s, domain.Access{}, domain.Consent{}), nil
	}
	access, err := e.Upstream.Access(ctx, c.Project.ID, s.UserID, s.OrgID)
	if err != nil || c.Project.Admit(access) != nil {
		return false, err
	}
	given, err := e.Store.Consent(ctx, s.UserID, c.ID)
	return err == nil && request.MustAgree(c, s, access, given), err
}

// consent sends a person who has logged in to the consent page.
func consent(w http.ResponseWriter, r *http.Request, id string) {
	http.Redirect(w, r, frame.Address(consentPath, "request", id), http.StatusSeeOther)
}

// asker is the content of the consent page: the application, the organization that offers it, and the keys of the texts
// for the data that it gets.
type asker struct {
	ID, Application, Organization string
	Disclosed                     []string
}

// disclosed has the key of the text for the data that a scope gives a client.
var disclosed = map[string]string{
	domain.ScopeOpenID: "shared.account", domain.ScopeProfile: "shared.profile", domain.ScopeEmail: "shared.email",
	domain.ScopePhone: "shared.phone", domain.ScopeOfflineAccess: "shared.later",
	domain.ScopeResourceOwner: "shared.organization",
}

func (e *Endpoint) askConsent(w http.ResponseWriter, r *http.Request) {
	request, client, session, ok := e.agreeing(w, r, r.URL.Query().Get("request"))
	if !ok {
		return
	}
	asked, _ := domain.AskedOrg(request.Scopes) // the request was refused if it names two
	r = frame.Branded(r, client.BrandingIn(asked, session.OrgID))
	orgs, err := e.Upstream.Orgs(r.Context(), client.OrgID)
	if err != nil {
		e.page(w, r, err)
		return
	}
	page := frame.Page{Status: http.StatusOK, Name: "consent", Body: consentBody,
		Language: e.Frame.Picked(r, request.UILocales),
		InLanguage: func(tag string) string {
			return frame.Address(consentPath, "request", request.ID, "lang", tag)
		}}
	asks := asker{ID: request.ID, Application: client.Name, Organization: orgs[client.OrgID].Name}
	if !request.ActsAsUser() { // that page says that the client gets all rights
		page.Name = "share"
		for _, scope := range domain.PersonalScopes(request.Scopes) {
			asks.Disclosed = append(asks.Disclosed, disclosed[scope])
		}
	}
	page.Data = asks
	e.Frame.PostTo(w, request.RedirectURI)
	e.Frame.Write(w, r, page)
}

func (e *Endpoint) takeConsent(w http.ResponseWriter, r *http.Request) {
	request, client, session, ok := e.agreeing(w, r, r.PostFormValue("request"))
	if !ok {
		return
	}
	if r.PostFormValue("answer") != "allow" {
		e.giveError(w, r, request, domain.ErrAccessDenied.Say("the person has refused"))
		return
	}
	if session.OrgID != client.OrgID {
		if err := e.remember(r.Context(), request, client, session); err != nil {
			e.page(w, r, err)
			return
		}
	}
	e.conclude(w, r, request, client, session)
}

// remember stores what a person has agreed to.
func (e *Endpoint) remember(
	ctx context.Context, request domain.AuthRequest, c domain.Client, s domain.Session,
) error {
	scopes := domain.PersonalScopes(request.Scopes)
	return e.Store.GiveConsent(ctx, domain.Consent{
		UserID: s.UserID, ClientID: c.ID, OrgID: s.OrgID, ClientOrgID: c.OrgID, Scopes: scopes,
	}, &authv1.ConsentGiven{UserId: s.UserID, ClientId: c.ID, Scopes: scopes})
}

// agreeing returns a request with its client and the login of the browser, if that login is enough for the request.
// Otherwise it answers, and reports false.
func (e *Endpoint) agreeing(
	w http.ResponseWriter, r *http.Request, id string,
) (request domain.AuthRequest, client domain.Client, session domain.Session, ok bool) {
	request, client, err := e.request(r.Context(), e.Upstream, id)
	if err == nil {
		session, ok, err = e.Sessions.Session(r)
	}
	if err != nil {
		e.page(w, r, err)
		return request, client, session, false
	}
	if e.fits(request, session, ok) != nil {
		login(w, r, request.ID)
		return request, client, session, false
	}
	return request, client, session, true
}
