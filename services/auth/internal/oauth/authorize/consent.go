package authorize

import (
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/consent"
	"herald/services/auth/internal/web/frame"
)

// consentPath is where a person is asked whether a client gets what it asks for.
const consentPath = domain.LoginPath + "consent"

var consentBody = consent.Body(files, "consent.html")

func (e *Endpoint) consents() consent.Consents {
	return consent.Consents{Store: e.Store, Upstream: e.Upstream}
}

// toConsent sends a person who has logged in to the consent page.
func toConsent(w http.ResponseWriter, r *http.Request, id string) {
	http.Redirect(w, r, frame.Address(consentPath, "request", id), http.StatusSeeOther)
}

// asker is the content of the consent page.
type asker struct {
	consent.Question
	ID string
}

func (e *Endpoint) askConsent(w http.ResponseWriter, r *http.Request) {
	request, client, session, ok := e.agreeing(w, r, r.URL.Query().Get("request"))
	if !ok {
		return
	}
	asked, _ := domain.AskedOrg(request.Scopes) // the request was refused if it names two
	r = frame.Branded(r, e.Cached.Branding(r.Context(), client, asked, session.OrgID))
	question, err := e.consents().Question(r.Context(), client, request.Scopes, session)
	if err != nil {
		e.page(w, r, err)
		return
	}
	e.Frame.PostTo(w, request.RedirectURI)
	e.Frame.Write(w, r, frame.Page{Status: http.StatusOK, Name: question.Text, Body: consentBody,
		Data: asker{question, request.ID}, Language: e.Frame.Picked(r, request.UILocales),
		InLanguage: func(tag string) string {
			return frame.Address(consentPath, "request", request.ID, "lang", tag)
		}})
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
	if err := e.consents().Give(r.Context(), client, request.Scopes, session); err != nil {
		e.page(w, r, err)
		return
	}
	e.conclude(w, r, request, client, session, true)
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
