package domain

import (
	"slices"
	"time"
)

const (
	// maxAssertion is how old an assertion may be, and how long it may be valid.
	maxAssertion = time.Hour
	// leeway is how much clocks may differ.
	leeway = 30 * time.Second
	// maxJTI is how many characters the id of an assertion may have.
	maxJTI = 200
)

// Assertion is the claims of a JWT with which a client or a machine user authenticates (RFC 7523 section 3).
type Assertion struct {
	Issuer, Subject, ID            string
	Audience                       []string
	ExpiresAt, IssuedAt, NotBefore time.Time // zero if missing
	// Scope is the scope of the request, if the client has put it into the assertion.
	Scope string
}

// Check refuses the assertion of anybody but id, one for somebody else, and one that is not valid now. It needs one of
// these audiences. If only is true it may have no other, and needs no iat (OpenID Connect Core section 9).
func (a Assertion) Check(id string, audiences []string, only bool, now time.Time) error {
	named := slices.ContainsFunc(a.Audience, func(aud string) bool { return slices.Contains(audiences, aud) })
	switch {
	case a.Issuer != id || a.Subject != id:
		return ErrInvalidGrant.Say("the assertion: iss and sub must be the id of the one who authenticates")
	case !named || only && len(a.Audience) != 1:
		return ErrInvalidGrant.Say("the assertion: aud must be the issuer")
	}
	if err := a.checkTimes(only, now); err != nil {
		return err
	}
	if len(a.ID) > maxJTI {
		return ErrInvalidGrant.Say("the assertion: jti has more than 200 characters")
	}
	return nil
}

// checkTimes refuses an assertion that is not valid now. One for several audiences needs the time when it was issued.
func (a Assertion) checkTimes(only bool, now time.Time) error {
	switch {
	case a.ExpiresAt.IsZero() || !now.Before(a.ExpiresAt.Add(leeway)):
		return ErrInvalidGrant.Say("the assertion: exp is missing or past")
	case a.ExpiresAt.After(now.Add(maxAssertion + leeway)):
		return ErrInvalidGrant.Say("the assertion: exp is more than an hour ahead")
	case a.IssuedAt.IsZero() && !only:
		return ErrInvalidGrant.Say("the assertion: iat is missing")
	case a.IssuedAt.After(now.Add(leeway)):
		return ErrInvalidGrant.Say("the assertion: iat is in the future")
	case !a.IssuedAt.IsZero() && a.IssuedAt.Before(now.Add(-maxAssertion-leeway)):
		return ErrInvalidGrant.Say("the assertion: iat is more than an hour ago")
	case a.NotBefore.After(now.Add(leeway)):
		return ErrInvalidGrant.Say("the assertion: nbf is in the future")
	}
	return nil
}

// Use is an assertion that can be used only once. An assertion without an id can be used again.
type Use struct {
	Issuer, ID string
	Until      time.Time
}

// Use returns what must be stored of the assertion until it has expired.
func (a Assertion) Use() Use { return Use{Issuer: a.Issuer, ID: a.ID, Until: a.ExpiresAt.Add(leeway)} }
