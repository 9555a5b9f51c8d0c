// Package endsession is the endpoint to which clients send people to log out (OpenID Connect RP-Initiated Logout 1.0).
// Without an id token of the person who has logged in, the person is asked first, because any site can send a browser
// there.
package endsession

import (
	"embed"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/discovery"
	"herald/services/auth/internal/oauth/protocol"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/upstream"
	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/session"
)

const (
	// Path is where the endpoint is.
	Path = "/oidc/v1/end_session"
	// agreedPath is where the form of a person who agrees is posted.
	agreedPath = domain.LoginPath + "endsession"
	// maxQuery is how many bytes the parameters of a POST may have in the query of a GET.
	maxQuery = 12 << 10
)

var (
	//go:embed *.html
	files embed.FS

	askBody = frame.Body(files, "ask.html")
)

// Endpoint is the logout endpoint.
type Endpoint struct {
	Sessions session.Sessions
	Upstream *upstream.Services
	Keys     *signing.Keys
	Frame    *frame.Frame
	Issuer   string
	Log      *slog.Logger
}

// Mount answers the endpoint's path and the form of its page.
func (e Endpoint) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET "+Path, e.get)
	mux.HandleFunc("POST "+Path, e.post)
	mux.HandleFunc("POST "+agreedPath, e.agreed)
}

// Part returns what clients find by discovery.
func (e Endpoint) Part() discovery.Part {
	return discovery.Part{Paths: map[string]string{"end_session_endpoint": Path}}
}

// post takes the parameters in a form (section 2).
func (e Endpoint) post(w http.ResponseWriter, r *http.Request) {
	if !frame.AsGet(w, r, maxQuery) {
		e.refuse(w, r, domain.ErrInvalidRequest.Say("the form cannot be read, is too large, or goes with a query"))
	}
}

func (e Endpoint) get(w http.ResponseWriter, r *http.Request) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		e.refuse(w, r, domain.ErrInvalidRequest.Say("the query cannot be read"))
		return
	}
	asked, err := e.check(r.Context(), values)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	s, there, err := e.Sessions.Session(r)
	switch {
	case err != nil:
		e.refuse(w, r, err)
	case there && asked.userID != s.UserID:
		e.ask(w, frame.Branded(r, e.Upstream.Branding(r.Context(), asked.client, "", s.OrgID)), asked)
	default:
		e.end(w, r, asked)
	}
}

// agreed ends the session of a person who has agreed.
func (e Endpoint) agreed(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		e.refuse(w, r, domain.ErrInvalidRequest.Say("the form cannot be read"))
		return
	}
	asked, err := e.check(r.Context(), r.PostForm)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	e.end(w, r, asked)
}

func (e Endpoint) end(w http.ResponseWriter, r *http.Request, asked logout) {
	if err := e.Sessions.End(w, r); err != nil {
		e.refuse(w, r, err)
		return
	}
	to := asked.uri
	if to == "" {
		http.Redirect(w, r, domain.SignedOutPath, http.StatusSeeOther)
		return
	}
	if asked.state != "" {
		separator := "?"
		if strings.Contains(to, "?") {
			separator = "&"
		}
		to += separator + url.Values{"state": {asked.state}}.Encode()
	}
	e.Frame.Leave(w, r, to)
}

type field struct{ Name, Value string }

// ask asks a person whether to log out. The form does not contain the id token, because that is missing or another
// person's.
func (e Endpoint) ask(w http.ResponseWriter, r *http.Request, asked logout) {
	fields := []field{{"client_id", asked.client.ID}, {"post_logout_redirect_uri", asked.uri}, {"state", asked.state}}
	fields = slices.DeleteFunc(fields, func(f field) bool { return f.Value == "" })
	if asked.uri != "" {
		e.Frame.PostTo(w, asked.uri)
	}
	e.Frame.Write(w, r, frame.Page{
		Status: http.StatusOK, Name: "endsession", Body: askBody, Language: e.Frame.Picked(r, asked.languages),
		Data: map[string]any{"Application": asked.client.Name, "Fields": fields},
		InLanguage: func(tag string) string {
			parameters := []string{"lang", tag}
			for _, f := range fields {
				parameters = append(parameters, f.Name, f.Value)
			}
			return frame.Address(Path, parameters...)
		},
	})
}

// refuse shows the person, and the application's developer, what is wrong with a request.
func (e Endpoint) refuse(w http.ResponseWriter, r *http.Request, err error) {
	protocol.Page(e.Frame, w, r, "refusedlogout", err)
}
