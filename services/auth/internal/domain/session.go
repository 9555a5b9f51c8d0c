package domain

import (
	"net/netip"
	"strings"
	"time"

	"herald/shared/caller"
)

// SessionLifetime is how long a login lasts.
const SessionLifetime = 10 * 24 * time.Hour

// FreshLogin is the greatest age of a login with which a person may change how they log in.
const FreshLogin = caller.FreshLogin

// UseInterval is the least time between two writes of a session's last use. So few requests of browsers write.
const UseInterval = time.Minute

// maxAgent is how many bytes of the header User-Agent are kept.
const maxAgent = 200

// Session is a person's login in a browser. It is over when its row is gone or Alive is false.
type Session struct {
	ID     string
	UserID string
	// The generations at the login: the session is not valid after one of them has changed.
	UserGeneration int64
	OrgID          string
	OrgGeneration  int64
	// AuthTime is when the person last authenticated, here or at an identity provider. AMR are the methods (RFC 8176).
	AuthTime time.Time
	AMR      []string
	// Credential is the name that the service users has for the person's credential, such as "password". When the
	// credential is removed, the session ends.
	Credential string
	// Client and Agent are the address and the browser of the last use.
	Client, Agent string
	CreatedAt     time.Time
	UsedAt        time.Time
	ExpiresAt     time.Time
}

// Agent returns the part of a header User-Agent that is stored.
func Agent(header string) string {
	return strings.ToValidUTF8(header[:min(len(header), maxAgent)], "")
}

// Network returns the network of the address of the last use, which tells less about a person than the address: its
// first 24 bits, or 48 of an IPv6 address. It is empty if the address is not known.
func (s Session) Network() string {
	address, err := netip.ParseAddr(s.Client)
	if err != nil {
		return ""
	}
	bits := 48
	if address = address.Unmap(); address.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(address.WithZone(""), bits).Masked().String()
}

// UsedLongAgo reports whether a use at that time must be written.
func (s Session) UsedLongAgo(now time.Time) bool { return !now.Before(s.UsedAt.Add(UseInterval)) }

// Fresh reports whether the last authentication is recent enough to change how the person logs in.
func (s Session) Fresh(now time.Time) bool { return now.Sub(s.AuthTime) <= FreshLogin }

// Owner returns the session's user as they were at the login.
func (s Session) Owner() Subject {
	return Subject{ID: s.UserID, Generation: s.UserGeneration, OrgID: s.OrgID,
		Orgs: map[string]Org{s.OrgID: {ID: s.OrgID, Generation: s.OrgGeneration}}}
}
