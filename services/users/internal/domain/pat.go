package domain

import (
	"time"

	"herald/shared/resource"
)

// PAT is the details of a personal access token, of which only the hash is stored.
type PAT struct {
	resource.Record
	ID        string
	UserID    string
	OrgID     string // the user's
	Name      string // what it is for; empty if its maker did not say
	Scopes    []string
	ExpiresAt time.Time
	// LastUsedAt is when it was last used, to a minute; nil if it never was.
	LastUsedAt *time.Time
	// ClientID is the application that made it in the user's name; empty if none did.
	ClientID string
}

// EndKept is how long an ended authorization is remembered. A request with its token can be under way for half a
// minute, because that is how long its signature is valid.
const EndKept = 10 * time.Minute

// PATScopes are the scopes of every personal access token.
func PATScopes() []string { return []string{"openid", "urn:service:iam:org:project:id:service:aud"} }
