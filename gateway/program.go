package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
)

// programsSend are the headers that endpoints for programs may read. They get no cookies, because scripts of any origin
// can send them requests.
var programsSend = []string{"Accept", "Accept-Language", "Authorization", "Content-Type", "Origin"}

// serveProgram answers a program's request, from the cache if the service has said that everybody may share the answer.
func (e *edge) serveProgram(x *exchange, r *http.Request, p *page) {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !read || r.ContentLength != 0 || len(r.Header["Authorization"]) > 0 {
		e.browse(x, r, p)
		return
	}
	x.route = p.prefix
	uri, asked := r.URL.RequestURI(), e.now()
	if kept := e.shared.Find(uri); kept != nil {
		kept.Serve(x, r)
		return
	}
	answer, err := e.visit(x, r, p)
	if err != nil {
		x.fail(r, err)
		return
	}
	if r.Method == http.MethodGet && answer.Status == http.StatusOK {
		if kept := e.shared.Keep(uri, asked, headersOf(answer), answer.Body); kept != nil {
			kept.Serve(x, r)
			return
		}
	}
	send(x, answer)
}

// headersOfPrograms refuses what protobuf cannot encode: of two headers Authorization the service must see both.
func headersOfPrograms(m *heraldv1.HttpRequest, h http.Header) error {
	for _, name := range programsSend {
		for _, v := range h[name] {
			if !utf8.ValidString(v) {
				return ErrRequest.Say("The header %s is not UTF-8", name)
			}
			m.Headers = append(m.Headers, &heraldv1.HttpHeader{Name: name, Value: v})
		}
	}
	return nil
}

// asOAuth writes a fault for clients of OAuth 2.0 (RFC 6749, section 5.2).
func asOAuth(w http.ResponseWriter, _ *http.Request, f *fault.Fault) {
	body, _ := json.Marshal(oauthError{oauthCode(f.Code), describable(f.Message)}) // fails for no texts
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(f.HTTPStatus())
	_, _ = w.Write(body) // the sender has gone
}

type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// oauthCode returns the error code for a fault. RFC 6749 defines two of them for the authorization endpoint only
// (section 4.1.2.1), and no others for a server that is away or broken.
func oauthCode(c fault.Code) string {
	switch c {
	case fault.Unavailable, fault.Deadline, fault.Exhausted:
		return "temporarily_unavailable"
	case fault.Internal:
		return "server_error"
	}
	return "invalid_request"
}

// describable returns a message with only the characters that an error_description may have (RFC 6749, section 5.2).
func describable(message string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, message)
}
