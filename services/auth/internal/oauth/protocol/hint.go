package protocol

import (
	"encoding/json"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/signing"
)

// Hint returns the subject and the audience of an id token of an issuer that a client sends as a hint. The token may
// have expired (OpenID Connect Core section 3.1.2.1, OpenID Connect RP-Initiated Logout section 2).
func Hint(keys *signing.Keys, issuer, token string) (userID string, audience []string, err error) {
	payload, err := keys.Verify(signing.IDToken(), token)
	var claims struct {
		Iss, Sub string
		Aud      audiences
	}
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil || claims.Iss != issuer || claims.Sub == "" {
		return "", nil, domain.ErrInvalidRequest.Say("id_token_hint is not an id token of this issuer").Because(err)
	}
	return claims.Sub, claims.Aud, nil
}
