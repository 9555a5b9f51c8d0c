package authn

import (
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
	"herald/shared/secret"
)

// nowhere replaces a malformed id of an organization, so that the answer is the same as for an unknown organization.
const nowhere = "?"

// Challenge is a refusal with the WWW-Authenticate header that belongs to it (RFC
// 6750 section 3).
type Challenge struct {
	*fault.Fault
	Authenticate string
}

// Unwrap returns the fault.
func (c Challenge) Unwrap() error { return c.Fault }

var (
	errNoToken = Challenge{fault.ErrUnauthenticated, "Bearer"}
	errToken   = Challenge{fault.ErrUnauthenticated, InvalidToken}
)

// InvalidToken is the challenge for a token that is unknown, expired, revoked or malformed.
const InvalidToken = `Bearer error="invalid_token"`

// bearer returns the token of a request (RFC 6750 section 2.1). It refuses two tokens. It ignores tokens in the body
// and the query.
func bearer(h http.Header) (string, error) {
	given := h["Authorization"]
	if len(given) == 0 || len(given) == 1 && given[0] == "" {
		return "", errNoToken
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimLeft(token, " ")
	if len(given) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errToken
	}
	return token, nil
}

// usable refuses requests of web pages whose origin is not in the list. An empty list allows all origins.
func usable(origins []string, h http.Header) error {
	for _, origin := range h["Origin"] {
		if len(origins) > 0 && !slices.Contains(origins, origin) {
			return gatewayfault.ErrOriginNotAllowed
		}
	}
	return nil
}

// maxJWT is how many bytes a JWT may have.
const maxJWT = 8 << 10

// wellFormed reports whether a token may authenticate somebody: a personal access token, an access token or a JWT.
// Refresh tokens and codes are refused without asking a service.
func wellFormed(token string) bool {
	return secret.PersonalAccessToken.WellFormed(token) || secret.AccessToken.WellFormed(token) || looksLikeJWT(token)
}

// looksLikeJWT reports whether a token has the form of a signed JWT (RFC 7515, section 7.1): three parts in base64url,
// none of them empty.
func looksLikeJWT(token string) bool {
	if len(token) > maxJWT || strings.Count(token, ".") != 2 {
		return false
	}
	for part := range strings.SplitSeq(token, ".") {
		if part == "" || strings.Trim(part, base64url) != "" {
			return false
		}
	}
	return true
}

const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// organization returns the id of the organization that a request acts on; empty for the caller's
// own.
func organization(h http.Header) (string, error) {
	given := h["X-Service-Orgid"]
	switch {
	case len(given) == 0:
		return "", nil
	case len(given) > 1 || strings.Contains(given[0], ","):
		return "", gatewayfault.ErrOrgHeaderInvalid
	case !utf8.ValidString(given[0]), utf8.RuneCountInString(given[0]) > contract.MaxIDLength,
		strings.ContainsFunc(given[0], unicode.IsControl):
		return nowhere, nil
	}
	return given[0], nil
}

// Need is what a method's contract requires of a token.
type Need struct {
	Scopes []string
	// Home is contract.Method.Home: a named organization is only checked.
	Home bool
}

func permits(has, needed []string) error {
	for _, s := range needed {
		if !slices.Contains(has, s) {
			challenge := `Bearer error="insufficient_scope", scope="` + strings.Join(needed, " ") + `"`
			return Challenge{gatewayfault.ErrInsufficientScope.Say("The token lacks the scope %s", s), challenge}
		}
	}
	return nil
}
