package domain

import (
	"slices"
	"time"
)

// LoginLifetime is how long a person has for the remaining steps of a login.
const LoginLifetime = 10 * time.Minute

// Methods of authentication (RFC 8176 section 2).
const (
	AMRPassword = "pwd"
	AMROTP      = "otp"
	AMRMultiple = "mfa"
)

// Login is a login that has begun: the password or the account at a provider was right. It gives no access until
// no step is missing.
type Login struct {
	UserID         string
	UserGeneration int64
	OrgID          string
	OrgGeneration  int64
	Credential     string
	AuthTime       time.Time
	AMR            []string
	// NeedsFactor and NeedsPassword report which steps are missing: a second factor, and after it a new password.
	NeedsFactor   bool
	NeedsPassword bool
	ExpiresAt     time.Time
}

// Done reports whether no step is missing.
func (l Login) Done() bool { return !l.NeedsFactor && !l.NeedsPassword }

// WithFactor returns the login after a second factor.
func (l Login) WithFactor(now time.Time) Login {
	l.NeedsFactor, l.AuthTime = false, now
	l.AMR = append(slices.Clone(l.AMR), AMROTP, AMRMultiple)
	return l
}

// WithPassword returns the login after the person has chosen a new password, which gives the user a new generation.
func (l Login) WithPassword(generation int64, now time.Time) Login {
	l.NeedsPassword, l.UserGeneration, l.AuthTime = false, generation, now
	return l
}

// Session returns the session of a login that is done. The client is an address, the agent what Agent returns.
func (l Login) Session(id, client, agent string, now time.Time) Session {
	return Session{
		ID: id, UserID: l.UserID, UserGeneration: l.UserGeneration, OrgID: l.OrgID, OrgGeneration: l.OrgGeneration,
		AuthTime: l.AuthTime, AMR: l.AMR, Credential: l.Credential, Client: client, Agent: agent, CreatedAt: now,
		UsedAt: now, ExpiresAt: now.Add(SessionLifetime),
	}
}

// Alive reports whether the user and the organization are active and as they were at the login, and the user still has
// the credential of the login.
func (s Session) Alive(u Subject) bool {
	return u.Active && u.Human && u.ID == s.UserID && u.Generation == s.UserGeneration &&
		u.Credential == s.Credential && u.OrgID == s.OrgID && u.Orgs[s.OrgID].is(s.OrgGeneration)
}
