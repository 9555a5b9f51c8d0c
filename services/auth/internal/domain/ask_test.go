package domain_test

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
)

const goodChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" // RFC 7636 appendix B

var (
	confidential = domain.Client{
		ID: "app", Methods: []domain.AuthMethod{domain.AuthBasic}, RedirectURIs: []string{"https://a.example/cb"},
		Grants: []domain.GrantType{domain.GrantCode, domain.GrantRefresh},
	}
	public = domain.Client{
		ID: "app", Methods: []domain.AuthMethod{domain.AuthNone}, RedirectURIs: []string{"https://a.example/cb"},
		Grants: []domain.GrantType{domain.GrantCode},
	}
)

// asking returns good parameters with changes: an empty value removes one, a value with | stands for two.
func asking(changes ...string) domain.Asked {
	a := domain.Asked{
		"client_id": {"app"}, "redirect_uri": {"https://a.example/cb"}, "response_type": {"code"},
		"scope": {"openid"}, "state": {"s"}, "nonce": {"n"},
	}
	for i := 0; i < len(changes); i += 2 {
		a[changes[i]] = strings.Split(changes[i+1], "|")
		if changes[i+1] == "" {
			delete(a, changes[i])
		}
	}
	return a
}

// refusals are requests, each of a client, and why they are refused.
type refusals map[string]struct {
	client domain.Client
	asked  domain.Asked
	want   *domain.Refusal
}

func (all refusals) check(t *testing.T) {
	t.Parallel()
	for name, test := range all {
		if _, err := test.asked.Request(test.client, now); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrongParameterIsRefused(t *testing.T) {
	bad := domain.ErrInvalidRequest
	refusals{
		"RFC 6749 3.1: state twice":                {confidential, asking("state", "a|b"), bad},
		"RFC 6749 3.1: an unknown parameter twice": {confidential, asking("x", "a|b"), bad},
		"RFC 6749 3.1.1: no response_type":         {confidential, asking("response_type", ""), bad},
		"RFC 6749 3.1.1: token": {
			confidential, asking("response_type", "token"), domain.ErrUnsupportedResponseType,
		},
		"OIDC 3.3: hybrid": {
			confidential, asking("response_type", "code id_token"), domain.ErrUnsupportedResponseType,
		},
		"RFC 6749 4.1.2.1: no grant": {domain.Client{}, asking(), domain.ErrUnauthorizedClient},
		"RFC 6749 3.3: scope":        {confidential, asking("scope", "a\"b"), domain.ErrInvalidScope},
		"two organizations": {
			confidential, asking("scope", "urn:service:iam:org:id:1 urn:service:iam:org:id:2"), domain.ErrInvalidScope,
		},
		"response_mode fragment": {confidential, asking("response_mode", "fragment"), bad},
		"RFC 9101 6.1: request": {
			confidential, asking("request", "eyJhbGciOiJub25lIn0.e30."), domain.ErrRequestNotSupported,
		},
		"RFC 9101 5.2: request_uri": {
			confidential, asking("request_uri", "https://a.example/r"), domain.ErrRequestURINotSupported,
		},
		"RFC 9126: a pushed request": {
			confidential, asking("request_uri", "urn:ietf:params:oauth:request_uri"), domain.ErrRequestURINotSupported,
		},
		"OIDC 7.2.1: registration": {
			confidential, asking("registration", "{}"), domain.ErrRegistrationNotSupported,
		},
		"OIDC 3.1.2.1: none and login": {confidential, asking("prompt", "none login"), bad},
		"an unknown prompt":            {confidential, asking("prompt", "create"), bad},
		"max_age of words":             {confidential, asking("max_age", "old"), bad},
		"max_age below 0":              {confidential, asking("max_age", "-1"), bad},
		"a long state":                 {confidential, asking("state", strings.Repeat("s", 4097)), bad},
		"a long nonce":                 {confidential, asking("nonce", strings.Repeat("n", 1025)), bad},
		"NUL in state":                 {confidential, asking("state", "a\x00b"), bad},
		"a line in login_hint":         {confidential, asking("login_hint", "a\r\nb"), bad},
		"a nonce that is not UTF-8":    {confidential, asking("nonce", "\xff"), bad},
	}.check(t)
}

func TestWrongChallengeIsRefused(t *testing.T) {
	bad := domain.ErrInvalidRequest
	refusals{
		"RFC 7636 4.4.1: no PKCE": {public, asking(), bad},
		"RFC 7636 4.3: no method": {confidential, asking("code_challenge", goodChallenge), bad},
		"RFC 7636 4.4.1: plain": {
			public, asking("code_challenge", goodChallenge, "code_challenge_method", "plain"), bad,
		},
		"PKCE method alone": {confidential, asking("code_challenge_method", "S256"), bad},
		"PKCE too short": {
			public, asking("code_challenge", goodChallenge[1:], "code_challenge_method", "S256"), bad,
		},
		"PKCE not base64url": {
			public, asking("code_challenge", "+"+goodChallenge[1:], "code_challenge_method", "S256"), bad,
		},
		"PKCE s256": {
			public, asking("code_challenge", goodChallenge, "code_challenge_method", "s256"), bad,
		},
	}.check(t)
}

// The client or its address is not known, so there is no redirect.
func TestRequestWithoutTargetIsRefused(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]domain.Asked{
		"no client_id":               asking("client_id", ""),
		"two of them":                asking("client_id", "app|app"),
		"no redirect_uri":            asking("redirect_uri", ""),
		"two addresses":              asking("redirect_uri", "https://a.example/cb|https://a.example/cb"),
		"NUL in the address":         asking("redirect_uri", "https://a.example/cb\x00"),
		"an endless address":         asking("redirect_uri", "https://a.example/"+strings.Repeat("a", 2048)),
		"a client that is not UTF-8": asking("client_id", "\xff"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := asked.Target(); !errors.Is(err, domain.ErrInvalidRequest) {
				t.Errorf("%v", err)
			}
		})
	}
	_, _, err := asking("redirect_uri", "", "request", "x").Target()
	if !errors.Is(err, domain.ErrRequestNotSupported) {
		t.Errorf("everything in a JWT: %v", err)
	}
}

