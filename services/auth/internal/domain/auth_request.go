package domain

import (
	"slices"
	"time"
)

// RequestLifetime is how long a person has to log in for a client.
const RequestLifetime = time.Hour

// ResponseMode is how an answer gets to the client (OAuth 2.0 Multiple Response Types section 2.1, OAuth 2.0 Form Post
// Response Mode).
type ResponseMode string

// The response modes.
const (
	ResponseQuery    ResponseMode = "query"
	ResponseFormPost ResponseMode = "form_post"
)

// AuthRequest is a checked request of a client for a login (OpenID Connect Core section 3.1.2.1), which waits for a
// person.
type AuthRequest struct {
	// ID is in the address of the login pages.
	ID           string
	ClientID     string
	RedirectURI  string
	ResponseMode ResponseMode
	State, Nonce string
	// CodeChallenge is the S256 challenge of PKCE (RFC 7636), or empty.
	CodeChallenge string
	Scopes        []string
	// Targets are the scopes that the client named by the parameter resource. Only new requests have it.
	Targets []string `db:"-"`
	Prompts []string
	// MaxAge is how old the login may be; negative if the client does not say.
	MaxAge    time.Duration
	LoginHint string
	// UserID is the user who must log in, from the id token that the client has sent. It is empty if anybody may log
	// in.
	UserID    string
	UILocales []string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Prompts of OpenID Connect Core section 3.1.2.1.
const (
	PromptNone          = "none"
	PromptLogin         = "login"
	PromptConsent       = "consent"
	PromptSelectAccount = "select_account"
)

// Satisfied reports whether a session is enough for the request, so that its person need not authenticate again. A
// person who has authenticated since the request is not asked again.
func (r AuthRequest) Satisfied(s Session, now time.Time) bool {
	if !s.AuthTime.Before(r.CreatedAt) {
		return true
	}
	return !slices.Contains(r.Prompts, PromptLogin) && (r.MaxAge < 0 || now.Sub(s.AuthTime) <= r.MaxAge)
}

// Asks reports whether a person must see a page, even if a session is enough.
func (r AuthRequest) Asks() bool {
	return slices.ContainsFunc(r.Prompts, func(p string) bool { return p != PromptNone })
}

// Chooses reports whether the person must choose an account.
func (r AuthRequest) Chooses() bool { return slices.Contains(r.Prompts, PromptSelectAccount) }

// ActsAsUser reports whether the client wants to act as the person in Herald itself. The person always has to agree:
// any organization can make an application that asks for it.
func (r AuthRequest) ActsAsUser() bool { return slices.Contains(r.Scopes, ScopeService) }

// Silent reports whether no person may see a page.
func (r AuthRequest) Silent() bool { return slices.Contains(r.Prompts, PromptNone) }

// Admits refuses a user who logs in, if the request is for another one or for users of another organization.
func (r AuthRequest) Admits(s Session) error {
	if r.UserID != "" && r.UserID != s.UserID {
		return ErrLoginRequired.Say("somebody else than the subject of id_token_hint is logged in")
	}
	asked, err := AskedOrg(r.Scopes)
	if err != nil {
		return err
	}
	if asked != "" && asked != s.OrgID {
		return ErrAccountSelectionRequired.Say("the user belongs to another organization than the one in scope")
	}
	return nil
}
