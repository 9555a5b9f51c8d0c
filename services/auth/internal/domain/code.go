package domain

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"herald/shared/secret"
)

// NewCode is an authorization code before it is stored.
type NewCode struct {
	Hash          []byte
	RedirectURI   string
	CodeChallenge string
	Nonce         string
	ExpiresAt     time.Time
}

// Code is a stored authorization code with the authorization that it gives.
type Code struct {
	Authorization
	RedirectURI   string
	CodeChallenge string
	Nonce         string
	CodeExpiresAt time.Time
	Used          bool
}

// Redeem refuses a code to everybody but the client for which it was made, with the redirect URI and the verifier of
// the request (RFC 6749 section 4.1.3, RFC 7636 section 4.6). It returns ErrMisused if the code may have been stolen.
func (c Code) Redeem(clientID, redirectURI, verifier string, now time.Time) error {
	switch {
	case c.Used:
		return ErrMisused.Say("the code was used before, so the tokens that it gave have ended too" + beginAnew)
	case c.ClientID != clientID:
		return ErrMisused.Say("the code is another client's, and has ended now" + beginAnew)
	case c.RedirectURI != redirectURI:
		return ErrMisused.Say("redirect_uri is not the one of the authorization request, character for character, " +
			"and the code has ended now" + beginAnew)
	case !now.Before(c.CodeExpiresAt):
		return ErrInvalidGrant.Say("the code has expired, a minute after it was made" + beginAnew)
	case c.CodeChallenge == "" && verifier != "":
		return ErrMisused.Say("code_verifier without code_challenge in the authorization request, and the code has " +
			"ended now" + beginAnew)
	case c.CodeChallenge != "" && !verifies(verifier, c.CodeChallenge):
		return ErrMisused.Say("code_verifier is missing, or is not that of code_challenge, and the code has ended now" +
			beginAnew)
	}
	return nil
}

// beginAnew ends the refusals of codes: each code is for one request.
const beginAnew = ": send the user to the authorization endpoint again"

// unreserved are the characters of a code verifier (RFC 7636 section 4.1).
const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// verifies reports whether a challenge is the S256 challenge of a verifier.
func verifies(verifier, challenge string) bool {
	if len(verifier) < 43 || len(verifier) > 128 || strings.Trim(verifier, unreserved) != "" {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	made := base64.RawURLEncoding.EncodeToString(sum[:])
	return subtle.ConstantTimeCompare([]byte(made), []byte(challenge)) == 1
}

// challenges reports whether a text is a SHA-256 in base64url.
func challenges(text string) bool {
	_, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(text) == challenge && !strings.ContainsAny(text, "\r\n")
}

// RefreshToken is a stored refresh token with its authorization.
type RefreshToken struct {
	Authorization
	TokenScopes []string
	// Seed gives with the token the one that replaces it.
	Seed []byte
	// Used reports whether it was used for the first time at least RefreshRetry ago.
	Used bool
}

// Successor returns the token that replaces the refresh token with that text: the same for each use, so that a client
// that tries again, or at the same time, does not leave the line of tokens in which a stolen one is noticed.
func (t RefreshToken) Successor(text string) secret.Text {
	return secret.RefreshToken.From(text, t.Seed)
}

// Redeem refuses a refresh token to everybody but the client to which it was issued, and RefreshRetry after its first
// use (RFC 6749 section 6). It returns ErrMisused if the token may have been stolen.
func (t RefreshToken) Redeem(clientID string) error {
	switch {
	case t.Used:
		return ErrMisused.Say("the refresh token was used before, so the login has ended: store the refresh token of " +
			"each answer in place of the one before, and send the user to log in")
	case t.ClientID != clientID:
		return ErrMisused.Say("the refresh token is another client's")
	}
	return nil
}

// ErrUnknown is returned for a code or refresh token that is not known, or has expired.
var ErrUnknown = errors.New("there is no such code or refresh token")

// ErrRequestGone is returned for an authorization request that has expired or was answered.
var ErrRequestGone = errors.New("there is no such authorization request")
