// Package endsession is the endpoint to which clients send people to log out (OpenID Connect RP-Initiated Logout 1.0).
// Without an id token of the person who has logged in, the person is asked first, because any site can send a browser
// there.
package endsession

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
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

// logout is a checked request.
type logout struct {
	client domain.Client
	// userID is the subject of the id token; empty without one.
	userID string
	// uri is where the person goes afterwards, with state; empty for nowhere.
	uri, state string
	languages  []string
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
		e.ask(w, frame.Branded(r, asked.client.BrandingOf(s.OrgID)), asked)
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
	to := domain.SignedOutPath
	if asked.uri != "" {
		to = asked.uri
	}
	if asked.uri != "" && asked.state != "" {
		separator := "?"
		if strings.Contains(to, "?") {
			separator = "&"
		}
		to += separator + url.Values{"state": {asked.state}}.Encode()
	}
	w.Header().Set("Location", to) // must stay as it is registered
	w.WriteHeader(http.StatusSeeOther)
}

// checkParameters refuses parameters that are sent twice or are not plain text.
func checkParameters(values url.Values) error {
	for _, name := range []string{
		"id_token_hint", "logout_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales",
	} {
		if len(values[name]) > 1 {
			return domain.ErrInvalidRequest.Say(name + " is there more than once")
		}
		if !domain.Plain(values.Get(name)) {
			return domain.ErrInvalidRequest.Say(name + " must be text in UTF-8 without control characters")
		}
	}
	return nil
}

// check checks the parameters of section 2. Where the person goes afterwards must be registered for the client,
// character for character (section 3). A logout_hint changes nothing: a browser has one session.
func (e Endpoint) check(ctx context.Context, values url.Values) (logout, error) {
	if err := checkParameters(values); err != nil {
		return logout{}, err
	}
	asked := logout{uri: values.Get("post_logout_redirect_uri"), state: values.Get("state"),
		languages: strings.Fields(values.Get("ui_locales"))}
	clientID := values.Get("client_id")
	if hint := values.Get("id_token_hint"); hint != "" {
		userID, audience, err := e.hinted(hint)
		if err != nil {
			return logout{}, err
		}
		if asked.userID = userID; clientID == "" && len(audience) > 0 {
			clientID = audience[0]
		}
		if !slices.Contains(audience, clientID) {
			return logout{}, domain.ErrInvalidRequest.Say("client_id is not that of id_token_hint")
		}
	}
	if clientID == "" {
		if asked.uri != "" {
			return logout{}, domain.ErrInvalidRequest.Say("post_logout_redirect_uri needs client_id or id_token_hint")
		}
		return asked, nil
	}
	var err error
	asked.client, err = e.Upstream.Application(ctx, clientID, upstream.Proof{})
	switch {
	case errors.Is(err, upstream.ErrNoClient):
		return logout{}, domain.ErrInvalidRequest.Say("client_id: there is no such application")
	case err != nil:
		return logout{}, err
	case asked.uri != "" && !(asked.client.Active && slices.Contains(asked.client.PostLogoutRedirectURIs, asked.uri)):
		e.Log.WarnContext(ctx, "an application sent a post_logout_redirect_uri that is not registered for it, or is "+
			"not active", "client", clientID, "sent", asked.uri, "registered", asked.client.PostLogoutRedirectURIs)
		return logout{}, domain.ErrInvalidRequest.Say("post_logout_redirect_uri is not one of those that are " +
			"registered for this application, or the application is not active")
	}
	return asked, nil
}

// hinted returns the subject and the audience of an id token of Herald, which may have expired (section 2).
func (e Endpoint) hinted(token string) (userID string, audience []string, err error) {
	payload, err := e.Keys.Verify(signing.IDToken(), token)
	var claims struct {
		Iss, Sub string
		Aud      json.RawMessage
	}
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err == nil && json.Unmarshal(claims.Aud, &audience) != nil {
		audience = []string{""}
		err = json.Unmarshal(claims.Aud, &audience[0])
	}
	if err != nil || claims.Iss != e.Issuer || claims.Sub == "" {
		return "", nil, domain.ErrInvalidRequest.Say("id_token_hint is not an id token of this issuer").Because(err)
	}
	return claims.Sub, audience, nil
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
