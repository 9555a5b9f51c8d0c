package domain

import "time"

// Refusal is an error that OAuth 2.0 sends to a client (RFC 6749 section 5.2).
type Refusal struct {
	Code        string
	Description string
	misuse      bool
	tooMany     bool
	// Wait is how long the client must wait before it asks again; zero if that is not known.
	Wait time.Duration
	// Cause is for the log.
	Cause error
}

// Error returns code and description.
func (r *Refusal) Error() string {
	if r.Description == "" {
		return r.Code
	}
	return r.Code + ": " + r.Description
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// Is reports whether another refusal has the same code.
func (r *Refusal) Is(other error) bool {
	o, ok := other.(*Refusal)
	return ok && o.Code == r.Code
}

// Misuse reports whether it is ErrMisused.
func (r *Refusal) Misuse() bool { return r.misuse }

// TooMany reports whether it is ErrTooMany.
func (r *Refusal) TooMany() bool { return r.tooMany }

// Failure reports whether the server failed. The client made no mistake.
func (r *Refusal) Failure() bool {
	return r.Code == ErrServerError.Code || r.Code == ErrUnavailable.Code && !r.tooMany
}

// Say returns a copy with a description. It must not contain anything of the request but names of parameters, and only
// the characters of RFC 6749 section 5.2.
func (r *Refusal) Say(description string) *Refusal {
	said := *r
	said.Description = description
	return &said
}

// Because returns a copy with a cause, which only the log shows.
func (r *Refusal) Because(cause error) *Refusal {
	said := *r
	said.Cause = cause
	return &said
}

// After returns a copy with the time that the client must wait.
func (r *Refusal) After(wait time.Duration) *Refusal {
	said := *r
	said.Wait = wait
	return &said
}

// The refusals of RFC 6749 sections 4.1.2.1 and 5.2, RFC 8628 section 3.5, and OpenID Connect Core section 3.1.2.6.
var (
	ErrInvalidRequest = &Refusal{Code: "invalid_request"}
	ErrInvalidClient  = &Refusal{Code: "invalid_client"}
	ErrInvalidGrant   = &Refusal{Code: "invalid_grant"}
	// ErrMisused refuses a code or refresh token that somebody uses again, or for whom it was not made. All that was
	// issued with it ends (RFC 6749 sections 10.4, 10.5).
	ErrMisused = &Refusal{Code: "invalid_grant", misuse: true,
		Description: "it was used before, so the login has ended: send the user to log in"}
	// ErrReplayed refuses an assertion that was used before.
	ErrReplayed             = ErrInvalidGrant.Say("the assertion was used before")
	ErrUnauthorizedClient   = &Refusal{Code: "unauthorized_client"}
	ErrUnsupportedGrantType = &Refusal{Code: "unsupported_grant_type"}
	ErrInvalidScope         = &Refusal{Code: "invalid_scope"}
	// RFC 8707 section 2.
	ErrInvalidTarget           = &Refusal{Code: "invalid_target"}
	ErrAccessDenied            = &Refusal{Code: "access_denied"}
	ErrUnsupportedResponseType = &Refusal{Code: "unsupported_response_type"}
	// RFC 6750 section 3.1.
	ErrInvalidToken      = &Refusal{Code: "invalid_token"}
	ErrInsufficientScope = &Refusal{Code: "insufficient_scope"}
	// RFC 7009 section 2.2.1.
	ErrUnsupportedTokenType = &Refusal{Code: "unsupported_token_type"}
	ErrServerError          = &Refusal{Code: "server_error"}
	ErrUnavailable          = &Refusal{Code: "temporarily_unavailable"}
	// ErrTooMany refuses a client or browser that sends too many requests.
	ErrTooMany = &Refusal{Code: "temporarily_unavailable", tooMany: true}

	ErrLoginRequired            = &Refusal{Code: "login_required"}
	ErrAccountSelectionRequired = &Refusal{Code: "account_selection_required"}
	ErrConsentRequired          = &Refusal{Code: "consent_required"}
	ErrRequestNotSupported      = &Refusal{Code: "request_not_supported"}
	ErrRequestURINotSupported   = &Refusal{Code: "request_uri_not_supported"}
	ErrRegistrationNotSupported = &Refusal{Code: "registration_not_supported"}
)
