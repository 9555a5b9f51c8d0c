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
	// Scopes are as PersonalScopes returns them.
	Scopes    []string
	CreatedAt time.Time
	ChangedAt time.Time
}

// PersonalScopes returns the scopes that give a client data of a person, in the order of ScopesSupported.
func PersonalScopes(scopes []string) []string {
	return slices.DeleteFunc(ScopesSupported(), func(s string) bool { return !slices.Contains(scopes, s) })
}

// Covers reports whether the person has agreed to all data that some scopes give a client.
func (c Consent) Covers(scopes []string) bool {
	return c.UserID != "" && !slices.ContainsFunc(PersonalScopes(scopes), func(s string) bool {
		return !slices.Contains(c.Scopes, s)
	})
}

// MustAgree reports whether a person must be asked before a client gets what it asks for. A client that wants to act as
// the person always needs consent. A client of the person's organization, or of a project that this organization may
// use, needs none. Every other client needs consent, unless the person has agreed before; with prompt=consent the
// person is asked again. given is the stored consent, or zero.
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
