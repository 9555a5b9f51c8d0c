package authorize

import (
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
	"herald/services/auth/internal/web/frame"
	"herald/shared/secret"
)

var (
	//go:embed *.html
	files embed.FS

	formBody = frame.Body(files, "form.html")
)

// back is how an answer gets to the client.
type back struct {
	uri   string
	mode  domain.ResponseMode
	state string
}

func answerTo(r domain.AuthRequest) back { return back{r.RedirectURI, r.ResponseMode, r.State} }

// giveCode answers the client with a code.
func (e *Endpoint) giveCode(w http.ResponseWriter, r *http.Request, b back, code secret.Text) {
	e.count.WithLabelValues("ok").Inc()
	e.respond(w, r, b, "code", code.Reveal())
}

// fail answers the client with an error (RFC 6749 section 4.1.2.1).
func (e *Endpoint) fail(w http.ResponseWriter, r *http.Request, b back, err error) {
	refusal := protocol.Refusal(err)
	e.count.WithLabelValues(refusal.Code).Inc()
	if refusal.Code == domain.ErrServerError.Code {
		e.Log.ErrorContext(r.Context(), "an authorization request failed", "err", err)
	}
	values := []string{"error", refusal.Code}
	if refusal.Description != "" {
		values = append(values, "error_description", refusal.Description)
	}
	e.respond(w, r, b, values...)
}

// respond sends an answer to the client, with the issuer (RFC 9207) and the state of the request.
func (e *Endpoint) respond(w http.ResponseWriter, r *http.Request, b back, values ...string) {
	values = append(values, "iss", e.Issuer)
	if b.state != "" {
		values = append(values, "state", b.state)
	}
	if b.mode == domain.ResponseFormPost {
		e.form(w, r, b.uri, values)
		return
	}
	answer := url.Values{}
	for i := 0; i < len(values); i += 2 {
		answer.Set(values[i], values[i+1])
	}
	separator := "?"
	if strings.Contains(b.uri, "?") {
		separator = "&"
	}
	e.Frame.Leave(w, r, b.uri+separator+answer.Encode())
}

// form answers with a page whose form posts the answer to the client (OAuth 2.0 Form Post Response Mode).
func (e *Endpoint) form(w http.ResponseWriter, r *http.Request, uri string, values []string) {
	type field struct{ Name, Value string }
	var fields []field
	for i := 0; i < len(values); i += 2 {
		fields = append(fields, field{values[i], values[i+1]})
	}
	e.Frame.PostAnywhere(w)
	e.Frame.LetSubmit(w)
	// The client may see the origin of this page, but not its whole address, which has parameters.
	w.Header().Set("Referrer-Policy", "origin")
	e.Frame.Write(w, r, frame.Page{Status: http.StatusOK, Name: "return", Body: formBody, Data: map[string]any{
		// The address is one that the application's owner has registered.
		"Action": template.URL(uri), "Fields": fields, "Script": frame.Submit, //nolint:gosec // see above
	}})
}

// page shows an error to the person and the application's developer. The client does not learn of it.
func (e *Endpoint) page(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, domain.ErrRequestGone) {
		e.count.WithLabelValues("expired").Inc()
		e.Frame.Notice(w, r, http.StatusBadRequest, "requestgone", "")
		return
	}
	e.count.WithLabelValues(protocol.Refusal(err).Code).Inc()
	protocol.Page(e.Frame, w, r, "refusedclient", err)
}
