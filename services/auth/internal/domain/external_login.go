package domain

import (
	"slices"
	"strings"
	"time"
)

// ExternalLoginLifetime is how long a person has to log in at an identity provider.
const ExternalLoginLifetime = 10 * time.Minute

// ExternalLogin is a login that has begun at an identity provider. The browser has a cookie for it.
type ExternalLogin struct {
	OrgID, IdpID string
	// RequestID is that of the client's request; empty for a person who logs in for no application.
	RequestID string
	Language  string
	// Again reports that the person must authenticate at the provider, even if the browser is logged in there.
	Again bool
	// Confirmed is the account for which the person has agreed to get a user, as AccountKey returns it; empty for none.
	Confirmed string
	// SessionID is that of the session whose person links the account; empty for a login.
	SessionID string
	BegunAt   time.Time
	ExpiresAt time.Time
}

// AccountKey returns the key of an account at a provider.
func AccountKey(tenantID, objectID string) string { return tenantID + "/" + objectID }

// clockSkew is how far the clock of a provider may be behind. It also covers that the provider's times are whole
// seconds.
const clockSkew = time.Minute

// AuthTime returns when the person authenticated at the provider. said is the provider's auth_time in seconds since
// 1970. If the provider has authenticated the person for this login, AuthTime returns now. If said is 0, the provider
// may not have authenticated anybody, so the login does not count as fresh.
func (l ExternalLogin) AuthTime(said int64, now time.Time) time.Time {
	at := time.Unix(said, 0)
	if said == 0 {
		return l.BegunAt.Add(-FreshLogin)
	}
	if !at.Before(l.BegunAt.Add(-clockSkew)) {
		return now
	}
	return at
}

// MayLink reports whether the person has just authenticated at the provider, as far as the provider tells. If it does
// not say when, it must have been asked to authenticate the person anew, and the answer must belong to that question.
func (l ExternalLogin) MayLink(said int64, now time.Time) bool {
	if said == 0 {
		return l.Again && now.Sub(l.BegunAt) < FreshLogin
	}
	return now.Sub(l.AuthTime(said, now)) < FreshLogin
}

// externalCredential is the prefix of the credential of a login with an account at an identity provider. The id of the
// provider and the account follow it.
const externalCredential = "idp:"

// Provider returns the id of the provider with whose account the person logged in, "" for other logins.
func (s Session) Provider() string {
	rest, external := strings.CutPrefix(s.Credential, externalCredential)
	if !external {
		return ""
	}
	id, _, _ := strings.Cut(rest, ":")
	return id
}

// Own reports whether the person has authenticated with Herald's password, and not at an identity provider.
func (s Session) Own() bool { return s.Provider() == "" && slices.Contains(s.AMR, AMRPassword) }
