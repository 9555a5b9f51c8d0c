package domain

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of the parameters of an authorization request, in bytes.
const (
	maxRedirect  = 2048
	maxState     = 4096
	maxNonce     = 1024
	maxLoginHint = 254
	maxUILocales = 20
	// maxMaxAge is in seconds: 100 years.
	maxMaxAge = 100 * 365 * 24 * 60 * 60
	// challenge is how many characters a code_challenge by S256 has (RFC 7636 section 4.2).
	challenge = 43
)

// Resource is the parameter that names projects for which a token is (RFC 8707 section 2). A request may have several.
const Resource = "resource"

// Asked is the parameters of an authorization request, each with all its values.
type Asked map[string][]string

// get returns the value of a parameter: empty if it is missing or occurs more than once.
func (a Asked) get(name string) string {
	if len(a[name]) != 1 {
		return ""
	}
	return a[name][0]
}

// Target returns the client id and the redirect URI. It refuses a request without one of them. The person sees that
// refusal. It must not be sent to the client, because the client or its address is not known.
func (a Asked) Target() (clientID, redirectURI string, err error) {
	for _, name := range []string{"client_id", "redirect_uri"} {
		switch value := a.get(name); {
		case len(a[name]) > 1:
			return "", "", ErrInvalidRequest.Say(name + " is there more than once")
		case value == "" && name == "redirect_uri" && (a.get("request") != "" || a.get("request_uri") != ""):
			return "", "", ErrRequestNotSupported.Say(
				"parameters must be in the query and not in a JWT: redirect_uri is missing there")
		case value == "":
			return "", "", ErrInvalidRequest.Say(name + " is missing")
		case len(value) > maxRedirect || !Plain(value):
			return "", "", ErrInvalidRequest.Say(name + " is too long or has characters that no such value has")
		}
	}
	return a.get("client_id"), a.get("redirect_uri"), nil
}

// Plain reports whether a value is text in UTF-8 without control characters.
func Plain(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsFunc(value, unicode.IsControl)
}

// Return returns how an error gets to the client: with which state, and in which mode.
func (a Asked) Return() (mode ResponseMode, state string) {
	mode, state = ResponseQuery, a.get("state")
	if a.get("response_mode") == string(ResponseFormPost) {
		mode = ResponseFormPost
	}
	if !Plain(state) || len(state) > maxState {
		state = ""
	}
	return mode, state
}

// Request checks all parameters of a client whose redirect URI is allowed. The user of id_token_hint is not set.
func (a Asked) Request(c Client, now time.Time) (AuthRequest, error) {
	if err := a.check(c); err != nil {
		return AuthRequest{}, err
	}
	mode, state := a.Return()
	r := AuthRequest{
		ClientID: c.ID, RedirectURI: a.get("redirect_uri"), ResponseMode: mode, State: state, Nonce: a.get("nonce"),
		CodeChallenge: a.get("code_challenge"), LoginHint: a.get("login_hint"), UILocales: a.locales(),
		MaxAge: -time.Second, CreatedAt: now, ExpiresAt: now.Add(RequestLifetime),
	}
	var err error
	if r.Prompts, err = prompts(a.get("prompt")); err != nil {
		return AuthRequest{}, err
	}
	if text := a.get("max_age"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return AuthRequest{}, ErrInvalidRequest.Say("max_age must be a number of seconds")
		}
		r.MaxAge = time.Duration(min(seconds, maxMaxAge)) * time.Second
	}
	if r.Targets, err = Targets(a[Resource]); err != nil {
		return AuthRequest{}, err
	}
	if r.Scopes, err = Scopes(a.get("scope"), r.Targets...); err != nil {
		return AuthRequest{}, err
	}
	if !c.MayUse(GrantRefresh) {
		r.Scopes = slices.DeleteFunc(r.Scopes, func(s string) bool { return s == ScopeOfflineAccess })
	}
	_, err = AskedOrg(r.Scopes)
	return r, err
}

