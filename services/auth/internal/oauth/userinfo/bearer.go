package userinfo

import (
	"mime"
	"net/http"
	"strings"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
)

// bearer returns the token of a request: in the header Authorization, or in the form of a POST (RFC 6750 section 2).
// Without a token it is empty. A token in the URI does not count, because URIs are written to logs.
func bearer(r *http.Request) (string, error) {
	var inForm string
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method == http.MethodPost && kind == "application/x-www-form-urlencoded" {
		f, err := protocol.ReadForm(r)
		if err != nil {
			return "", err
		}
		inForm = f["access_token"]
	}
	all := r.Header["Authorization"]
	switch {
	case len(all) == 0:
		return inForm, nil
	case len(all) > 1 || inForm != "":
		return "", domain.ErrInvalidRequest.Say("the token is there more than once")
	}
	scheme, token, _ := strings.Cut(all[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	if token = strings.Trim(token, " "); token == "" {
		return "", domain.ErrInvalidRequest.Say("the header Authorization has no token")
	}
	return token, nil
}

// challenge is the header WWW-Authenticate of a refusal (RFC 6750 section 3). A request without a token gets no error
// code (section 3.1).
func challenge(refusal *domain.Refusal) string {
	const scheme = `Bearer realm="herald"`
	if refusal == errNoToken {
		return scheme
	}
	c := scheme + `, error="` + refusal.Code + `", error_description="` + refusal.Description + `"`
	if refusal.Code == domain.ErrInsufficientScope.Code {
		c += `, scope="` + domain.ScopeOpenID + `"`
	}
	return c
}
