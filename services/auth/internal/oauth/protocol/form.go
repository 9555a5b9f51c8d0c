// Package protocol has what the endpoints of OAuth 2.0 share: strict parameters, the authentication of clients, and
// errors.
package protocol

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"herald/services/auth/internal/domain"
)

// Form is the parameters of a request. Each has one value: those without one count as missing (RFC 6749 section 3.1).
type Form map[string]string

// ReadForm returns the parameters of the body of a POST (RFC 6749 section 3.2). It refuses a parameter that occurs
// twice, that is not UTF-8, that has control characters, or that is in the URI.
func ReadForm(r *http.Request) (Form, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, domain.ErrInvalidRequest.Say("the body must be application/x-www-form-urlencoded")
	}
	if r.URL.RawQuery != "" {
		return nil, domain.ErrInvalidRequest.Say("parameters belong in the body and not in the URI")
	}
	if err := r.ParseForm(); err != nil {
		if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, domain.ErrInvalidRequest.Say("the body is too large").Because(tooLarge)
		}
		return nil, domain.ErrInvalidRequest.Say("the body cannot be read as a form").Because(err)
	}
	return Single(r.PostForm)
}

// Single returns the parameters of a form or a query, each of which may occur once, except domain.Resource. A scope
// with control characters is left to domain.Scopes, whose refusal is invalid_scope.
func Single(values url.Values) (Form, error) {
	f := Form{}
	for name, all := range values {
		if name == domain.Resource {
			if slices.ContainsFunc(all, func(value string) bool { return !domain.Plain(value) }) {
				return nil, domain.ErrInvalidTarget.Say("resource: not UTF-8, or with control characters")
			}
			f[name] = strings.Join(all, resourceEnd)
			continue
		}
		if len(all) > 1 {
			return nil, domain.ErrInvalidRequest.Say("a parameter is there more than once")
		}
		if !utf8.ValidString(all[0]) || name != "scope" && !domain.Plain(all[0]) {
			return nil, domain.ErrInvalidRequest.Say("a parameter is not UTF-8, or has control characters")
		}
		if all[0] != "" {
			f[name] = all[0]
		}
	}
	return f, nil
}

// resourceEnd separates the values of domain.Resource, none of which has it.
const resourceEnd = "\n"

// Targets returns the scopes that the resources of a request stand for.
func (f Form) Targets() ([]string, error) {
	return domain.Targets(strings.Split(f[domain.Resource], resourceEnd))
}

// Needed returns a required parameter.
func (f Form) Needed(name string) (string, error) {
	if f[name] == "" {
		return "", domain.ErrInvalidRequest.Say(name + " is missing")
	}
	return f[name], nil
}
