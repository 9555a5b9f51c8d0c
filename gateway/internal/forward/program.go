package forward

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"herald/gateway/internal/exchange"
	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
	heraldv1 "herald/shared/gen/herald/v1"
)

// serveShared answers a program's request, from the cache if the service allows that everybody shares the answer.
func (f *Forwarder) serveShared(x *exchange.Exchange, r *http.Request, t *route) {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !read || r.ContentLength != 0 || len(r.Header["Authorization"]) > 0 {
		f.serve(x, r, t)
		return
	}
	x.Route = t.prefix
	uri, asked := r.URL.RequestURI(), f.cache.moment()
	if kept := f.cache.find(uri); kept != nil {
		kept.serve(x, r)
		return
	}
	answer, err := f.ask(x, r, t)
	if err != nil {
		x.Fail(r, err)
		return
	}
	if r.Method == http.MethodGet && answer.Status == http.StatusOK {
		if kept := f.cache.keep(uri, asked, headersOf(answer), answer.Body); kept != nil {
			kept.serve(x, r)
			return
		}
	}
	write(x, answer)
}

// programHeaders are the headers that endpoints for programs may read. Cookies are not among them, because scripts of
// any origin can send requests to these endpoints.
var programHeaders = []string{"Accept", "Accept-Language", "Authorization", "Content-Type", "Origin"}

// copyProgramHeaders refuses what protobuf cannot encode: if there are two Authorization headers, the service must get
// both.
func copyProgramHeaders(m *heraldv1.HttpRequest, h http.Header) error {
	for _, name := range programHeaders {
		for _, v := range h[name] {
			if !utf8.ValidString(v) {
				return gatewayfault.ErrRequestMalformed.Say("The header %s is not UTF-8", name)
			}
			m.Headers = append(m.Headers, &heraldv1.HttpHeader{Name: name, Value: v})
		}
	}
	return nil
}

// writeOAuth writes a fault for clients of OAuth 2.0 (RFC 6749, section 5.2).
func writeOAuth(w http.ResponseWriter, _ *http.Request, f *fault.Fault) {
	body, _ := json.Marshal(oauthError{oauthCode(f.Code), describable(f.Message)}) // never fails for texts
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(f.HTTPStatus())
	_, _ = w.Write(body) // fails if the client has closed the connection
}

type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// oauthCode returns the error code for a fault. RFC 6749 defines the first two for the authorization endpoint only
// (section 4.1.2.1), and has no other codes for a server that is unavailable or broken.
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