// knownParameters returns the parameters that the endpoint uses. It ignores all others (RFC 6749 section 3.1).
func knownParameters() []string {
	return []string{
		"response_type", "response_mode", "state", "nonce", "scope", "prompt", "max_age", "login_hint", "ui_locales",
		"id_token_hint", "code_challenge", "code_challenge_method", "request", "request_uri", "registration",
	}
}

// check refuses a request that no login of the person can make valid.
func (a Asked) check(c Client) error {
	if err := a.checkText(); err != nil {
		return err
	}
	mode := ResponseMode(a.get("response_mode"))
	switch {
	case a.get("request") != "":
		return ErrRequestNotSupported.Say("parameters must be in the query and not in a JWT")
	case a.get("request_uri") != "":
		return ErrRequestURINotSupported.Say("parameters must be in the query and not at an address")
	case a.get("registration") != "":
		return ErrRegistrationNotSupported.Say("clients are registered by their owners")
	case a.get("response_type") == "":
		return ErrInvalidRequest.Say("response_type is missing")
	case a.get("response_type") != "code":
		return ErrUnsupportedResponseType.Say("response_type must be code")
	case !c.MayUse(GrantCode):
		return ErrUnauthorizedClient.Say("the client may not use the grant authorization_code")
	case mode != "" && mode != ResponseQuery && mode != ResponseFormPost:
		return ErrInvalidRequest.Say("response_mode must be query or form_post")
	case len(a.get("state")) > maxState || len(a.get("nonce")) > maxNonce || len(a.get("login_hint")) > maxLoginHint:
		return ErrInvalidRequest.Say("at most 4096 bytes of state, 1024 of nonce and 254 of login_hint")
	}
	return a.checkPKCE(c)
}

// checkText refuses parameters that occur more than once, and known ones that are not plain text. Only resource may
// occur more than once, and Targets checks it.
func (a Asked) checkText() error {
	for name, values := range a {
		if len(values) > 1 && name != Resource {
			return ErrInvalidRequest.Say("a parameter is there more than once")
		}
	}
	for _, name := range knownParameters() {
		if !Plain(a.get(name)) {
			return ErrInvalidRequest.Say(name + " must be text in UTF-8 without control characters")
		}
	}
	return nil
}

// checkPKCE refuses all but S256 (RFC 7636 section 4.4.1), which a public client must use (RFC 9700 section 2.1.1).
func (a Asked) checkPKCE(c Client) error {
	text, method := a.get("code_challenge"), a.get("code_challenge_method")
	switch {
	case text == "" && method != "":
		return ErrInvalidRequest.Say("code_challenge_method without code_challenge")
	case text == "" && c.Public():
		return ErrInvalidRequest.Say("code_challenge is missing: this client must use PKCE")
	case text == "":
		return nil
	case method != "S256":
		return ErrInvalidRequest.Say("code_challenge_method must be S256")
	case !challenges(text):
		return ErrInvalidRequest.Say("code_challenge is not the SHA-256 of a verifier in base64url")
	}
	return nil
}

// prompts returns the values of the parameter prompt.
func prompts(parameter string) ([]string, error) {
	all := strings.Fields(parameter)
	for _, p := range all {
		if !slices.Contains(Prompts(), p) {
			return nil, ErrInvalidRequest.Say("prompt must be none, login, consent or select_account")
		}
	}
	if slices.Contains(all, PromptNone) && len(all) > 1 {
		return nil, ErrInvalidRequest.Say("prompt: none goes with nothing else")
	}
	return all, nil
}

// Prompts returns all values of the parameter prompt.
func Prompts() []string { return []string{PromptNone, PromptLogin, PromptConsent, PromptSelectAccount} }

// locales returns the languages that a client wants for its person. Unusable ones are ignored.
func (a Asked) locales() []string {
	all := strings.Fields(a.get("ui_locales"))
	all = slices.DeleteFunc(all, func(tag string) bool { return len(tag) > 35 })
	return all[:min(len(all), maxUILocales)]
}
