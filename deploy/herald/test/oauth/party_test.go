package oauth_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// party is a relying party of the OpenID Foundation's conformance suite: a confidential application, with a person at a
// browser.
type party struct {
	*application
	browser *visitor
	// mode is the response mode of its requests, method how it authenticates.
	mode, method string
}

// party registers an application with more settings. Its person is Ada, who has not logged in.
func (w world) party(name, mode string, more ...string) *party {
	w.TB.Helper()
	a := w.register(name, append(more,
		`,"grantTypes":["OIDC_GRANT_TYPE_AUTHORIZATION_CODE","OIDC_GRANT_TYPE_REFRESH_TOKEN"]`)...)
	return &party{a, w.visitor(), mode, "client_secret_basic"}
}

// asks returns the address of a request. An empty value leaves a parameter out.
func (p *party) asks(more ...string) string {
	return p.request(append([]string{"nonce", "no", "response_mode", p.mode, "code_challenge", "",
		"code_challenge_method", ""}, more...)...)
}

// ask sends the person to Herald, who logs in if they have to, and returns what the application gets.
func (p *party) ask(more ...string) url.Values {
	p.TB.Helper()
	at := p.browser.visit(p.asks(more...))
	if at.heading() == "Sign in" {
		at = p.browser.enter(at, "ada")
	}
	return p.arrive(at)
}

// again sends a person to Herald who has logged in, and has to do so again if that is wanted.
func (p *party) again(wanted bool, more ...string) url.Values {
	p.TB.Helper()
	at := p.browser.visit(p.asks(more...))
	if asked := at.heading() == "Sign in"; asked != wanted {
		p.Errorf("the person has to log in: %t, want %t", asked, wanted)
	}
	if wanted {
		at = p.browser.enter(at, "ada")
	}
	return p.arrive(at)
}

// arrive returns what the application gets when the person has come as far as a page.
func (p *party) arrive(at page) url.Values {
	p.TB.Helper()
	if p.mode == "form_post" {
		if to := at.root.Find("form").Attr("action"); to != p.redirectURI {
			p.Fatalf("there is no form for the application at %s: %s", at.address, at.heading())
		}
		at = p.browser.submit(at)
	}
	p.browser.named(at, "Welcome")
	got := <-p.answers
	if got.Get("iss") != p.URL || got.Get("state") != "s" {
		p.Errorf("the application got %v", got)
	}
	return got
}

// good redeems a code for tokens.
func (p *party) good(got url.Values, more ...string) answer {
	p.TB.Helper()
	a := p.redeemed(got.Get("code"), more...)
	if a.Status != http.StatusOK || a.text("token_type") != "Bearer" || a.Body["expires_in"] != 3600.0 ||
		a.Header.Get("Cache-Control") != "no-store" || a.text("access_token") == "" || a.text("id_token") == "" {
		p.Fatalf("%v: %d %v", got, a.Status, a.Body)
	}
	return a
}

// redeemed returns the answer to a code.
func (p *party) redeemed(code string, more ...string) answer {
	p.TB.Helper()
	return p.grant(append([]string{"grant_type", "authorization_code", "code", code, "redirect_uri", p.redirectURI},
		more...)...)
}

// grant asks the token endpoint.
func (p *party) grant(form ...string) answer {
	p.TB.Helper()
	if p.method == "client_secret_post" {
		return p.post("/oauth/v2/token", "", append(form, "client_id", p.clientID, "client_secret", p.secret)...)
	}
	return p.post("/oauth/v2/token", p.clientID+":"+p.secret, form...)
}

// loggedIn returns the tokens of a login.
func (p *party) loggedIn(more ...string) answer {
	p.TB.Helper()
	return p.good(p.ask(more...))
}

// checked returns the claims of an id token that an independent client has verified, and that fit the request.
func (p *party) checked(a answer) map[string]any {
	p.TB.Helper()
	c := p.claimsOf(a)
	if c["sub"] != "ada" || c["azp"] != p.clientID || c["at_hash"] == "" || c["auth_time"] == nil || c["sid"] == "" {
		p.Errorf("the id token says %v", c)
	}
	return c
}

// info returns the claims at userinfo, which must be Ada's.
func (p *party) info(a answer) map[string]any {
	p.TB.Helper()
	return p.own(p.get("/oidc/v1/userinfo", a.text("access_token")))
}

func (p *party) own(a answer) map[string]any {
	p.TB.Helper()
	if a.Status != http.StatusOK || a.text("sub") != "ada" ||
		!strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		p.Errorf("userinfo answers %d %v", a.Status, a.Body)
	}
	return a.Body
}

// has fails the test unless exactly these of the claims that scopes ask for are there.
func (p *party) has(claims map[string]any, names ...string) {
	p.TB.Helper()
	for _, name := range []string{"name", "given_name", "family_name", "preferred_username", "email", "email_verified",
		"phone_number", "phone_number_verified", "address"} {
		if _, there := claims[name]; there != slices.Contains(names, name) {
			p.Errorf("the claim %s is there: %t, in %v", name, there, claims)
		}
	}
}
