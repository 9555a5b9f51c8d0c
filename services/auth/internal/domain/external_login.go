package domain

import (
	"slices"
	"strings"
	"time"
)

// ExternalLoginLifetime is how long a person has at an identity provider.
const ExternalLoginLifetime = 10 * time.Minute

// ExternalLogin is a login that has begun at an identity provider. The browser has a cookie for it.
type ExternalLogin struct {
	OrgID, IdpID string
	// RequestID is that of the client's request; empty for a person who logs in for no application.
	RequestID string
	Language  string
	// Again reports that the person must authenticate at the provider, also if the browser is logged in there.
	Again bool
	// Confirmed is the account for which the person has agreed to get a user, as AccountKey returns it; empty for none.
	Confirmed string
	// SessionID is that of the session whose person links the account; empty for a login.
	SessionID string
	BegunAt   time.Time
	ExpiresAt time.Time
}

// AccountKey returns what names an account at a provider.
func AccountKey(tenantID, objectID string) string { return tenantID + "/" + objectID }

// clockSkew is how far the clock of a provider may be behind. Its times are in whole seconds too.
const clockSkew = time.Minute

// AuthTime returns when the person authenticated at the provider, which says so in seconds since 1970. It is the time
// of the login if the person was just asked there. A provider that says nothing, 0, may have asked nobody: then the
// login is none that is fresh.
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

// externalCredential begins the credential of logins with an account at an identity provider. The id of the provider
// follows, and the account.
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

// Own reports whether the person has authenticated here, and not at an identity provider.
func (s Session) Own() bool { return s.Provider() == "" && slices.Contains(s.AMR, AMRPassword) }
