package oauth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// The headings of the pages at the end of a logout.
const (
	signedOut    = "You are signed out"
	asksPeople   = "Do you want to sign out?"
	cannotLogout = "This application cannot sign you out"
)

// rpInitiated are the modules of oidcc-rp-initiated-logout-certification-test-plan.
var rpInitiated = map[string]func(p *party){
	"oidcc-rp-initiated-logout-discovery-endpoint-verification": func(p *party) {
		p.offers("end_session_endpoint", `"`+p.URL+`/oidc/v1/end_session"`)
	},
	"oidcc-rp-initiated-logout": func(p *party) {
		at := p.leave(p.loggedIn())
		if at.address.String() != p.bye+"?state=s+t" {
			p.Errorf("the person is at %s", at.address)
		}
		p.gone()
	},
	"oidcc-rp-initiated-logout-no-state": func(p *party) {
		if at := p.leave(p.loggedIn(), "state", ""); at.address.String() != p.bye {
			p.Errorf("the person is at %s", at.address)
		}
		p.gone()
	},
	"oidcc-rp-initiated-logout-no-post-logout-redirect-uri": func(p *party) {
		p.browser.named(p.leave(p.loggedIn(), "post_logout_redirect_uri", ""), signedOut)
		p.gone()
	},
	"oidcc-rp-initiated-logout-no-params": func(p *party) {
		p.loggedIn()
		p.agree(p.browser.visit(p.URL+"/oidc/v1/end_session"), signedOut)
	},
	"oidcc-rp-initiated-logout-only-state": func(p *party) {
		p.loggedIn()
		p.agree(p.browser.visit(p.URL+"/oidc/v1/end_session?state=s"), signedOut)
	},
	// The person is asked first, and only goes back by agreeing.
	"oidcc-rp-initiated-logout-no-id-token-hint": func(p *party) {
		p.agree(p.leave(p.loggedIn(), "id_token_hint", "", "client_id", p.clientID), "Welcome")
	},
	"oidcc-rp-initiated-logout-bad-post-logout-redirect-uri": func(p *party) {
		p.stays(p.leave(p.loggedIn(), "post_logout_redirect_uri", p.bye+"/other"))
	},
	"oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri": func(p *party) {
		p.stays(p.leave(p.loggedIn(), "post_logout_redirect_uri", p.bye+"?foo=bar"))
	},
	"oidcc-rp-initiated-logout-modified-id-token-hint": func(p *party) {
		a := p.loggedIn()
		header, rest, _ := strings.Cut(a.text("id_token"), ".")
		payload, signature, _ := strings.Cut(rest, ".")
		p.stays(p.leave(a, "id_token_hint", header+"."+payload+"."+signature[2:]+signature[:2]))
	},
	"oidcc-rp-initiated-logout-bad-id-token-hint": func(p *party) {
		a := p.loggedIn()
		p.stays(p.leave(a, "id_token_hint", p.forged(p.claimsOf(a))))
	},
}

// backChannel are the modules of oidcc-backchannel-rp-initiated-logout-certification-test-plan.
var backChannel = map[string]func(p *party){
	"oidcc-backchannel-logout-discovery-endpoint-verification": func(p *party) {
		p.offers("end_session_endpoint", `"`+p.URL+`/oidc/v1/end_session"`)
		p.offers("backchannel_logout_supported", "true")
		p.offers("backchannel_logout_session_supported", "true")
	},
	"oidcc-backchannel-rp-initiated-logout": func(p *party) {
		a := p.loggedIn()
		p.browser.named(p.leave(a), "Welcome")
		c, told := p.checked(a), p.ended()
		if told.Subject != c["sub"] || told.SessionID != c["sid"] || told.Issuer != p.URL || told.TokenID == "" ||
			time.Since(told.IssuedAt).Abs() > time.Minute || time.Until(told.Expiry).Abs() > 3*time.Minute {
			p.Errorf("%+v, and the id token says %v", told, c)
		}
		p.gone()
	},
}

