package domain

import (
	"time"

	"herald/shared/fault"
	"herald/shared/history"
)

// Faults of personal access tokens.
var (
	ErrTokenNotFound = fault.New(fault.NotFound, "PAT_NOT_FOUND", "Personal access token not found")
	ErrExpiryPast    = fault.New(fault.Invalid, "EXPIRATION_PAST", "expirationDate: must be in the future").On("expirationDate", "must be in the future")
	ErrFreshLogin    = fault.New(fault.Denied, "FRESH_LOGIN_REQUIRED", "This takes a login that is at most 10 minutes old")
	ErrTokenInvalid  = fault.New(fault.Unauthenticated, "TOKEN_INVALID", "The token is not valid")
)

// FreshLogin is how old a login may be for changes of one's own credentials.
const FreshLogin = 10 * time.Minute

// NoExpiry stands for the expiry of what does not expire (specification 4.2).
var NoExpiry = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// PAT is a personal access token, of which only the hash is known.
type PAT struct {
	history.Record
	ID        string
	UserID    string
	OrgID     string // the user's
	Scopes    []string
	ExpiresAt time.Time
}

// CheckExpiry refuses what has expired before it begins; the zero time does not expire.
func CheckExpiry(at, now time.Time) (time.Time, error) {
	switch {
	case at.IsZero():
		return NoExpiry, nil
	case !at.After(now):
		return time.Time{}, ErrExpiryPast
	default:
		return at, nil
	}
}

// PATScopes are the scopes of every personal access token (specification, section 5).
func PATScopes() []string { return []string{"openid", "urn:service:iam:org:project:id:service:aud"} }
