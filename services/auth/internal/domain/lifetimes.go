package domain

import (
	"cmp"
	"time"
)

// Lifetimes is how long tokens are valid.
type Lifetimes struct {
	// Access is that of access tokens, and of the id tokens that are issued with them.
	Access time.Duration
	// RefreshIdle is how long a refresh token can be used. Refresh is how long it and all that replace it can be used.
	RefreshIdle, Refresh time.Duration
}

// Of returns the lifetimes of tokens of a client, which are those of the instance unless the client has others.
func (l Lifetimes) Of(c Client) Lifetimes {
	return Lifetimes{
		Access: cmp.Or(c.Lifetimes.Access, l.Access), RefreshIdle: cmp.Or(c.Lifetimes.RefreshIdle, l.RefreshIdle),
		Refresh: cmp.Or(c.Lifetimes.Refresh, l.Refresh),
	}
}

// Begins returns when an authorization ends that begins now. It lasts longer if it can be refreshed.
func (l Lifetimes) Begins(now time.Time, refreshed bool) time.Time {
	if refreshed {
		return now.Add(max(l.Refresh, l.Access))
	}
	return now.Add(l.Access)
}

// AccessUntil returns when an access token of an authorization expires. None is valid longer than its authorization.
func (l Lifetimes) AccessUntil(now time.Time, a Authorization) time.Time {
	return a.until(now.Add(l.Access))
}

// RefreshUntil returns when a refresh token of an authorization expires, if it is not used. It does not depend on the
// lifetime of access tokens, which may have changed since the authorization began.
func (l Lifetimes) RefreshUntil(now time.Time, a Authorization) time.Time {
	return a.until(now.Add(l.RefreshIdle))
}

// until returns the time at, or the end of the authorization if that is earlier.
func (a Authorization) until(at time.Time) time.Time {
	if at.Before(a.ExpiresAt) {
		return at
	}
	return a.ExpiresAt
}
