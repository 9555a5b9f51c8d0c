package domain

import (
	"strings"
	"time"

	"herald/shared/caller"
)

// SessionLifetime is how long a login lasts.
const SessionLifetime = 10 * 24 * time.Hour

// FreshLogin is how old a login may be with which somebody changes how they log in.
const FreshLogin = caller.FreshLogin

// UseInterval is how exactly it is known when a session was last used, so that few requests of browsers write.
const UseInterval = time.Minute

// maxAgent is how many bytes of the header User-Agent are kept.
const maxAgent = 200

// Session is a person's login in a browser. It is over when its row is gone or Alive is false.
type Session struct {
	ID     string
	UserID string
	// The generations at the login: the session is dead once one of them has changed.
	UserGeneration int64
	OrgID          string
	OrgGeneration  int64
	// AuthTime is when the person last authenticated, here or at an identity provider, AMR with what (RFC 8176).
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

// Agent returns what is kept of a header User-Agent.
func Agent(header string) string {
	return strings.ToValidUTF8(header[:min(len(header), maxAgent)], "")
}

// UsedLongAgo reports whether a use at that time is to be written.
func (s Session) UsedLongAgo(now time.Time) bool { return !now.Before(s.UsedAt.Add(UseInterval)) }

// Fresh reports whether the person authenticated so lately that they may change how they log in.
func (s Session) Fresh(now time.Time) bool { return now.Sub(s.AuthTime) <= FreshLogin }

// Owner returns the session's user as they were at the login.
func (s Session) Owner() Subject {
	return Subject{ID: s.UserID, Generation: s.UserGeneration, OrgID: s.OrgID,
		Orgs: map[string]Org{s.OrgID: {ID: s.OrgID, Generation: s.OrgGeneration}}}
}
