package domain

import (
	"time"

	"herald/shared/fault"
	"herald/shared/resource"
)

// Faults of personal access tokens.
var (
	ErrTokenNotFound = fault.New(fault.NotFound, "PAT_NOT_FOUND", "Personal access token not found")
	ErrFreshLogin    = fault.New(fault.Denied, "FRESH_LOGIN_REQUIRED",
		"This takes a login that is at most 10 minutes old")
	ErrTokenInvalid = fault.New(fault.Unauthenticated, "TOKEN_INVALID", "The token is not valid")
)

// FreshLogin is how old a login may be for changes of one's own credentials.
const FreshLogin = 10 * time.Minute

// PAT is a personal access token, of which only the hash is known.
type PAT struct {
	resource.Record
	ID        string
	UserID    string
	OrgID     string // the user's
	Scopes    []string
	ExpiresAt time.Time
}

// PATScopes are the scopes of every personal access token (specification, section 5).
func PATScopes() []string { return []string{"openid", "urn:service:iam:org:project:id:service:aud"} }
