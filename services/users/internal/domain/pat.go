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
	Scopes    []string
	ExpiresAt time.Time
}

// PATScopes are the scopes of every personal access token.
func PATScopes() []string { return []string{"openid", "urn:service:iam:org:project:id:service:aud"} }
