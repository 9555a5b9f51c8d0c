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

// PersonalScopes returns the scopes that give a client data of a person, in the order of ScopesSupported. Those that
// name projects other than the client's own follow.
func PersonalScopes(scopes []string, ownProject string) []string {
	personal := slices.DeleteFunc(ConsentScopes(), func(s string) bool { return !slices.Contains(scopes, s) })
	for _, id := range NamedProjects(scopes, ownProject) {
		personal = append(personal, ScopeOfProject(id))
	}
	return personal
}

// Covers reports whether the person has agreed to all that some scopes give a client of a project.
func (c Consent) Covers(scopes []string, ownProject string) bool {
	return c.UserID != "" && !slices.ContainsFunc(PersonalScopes(scopes, ownProject), func(s string) bool {
		return !slices.Contains(c.Scopes, s)
	})
}

// MustAgree reports whether a person must be asked before a client gets what it asks for. A client that wants to act
// as the person always needs consent, unless the person's organization trusts it. agreed reports whether the person's
// organization has agreed for its people. Every other client needs consent, unless the person has agreed before, which
// covered reports; with prompt=consent the person is asked again.
func (r AuthRequest) MustAgree(trusted, agreed, covered bool) bool {
	switch {
	case r.ActsAsUser():
		return !trusted
	case agreed:
		return false
	case slices.Contains(r.Prompts, PromptConsent):
		return true
	}
	return !covered
}