func TestRequestHasParameters(t *testing.T) {
	t.Parallel()
	const address, largest = "https://a.example/cb", 100 * 365 * day
	expires := now.Add(domain.RequestLifetime)
	for name, test := range map[string]struct {
		client  domain.Client
		changes []string
		want    domain.AuthRequest
	}{
		"all parameters, and some that are ignored": {
			confidential,
			[]string{"scope", "openid offline_access unknown", "prompt", "login consent", "max_age", "60",
				"response_mode",
				"form_post", "login_hint", "ada", "ui_locales", "de fr-CH " + strings.Repeat("x", 36), "code_challenge",
				goodChallenge, "code_challenge_method", "S256", "acr_values", "x", "display", "page", "claims", "{}"},
			domain.AuthRequest{ClientID: "app", RedirectURI: address, State: "s", Nonce: "n",
				ResponseMode: domain.ResponseFormPost, CodeChallenge: goodChallenge, MaxAge: time.Minute,
				LoginHint: "ada",
				Scopes:    []string{"openid", "offline_access"}, Prompts: []string{"login", "consent"},
				UILocales: []string{"de", "fr-CH"}, CreatedAt: now, ExpiresAt: expires},
		},
		"a client without refresh tokens": {
			public,
			[]string{"scope", "openid offline_access", "code_challenge", goodChallenge,
				"code_challenge_method", "S256"},
			domain.AuthRequest{ClientID: "app", RedirectURI: address, State: "s", Nonce: "n",
				ResponseMode: domain.ResponseQuery, CodeChallenge: goodChallenge, MaxAge: -time.Second,
				Scopes: []string{"openid"}, Prompts: []string{}, UILocales: []string{},
				CreatedAt: now, ExpiresAt: expires},
		},
		"the largest max_age": {
			confidential, []string{"max_age", "9223372036854775807", "state", ""},
			domain.AuthRequest{ClientID: "app", RedirectURI: address, Nonce: "n", ResponseMode: domain.ResponseQuery,
				MaxAge: largest, Scopes: []string{"openid"}, Prompts: []string{}, UILocales: []string{}, CreatedAt: now,
				ExpiresAt: expires},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := asking(test.changes...).Request(test.client, now)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestErrorReturnsInModeOfRequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asked domain.Asked
		mode  domain.ResponseMode
		state string
	}{
		"in the query":             {asking(), domain.ResponseQuery, "s"},
		"in a form":                {asking("response_mode", "form_post"), domain.ResponseFormPost, "s"},
		"in two ways":              {asking("response_mode", "form_post|query"), domain.ResponseQuery, "s"},
		"two states":               {asking("state", "s|t"), domain.ResponseQuery, ""},
		"a state that is no text":  {asking("state", "\xff"), domain.ResponseQuery, ""},
		"a state of many letters":  {asking("state", strings.Repeat("s", 4097)), domain.ResponseQuery, ""},
		"an unknown response mode": {asking("response_mode", "web_message"), domain.ResponseQuery, "s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if mode, state := test.asked.Return(); mode != test.mode || state != test.state {
				t.Errorf("%s, %q", mode, state)
			}
		})
	}
}

