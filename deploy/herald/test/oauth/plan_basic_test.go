package oauth_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"herald/shared/secret"
)

// basic are the modules of the plans oidcc-basic-certification-test-plan and, with the response mode form_post,
// oidcc-formpost-basic-certification-test-plan of the OpenID Foundation's conformance suite, by their names there.
var basic = map[string]func(p *party){
	"oidcc-server": func(p *party) {
		a := p.loggedIn()
		if c := p.checked(a); c["nonce"] != "no" || c["sub"] != p.info(a)["sub"] {
			p.Errorf("%v", c)
		}
	},
	"oidcc-response-type-missing": func(p *party) {
		if got := p.arrive(p.browser.visit(p.asks("response_type", ""))); got.Get("error") != "invalid_request" {
			p.Errorf("%v", got)
		}
	},
	"oidcc-idtoken-signature": func(p *party) {
		a := p.loggedIn()
		p.checked(a)
		signed, err := jose.ParseSignedCompact(a.text("id_token"), []jose.SignatureAlgorithm{jose.RS256})
		if err != nil || signed.Signatures[0].Header.KeyID == "" {
			p.Errorf("%v", err)
		}
	},
	// The suite skips the module for servers that do not offer such tokens.
	"oidcc-idtoken-unsigned": func(p *party) { p.offers("id_token_signing_alg_values_supported", `["RS256"]`) },
	"oidcc-userinfo-get":     func(p *party) { p.info(p.loggedIn()) },
	"oidcc-userinfo-post-header": func(p *party) {
		p.own(p.call(p.loggedIn().text("access_token"), "POST", "/oidc/v1/userinfo"))
	},
	"oidcc-userinfo-post-body": func(p *party) {
		p.own(p.post("/oidc/v1/userinfo", "", "access_token", p.loggedIn().text("access_token")))
	},
	"oidcc-ensure-request-without-nonce-succeeds-for-code-flow": func(p *party) {
		if c := p.checked(p.loggedIn("nonce", "")); c["nonce"] != nil {
			p.Errorf("%v", c)
		}
	},
	"oidcc-scope-profile": scoped("openid profile", "name", "given_name", "family_name", "preferred_username"),
	"oidcc-scope-email":   scoped("openid email", "email", "email_verified"),
	"oidcc-scope-phone":   scoped("openid phone", "phone_number", "phone_number_verified"),
	// There are no addresses. The answer says that the scope was not granted.
	"oidcc-scope-address": scoped("openid address"),
	"oidcc-scope-all": scoped("openid profile email address phone", "name", "given_name", "family_name",
		"preferred_username", "email", "email_verified", "phone_number", "phone_number_verified"),
	"oidcc-alternate-happy-flow": func(p *party) {
		parts := strings.Split(strings.TrimPrefix(p.asks("scope", "email openid"), p.URL+"/oauth/v2/authorize?"), "&")
		for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
			parts[i], parts[j] = parts[j], parts[i]
		}
		at := p.browser.visit(p.URL + "/oauth/v2/authorize?" + strings.Join(parts, "&"))
		a := p.good(p.arrive(p.browser.enter(at, "ada")))
		p.checked(a)
		p.has(p.info(a), "email", "email_verified")
	},
	"oidcc-display-page":                                   same("display", "page"),
	"oidcc-display-popup":                                  same("display", "popup"),
	"oidcc-ui-locales":                                     same("ui_locales", "se"),
	"oidcc-claims-locales":                                 same("claims_locales", "se"),
	"oidcc-ensure-request-with-acr-values-succeeds":        same("acr_values", "1 2"),
	"oidcc-ensure-request-with-unknown-parameter-succeeds": same("extra", "foobar"),
	"oidcc-login-hint": func(p *party) {
		at := p.browser.visit(p.asks("login_hint", "ada"))
		if got := p.browser.value(at, "name"); got != "ada" {
			p.Errorf("the page proposes %q", got)
		}
		p.checked(p.good(p.arrive(p.browser.enter(at, "ada"))))
	},
	// The parameter is not supported, as the discovery document says; the suite warns that there is no name then.
	"oidcc-claims-essential": func(p *party) {
		p.offers("claims_parameter_supported", "false")
		a := p.loggedIn("claims", `{"userinfo":{"name":{"essential":true}}}`)
		p.has(p.checked(a))
		p.has(p.info(a))
	},
	"oidcc-prompt-none-not-logged-in": func(p *party) {
		if got := p.again(false, "prompt", "none"); got.Get("error") != "login_required" || got.Get("code") != "" {
			p.Errorf("%v", got)
		}
	},
	"oidcc-prompt-none-logged-in": func(p *party) {
		p.unchanged(p.loggedIn(), p.good(p.again(false, "prompt", "none")))
	},
	"oidcc-max-age-10000": func(p *party) {
		p.unchanged(p.loggedIn(), p.good(p.again(false, "max_age", "10000")))
	},
	"oidcc-id-token-hint": func(p *party) {
		first := p.loggedIn()
		p.unchanged(first, p.good(p.again(false, "prompt", "none", "id_token_hint", first.text("id_token"))))
	},
	"oidcc-prompt-login": func(p *party) { p.newer("prompt", "login") },
	"oidcc-max-age-1":    func(p *party) { p.newer("max_age", "1") },
	"oidcc-codereuse": func(p *party) {
		got := p.ask()
		p.good(got)
		p.refused(p.redeemed(got.Get("code")), 400, "invalid_grant")
	},
	"oidcc-ensure-registered-redirect-uri": func(p *party) {
		at := p.browser.visit(p.asks("redirect_uri", p.redirectURI+"/other"))
		if at.Status != http.StatusBadRequest || len(p.answers) != 0 || at.root.Find("form").Exists() {
			p.Errorf("%d %s", at.Status, at.heading())
		}
	},
	"oidcc-ensure-post-request-succeeds": func(p *party) {
		address, query, _ := strings.Cut(p.asks(), "?")
		r, err := http.NewRequestWithContext(p.Context(), http.MethodPost, address, strings.NewReader(query))
		if err != nil {
			p.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", strings.TrimSuffix(p.redirectURI, "/callback"))
		p.checked(p.good(p.arrive(p.browser.enter(p.browser.follow(r), "ada"))))
	},
	"oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported": unsupported("request_uri",
		"https://app.example/request.jwt", "request_uri_not_supported"),
	"oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported": unsupported("request",
		"eyJhbGciOiJub25lIn0.eyJzY29wZSI6Im9wZW5pZCJ9.", "request_not_supported"),
	"oidcc-ensure-request-object-with-redirect-uri": unsupported("request",
		"eyJhbGciOiJub25lIn0.eyJyZWRpcmVjdF91cmkiOiJodHRwczovL2V2aWwuZXhhbXBsZSJ9.", "request_not_supported"),
	"oidcc-ensure-request-with-valid-pkce-succeeds": func(p *party) {
		got := p.ask("code_challenge_method", "S256", "code_challenge", s256(p.verifier))
		p.checked(p.good(got, "code_verifier", p.verifier))
	},
	"oidcc-refresh-token": func(p *party) {
		first := p.loggedIn("scope", "openid offline_access")
		second := p.grant("grant_type", "refresh_token", "refresh_token", first.text("refresh_token"))
		p.unchanged(first, second)
		if c := p.checked(second); c["nonce"] != nil || second.text("refresh_token") == first.text("refresh_token") {
			p.Errorf("%v", c)
		}
		p.info(second)
		other := p.party(p.TB.Name()+" other", p.mode)
		p.refused(other.grant("grant_type", "refresh_token", "refresh_token", second.text("refresh_token")), 400,
			"invalid_grant")
	},
	"oidcc-server-client-secret-post": func(p *party) {
		other := p.party(p.TB.Name()+" post", p.mode, `,"authMethodType":"OIDC_AUTH_METHOD_TYPE_POST"`)
		other.method = "client_secret_post"
		other.checked(other.loggedIn())
	},
}