// config are the modules of oidcc-config-certification-test-plan.
var config = map[string]func(p *party){
	"oidcc-discovery-endpoint-verification": func(p *party) {
		for member, want := range map[string]string{
			"response_types_supported": `["code"]`, "subject_types_supported": `["public"]`,
			"id_token_signing_alg_values_supported": `["RS256"]`, "request_parameter_supported": "false",
			"request_uri_parameter_supported": "false", "claims_parameter_supported": "false",
			"code_challenge_methods_supported": `["S256"]`, "issuer": `"` + p.URL + `"`,
			"response_modes_supported":                       `["form_post","query"]`,
			"authorization_response_iss_parameter_supported": "true",
			"authorization_endpoint":                         `"` + p.URL + `/oauth/v2/authorize"`,
		} {
			p.offers(member, want)
		}
		document := p.discovered()
		for member, value := range map[string]string{
			"scopes_supported": "openid", "claims_supported": "sub", "ui_locales_supported": "de",
			"grant_types_supported":                 "authorization_code",
			"token_endpoint_auth_methods_supported": "client_secret_basic",
		} {
			if list, _ := document[member].([]any); !slices.Contains(list, any(value)) {
				p.Errorf("%s has no %s: %v", member, value, list)
			}
		}
		for member, value := range document {
			if address, ok := value.(string); ok && !strings.HasPrefix(address, p.URL) {
				p.Errorf("%s is %s", member, address)
			}
			if u, _ := value.(string); strings.HasSuffix(member, "_endpoint") || member == "jwks_uri" {
				if parsed, err := url.Parse(u); err != nil || parsed.Path == "" || parsed.RawQuery != "" {
					p.Errorf("%s is %v", member, value)
				}
			}
		}
		if document["check_session_iframe"] != nil || document["frontchannel_logout_supported"] != nil {
			p.Errorf("%v", document)
		}
		p.keysArePublic(document["jwks_uri"].(string))
	},
}

func TestOpenIDLogoutAndConfigPlans(t *testing.T) {
	t.Parallel()
	w := start(t, nearby)
	w.ada()
	for plan, modules := range map[string]map[string]func(p *party){
		"oidcc-config-certification-test-plan":                          config,
		"oidcc-rp-initiated-logout-certification-test-plan":             rpInitiated,
		"oidcc-backchannel-rp-initiated-logout-certification-test-plan": backChannel,
	} {
		for name, module := range modules {
			t.Run(plan+"/"+name, func(t *testing.T) {
				t.Parallel()
				module(world{w.Instance, t}.party(t.Name(), "", hears))
			})
		}
	}
}

// leave sends the person to log out, with the id token, and returns where that leads.
func (p *party) leave(a answer, more ...string) page {
	p.TB.Helper()
	return p.browser.visit(p.end(append([]string{"id_token_hint", a.text("id_token")}, more...)...))
}

// gone fails the test unless the person is logged out, so that a silent request gets an error.
func (p *party) gone() {
	p.TB.Helper()
	if got := p.again(false, "prompt", "none"); got.Get("error") != "login_required" {
		p.Errorf("after the logout the application gets %v", got)
	}
}

// stays fails the test unless a page is an error for the person, who is still logged in and stays at Herald.
func (p *party) stays(at page) {
	p.TB.Helper()
	p.browser.named(at, cannotLogout)
	if at.Status != http.StatusBadRequest || !strings.HasPrefix(at.address.String(), p.URL+"/") {
		p.Errorf("%d %s", at.Status, at.address)
	}
	p.good(p.again(false, "prompt", "none"))
}

// agree fails the test unless a page asks the person, who is logged in until they agree.
func (p *party) agree(at page, then string) {
	p.TB.Helper()
	p.browser.named(at, asksPeople)
	p.good(p.again(false, "prompt", "none"))
	p.browser.named(p.browser.submit(at), then)
	p.gone()
}

// forged returns an id token with claims that somebody else has signed.
func (p *party) forged(claims map[string]any) string {
	p.TB.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key},
		(&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", "other"))
	if err != nil {
		p.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		p.Fatal(err)
	}
	return text
}

// keysArePublic fails the test unless the keys at an address are public ones with ids of their own.
func (p *party) keysArePublic(address string) {
	p.TB.Helper()
	if _, err := oidc.NewProvider(p.Context(), p.URL); err != nil {
		p.Error(err)
	}
	keys, _ := p.world.ask(http.MethodGet, strings.TrimPrefix(address, p.URL), "").Body["keys"].([]any)
	seen := map[any]bool{}
	for _, k := range keys {
		key := k.(map[string]any)
		if key["kid"] == "" || seen[key["kid"]] || key["d"] != nil || key["k"] != nil || key["kty"] == "oct" ||
			key["use"] != "sig" {
			p.Errorf("a key is %v", key)
		}
		seen[key["kid"]] = true
	}
	if len(keys) < 2 {
		p.Errorf("the keys are %v", keys)
	}
}
