package domain

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// shortestLifetime is that of a token, which a client must have the time to use.
const shortestLifetime = time.Minute

// claimName is what a claim may be called: a word, or an address of the application's owner.
var claimName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:/-]*$`)

// taken are the claims of OpenID Connect, of JSON Web Tokens, and of introspection, and that of Herald's own state.
var taken = strings.Fields(`iss sub aud exp nbf iat jti azp nonce auth_time at_hash c_hash s_hash acr amr sub_jwk cnf
	act may_act scope client_id username token_type active events toe txn sid trust_framework
	name given_name family_name middle_name nickname preferred_username profile picture website email email_verified
	gender birthdate zoneinfo locale phone_number phone_number_verified address updated_at
	authorization_details htm htu ath sub_id orig dest vot vtm org_id herald`)

// claimFault returns why a claim of the owner's choice cannot have a name; empty if it can. An empty name is allowed.
func claimFault(name string) string {
	switch {
	case name == "":
		return ""
	case !claimName.MatchString(name):
		return "begins with a letter and has letters, digits and _ . : / - only"
	case slices.Contains(taken, name), strings.HasPrefix(name, "urn:service:"):
		return "is the name of another claim"
	}
	return ""
}

// lifetimeFault returns why a lifetime is not allowed. The contract says how long it may be at most.
func lifetimeFault(d time.Duration) string {
	if d != 0 && d < shortestLifetime {
		return "is at least 1 minute, or 0 for that of the instance"
	}
	return ""
}
