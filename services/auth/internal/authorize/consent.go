package authorize

import (
	"net/http"
	"net/url"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/look"
)

// consentPath is where a person is asked whether a client may act as the person in Herald itself.
const consentPath = loginPath + "consent"

var consentBody = look.Body(files, "consent.html")

// consent sends a person who has logged in to the question.
func consent(w http.ResponseWriter, r *http.Request, id string) {
	http.Redirect(w, r, consentPath+"?request="+url.QueryEscape(id), http.StatusSeeOther)
}

// asker is what the question names: the application with the organization that offers it.
type asker struct{ ID, Application, Organization string }

func (e *Endpoint) askConsent(w http.ResponseWriter, r *http.Request) {
	request, client, _, ok := e.agreeing(w, r, r.URL.Query().Get("request"))
	if !ok {
		return
	}
	orgs, err := e.Owners.Orgs(r.Context(), client.OrgID)
	if err != nil {
		e.page(w, r, err)
		return
	}
	e.Look.PostTo(w, request.RedirectURI)
	e.Look.Write(w, r, look.Page{Status: http.StatusOK, Name: "consent", Body: consentBody,
		Data:     asker{request.ID, client.Name, orgs[client.OrgID].Name},
		Language: e.Look.Wanted(r.Context(), request.UILocales)})
}

func (e *Endpoint) takeConsent(w http.ResponseWriter, r *http.Request) {
	request, client, session, ok := e.agreeing(w, r, r.PostFormValue("request"))
	if !ok {
		return
	}
	if r.PostFormValue("answer") != "allow" {
		e.give(w, r, request, domain.ErrAccessDenied.Say("the person has refused"))
		return
	}
	e.conclude(w, r, request, client, session)
}

// agreeing returns a request with its client and the login of the browser, which is enough for it. If there is none it
// answers, and reports false.
func (e *Endpoint) agreeing(
	w http.ResponseWriter, r *http.Request, id string,
) (request domain.AuthRequest, client domain.Client, session domain.Session, ok bool) {
	request, client, err := e.Request(r.Context(), id)
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