// scoped returns a module that asks for scopes and finds exactly these claims at userinfo.
func scoped(scopes string, claims ...string) func(p *party) {
	return func(p *party) {
		p.TB.Helper()
		a := p.loggedIn("scope", scopes)
		p.checked(a)
		p.has(p.info(a), claims...)
		if granted := strings.Replace(scopes, " address", "", 1); a.text("scope") != granted {
			p.Errorf("granted is %q", a.text("scope"))
		}
	}
}

// same returns a module for a parameter with which a login succeeds as without it.
func same(name, value string) func(p *party) {
	return func(p *party) {
		p.TB.Helper()
		if c := p.checked(p.loggedIn(name, value)); c["nonce"] != "no" {
			p.Errorf("%v", c)
		}
	}
}

// unsupported returns a module for a parameter with which the application gets an error.
func unsupported(name, value, code string) func(p *party) {
	return func(p *party) {
		p.TB.Helper()
		if got := p.again(false, name, value); got.Get("error") != code || got.Get("code") != "" {
			p.Errorf("%v", got)
		}
	}
}

// unchanged fails the test unless the second tokens are of the same login as the first.
func (p *party) unchanged(first, second answer) {
	p.TB.Helper()
	a, b := p.checked(first), p.checked(second)
	if a["auth_time"] != b["auth_time"] || a["sub"] != b["sub"] || a["iss"] != b["iss"] || a["sid"] != b["sid"] {
		p.Errorf("%v, then %v", a, b)
	}
}

