package domain

import (
	"slices"
	"time"
)

// Consent is what a person lets an application of another organization know.
type Consent struct {
	UserID   string
	ClientID string
	// OrgID and ClientOrgID are the organizations of the user and of the application.
	OrgID       string
	ClientOrgID string
	// Scopes are those of Told.
	Scopes    []string
	CreatedAt time.Time
	ChangedAt time.Time
}

// PersonalScopes returns those of some scopes by which a client learns something of a person, in the order of
// ScopesSupported.
func PersonalScopes(scopes []string) []string {
	return slices.DeleteFunc(ScopesSupported(), func(s string) bool { return !slices.Contains(scopes, s) })
}

// Covers reports whether the person has agreed to all that a client learns by some scopes.
func (c Consent) Covers(scopes []string) bool {
	return c.UserID != "" && !slices.ContainsFunc(PersonalScopes(scopes), func(s string) bool {
		return !slices.Contains(c.Scopes, s)
	})
}

// MustAgree reports whether a person must be asked before a client gets what it asks for: always if it wants to act as
// the person, and else if it belongs to an organization that is not the person's and has not granted the project to
// it, unless the person has agreed before. given is that consent, or zero.
func (r AuthRequest) MustAgree(c Client, s Session, a Access, given Consent) bool {
	switch {
	case r.ActsAsUser():
		return true
	case s.OrgID == c.OrgID, a.OrgHasProject:
		return false
	case slices.Contains(r.Prompts, PromptConsent):
		return true
	}
	return !given.Covers(r.Scopes)
}