func TestSessionMustBeEnoughForRequest(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) domain.Session {
		return domain.Session{UserID: "u", OrgID: "o", AuthTime: now.Add(-d)}
	}
	request := func(changes ...string) domain.AuthRequest {
		r, err := asking(changes...).Request(confidential, now.Add(-time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, test := range map[string]struct {
		request domain.AuthRequest
		session domain.Session
		want    bool
	}{
		"of days ago":               {request(), ago(9 * day), true},
		"younger than max_age":      {request("max_age", "3600"), ago(time.Hour), true},
		"older than max_age":        {request("max_age", "3600"), ago(time.Hour + 1), false},
		"max_age=0":                 {request("max_age", "0"), ago(time.Minute + 1), false},
		"max_age=0, since then":     {request("max_age", "0"), ago(time.Minute), true},
		"prompt=login":              {request("prompt", "login"), ago(time.Minute + 1), false},
		"prompt=login, since then":  {request("prompt", "login"), ago(time.Minute), true},
		"prompt=none":               {request("prompt", "none"), ago(9 * day), true},
		"prompt=none, max_age":      {request("prompt", "none", "max_age", "1"), ago(time.Hour), false},
		"prompt=login, large limit": {request("prompt", "login", "max_age", "99999"), ago(time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.request.Satisfied(test.session, now); got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
	for prompt, asks := range map[string]bool{"": false, "none": false, "login": true, "consent": true,
		"select_account": true} {
		if r := request("prompt", prompt); r.Asks() != asks || r.Silent() != (prompt == "none") {
			t.Errorf("prompt=%s: %v, %v", prompt, r.Asks(), r.Silent())
		}
	}
	hinted := request()
	hinted.UserID = "v"
	for name, test := range map[string]struct {
		request domain.AuthRequest
		want    error
	}{
		"anybody":              {request(), nil},
		"their organization":   {request("scope", "urn:service:iam:org:id:o"), nil},
		"another organization": {request("scope", "urn:service:iam:org:id:p"), domain.ErrAccountSelectionRequired},
		"another user":         {hinted, domain.ErrLoginRequired},
	} {
		if err := test.request.Admits(ago(0)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// RFC 7636 appendix B, RFC 6749 section 4.1.3.
func TestCodeIsRedeemedByItsClient(t *testing.T) {
	t.Parallel()
	const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	code := domain.Code{
		Authorization: domain.Authorization{ClientID: "app"}, RedirectURI: "https://a.example/cb",
		CodeChallenge: goodChallenge, CodeExpiresAt: now.Add(1),
	}
	without, used, old := code, code, code
	without.CodeChallenge, used.Used, old.CodeExpiresAt = "", true, now
	for name, test := range map[string]struct {
		code                  domain.Code
		client, uri, verifier string
		good, misused         bool
	}{
		"as made":                   {code, "app", "https://a.example/cb", verifier, true, false},
		"without PKCE":              {without, "app", "https://a.example/cb", "", true, false},
		"used before":               {used, "app", "https://a.example/cb", verifier, false, true},
		"by another client":         {code, "other", "https://a.example/cb", verifier, false, true},
		"with another redirect_uri": {code, "app", "https://a.example/cb/", verifier, false, true},
		"without redirect_uri":      {code, "app", "", verifier, false, true},
		"after a minute":            {old, "app", "https://a.example/cb", verifier, false, false},
		"without verifier":          {code, "app", "https://a.example/cb", "", false, true},
		"with a wrong verifier":     {code, "app", "https://a.example/cb", verifier[1:] + "x", false, true},
		"with a short verifier":     {code, "app", "https://a.example/cb", verifier[1:], false, true},
		"with a long verifier": {
			code, "app", "https://a.example/cb", strings.Repeat("a", 129), false, true,
		},
		"with the challenge for verifier": {code, "app", "https://a.example/cb", goodChallenge, false, true},
		"with a verifier of spaces": {
			code, "app", "https://a.example/cb", strings.Repeat(" ", 43), false, true,
		},
		"a verifier for no challenge": {without, "app", "https://a.example/cb", verifier, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.code.Redeem(test.client, test.uri, test.verifier, now)
			refusal, _ := errors.AsType[*domain.Refusal](err)
			if (err == nil) != test.good || err != nil && (!errors.Is(err, domain.ErrInvalidGrant) ||
				refusal.Misuse() != test.misused) {
				t.Errorf("%v", err)
			}
		})
	}
}

func FuzzAsked(f *testing.F) {
	for name, values := range asking("prompt", "login", "max_age", "1") {
		f.Add(name, values[0])
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		a := maps.Clone(asking())
		a[name] = []string{value}
		r, err := a.Request(confidential, now)
		if _, ok := errors.AsType[*domain.Refusal](err); err != nil && !ok {
			t.Fatal(err)
		}
		if err == nil && strings.ContainsAny(r.State+r.Nonce+r.LoginHint, "\x00\r\n") {
			t.Fatalf("%+v", r)
		}
	})
}