// newer fails the test unless a parameter makes a person who has logged in log in again. The application must get the
// new time of the login.
func (p *party) newer(name, value string) {
	p.TB.Helper()
	first := p.checked(p.loggedIn())
	<-time.After(2 * time.Second) // auth_time has seconds, and max_age=1 needs more than one
	second := p.checked(p.good(p.again(true, name, value)))
	if a, b := first["auth_time"].(float64), second["auth_time"].(float64); b < a+2 || second["sid"] != first["sid"] {
		p.Errorf("%v, then %v", first, second)
	}
}

// offers fails the test unless the discovery document has that value, as JSON.
func (p *party) offers(member, want string) {
	p.TB.Helper()
	if got, err := json.Marshal(p.discovered()[member]); err != nil || string(got) != want {
		p.Errorf("%s is %s, want %s", member, got, want)
	}
}

// discovered returns the discovery document.
func (w world) discovered() map[string]any {
	w.TB.Helper()
	a := w.ask(http.MethodGet, "/.well-known/openid-configuration", "")
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		w.Fatalf("%d %v", a.Status, a.Header)
	}
	return a.Body
}

// The module oidcc-codereuse-30seconds is only beside the authorization endpoint, where half a minute takes no time.
func TestOpenIDBasicPlans(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ada()
	for plan, mode := range map[string]string{
		"oidcc-basic-certification-test-plan": "", "oidcc-formpost-basic-certification-test-plan": "form_post",
	} {
		for name, module := range basic {
			t.Run(plan+"/"+name, func(t *testing.T) {
				t.Parallel()
				module(world{w.Instance, t}.party(t.Name(), mode))
			})
		}
	}
}

// ada makes the person of the modules.
func (w world) ada() {
	w.TB.Helper()
	w.Must("POST", "/management/v1/users/human/_import",
		person("ada", `,"phone":{"phone":"+41791234567","isPhoneVerified":true}`))
}

// s256 returns the code challenge of a verifier (RFC 7636 section 4.2).
func s256(verifier string) string { return base64.RawURLEncoding.EncodeToString(secret.Hash(verifier)) }
