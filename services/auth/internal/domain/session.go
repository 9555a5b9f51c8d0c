package domain

import "time"

// SessionLifetime is how long a login lasts.
const SessionLifetime = 10 * 24 * time.Hour

// Session is a person's login in a browser. It is over when its row is gone.
type Session struct {
	ID     string
	UserID string
	// The generations at the login: the session is dead once one of them has changed.
	UserGeneration int64
	OrgID          string
	OrgGeneration  int64
	// AuthTime is when the person last entered a password or another factor, AMR what (RFC 8176).
	AuthTime time.Time
	AMR      []string
	// Credential is users' name of what the person logged in with, such as "password": the session ends with it.
	Credential string
	// Client and Agent are the address and the browser of the last use.
	Client, Agent string
	CreatedAt     time.Time
	UsedAt        time.Time
	ExpiresAt     time.Time
}
