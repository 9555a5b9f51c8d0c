package authorize_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/oauth/authorize"
	"herald/services/auth/internal/oauth/userinfo"
)

// modules are those of the OpenID Foundation's conformance suite, plan oidcc-basic-certification-test-plan, by their
// names there. The login pages are not part of them: the person is logged in already, or logs in again at once. The
// test of the same plan in deploy/herald/test/oauth goes through the pages.
var modules = map[string]func(*world){
	"oidcc-server": func(w *world) {
		a := w.loggedIn()
		c := w.claims(a.text("id_token"))
		if c["iss"] != issuer || c["nonce"] != "no" || w.userinfo(a.text("access_token")).text("sub") != c["sub"] {
			w.Errorf("%v", c)
		}
	},
	"oidcc-response-type-missing": func(w *world) {
		got := w.back(w.ask("response_type", ""))
		if got.Get("error") != "invalid_request" || got.Get("state") != "st" {
			w.Errorf("%v", got)
		}
	},
	"oidcc-userinfo-get": func(w *world) {
		if got := w.userinfo(w.loggedIn().text("access_token")); got.Status != 200 || got.text("sub") != "ada" {
			w.Errorf("%v", got)
		}
	},
	"oidcc-userinfo-post-header": func(w *world) {
		r := httptest.NewRequest("POST", userinfo.Path, nil)
		r.Header.Set("Authorization", "Bearer "+w.loggedIn().text("access_token"))
		if got := w.send(r); got.Status != 200 || got.text("sub") != "ada" {
			w.Errorf("%v", got)
		}
	},
	"oidcc-userinfo-post-body": func(w *world) {
		form := url.Values{"access_token": {w.loggedIn().text("access_token")}}
		r := httptest.NewRequest("POST", userinfo.Path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if got := w.send(r); got.Status != 200 || got.text("sub") != "ada" {
			w.Errorf("%v", got)
		}
	},
	"oidcc-ensure-request-without-nonce-succeeds-for-code-flow": func(w *world) {
		if c := w.claims(w.loggedIn("nonce", "").text("id_token")); c["nonce"] != nil {
			w.Errorf("%v", c)
		}
	},
	"oidcc-scope-profile": scoped("openid profile", "name", "given_name", "family_name", "preferred_username"),
	"oidcc-scope-email":   scoped("openid email", "email", "email_verified"),
	"oidcc-scope-phone":   scoped("openid phone", "phone_number", "phone_number_verified"),
	"oidcc-scope-all":     scoped("openid profile email address phone", "name", "email", "phone_number"),
	// There are no addresses: the scope is left out of what is granted.
	"oidcc-scope-address":                                  scoped("openid address", "sub"),
	"oidcc-ensure-other-scope-order-succeeds":              scoped("email openid", "email"),
	"oidcc-display-page":                                   still("display", "page"),
	"oidcc-display-popup":                                  still("display", "popup"),
	"oidcc-ui-locales":                                     still("ui_locales", "se"),
	"oidcc-claims-locales":                                 still("claims_locales", "se"),
	"oidcc-login-hint":                                     still("login_hint", "ada@example.com"),
	"oidcc-max-age-10000":                                  still("max_age", "10000"),
	"oidcc-claims-essential":                               still("claims", `{"userinfo":{"name":{"essential":true}}}`),
	"oidcc-ensure-request-with-acr-values-succeeds":        still("acr_values", "1 2"),
	"oidcc-ensure-request-with-unknown-parameter-succeeds": still("extra", "foobar"),
	"oidcc-ensure-request-with-valid-pkce-succeeds":        still("code_challenge_method", "S256"),
	"oidcc-prompt-none-not-logged-in": func(w *world) {
		w.logout()
		if got := w.back(w.ask("prompt", "none")); got.Get("error") != "login_required" {
			w.Errorf("%v", got)
		}
	},
	"oidcc-prompt-none-logged-in": func(w *world) {
		first := w.claims(w.loggedIn().text("id_token"))
		second := w.claims(w.loggedIn("prompt", "none").text("id_token"))
		if first["sub"] != second["sub"] || first["auth_time"] != second["auth_time"] {
			w.Errorf("%v, then %v", first, second)
		}
	},
	"oidcc-max-age-1":    again("max_age", "1"),
	"oidcc-prompt-login": again("prompt", "login"),
	"oidcc-id-token-hint": func(w *world) {
		hint := w.loggedIn().text("id_token")
		if c := w.claims(w.loggedIn("prompt", "none", "id_token_hint", hint).text("id_token")); c["sub"] != "ada" {
			w.Errorf("%v", c)
		}
	},
	"oidcc-codereuse": func(w *world) {
		code := w.code()
		w.good(w.redeem(code))
		w.refused(w.redeem(code), 400, "invalid_grant")
	},
	"oidcc-codereuse-30seconds": func(w *world) {
		code := w.code()
		a := w.redeem(code)
		w.good(a)
		w.pass(30 * time.Second)
		w.refused(w.redeem(code), 400, "invalid_grant")
		w.dead(a)
	},
	"oidcc-ensure-registered-redirect-uri": func(w *world) {
		if got := w.ask("redirect_uri", callback+"/other"); got.Code != 400 || got.Header().Get("Location") != "" {
			w.Errorf("%d %v", got.Code, got.Header())
		}
	},
	"oidcc-ensure-post-request-succeeds": func(w *world) {
		to := w.visit("POST", authorize.Path, query(), "Sec-Fetch-Site", "cross-site").Header().Get("Location")
		w.good(w.redeem(w.back(w.visit("GET", to, nil)).Get("code")))
	},
	"oidcc-server-client-secret-post": func(w *world) {
		w.good(w.redeem(w.code("client_id", "post"), "client_id", "post", "client_secret", "secret"))
	},
	"oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported": func(w *world) {
		got := w.back(w.ask("request", "eyJhbGciOiJub25lIn0.eyJzY29wZSI6Im9wZW5pZCJ9."))
		if got.Get("error") != "request_not_supported" || got.Get("state") != "st" {
			w.Errorf("%v", got)
		}
	},
	"oidcc-ensure-request-object-with-redirect-uri": func(w *world) {
		got := w.back(w.ask("request", "eyJhbGciOiJub25lIn0.eyJyZWRpcmVjdF91cmkiOiJodHRwczovL2V2aWwuZXhhbXBsZSJ9."))
		if got.Get("error") != "request_not_supported" {
			w.Errorf("%v", got)
		}
	},
	"oidcc-refresh-token": func(w *world) {
		first := w.loggedIn()
		second := w.refresh(first.text("refresh_token"))
		w.good(second)
		a, b := w.claims(first.text("id_token")), w.claims(second.text("id_token"))
		if a["sub"] != b["sub"] || a["iss"] != b["iss"] || a["auth_time"] != b["auth_time"] || b["nonce"] != nil ||
			first.text("refresh_token") == second.text("refresh_token") {
			w.Errorf("%v, then %v", a, b)
		}
		w.refused(w.refresh(second.text("refresh_token"), "client_id", "other"), 400, "invalid_grant")
	},
}

// scoped returns a module that asks for scopes and finds claims at userinfo.
func scoped(scopes string, claims ...string) func(*world) {
	return func(w *world) {
		w.Helper()
		got := w.userinfo(w.loggedIn("scope", scopes).text("access_token"))
		for _, name := range claims {
			if got.Body[name] == nil {
				w.Errorf("%s is not in %v", name, got.Body)
			}
		}
		for _, name := range []string{"email", "name", "phone_number"} {
			word, _, _ := strings.Cut(strings.Replace(name, "name", "profile", 1), "_")
			if got.Body[name] != nil && !strings.Contains(scopes, word) {
				w.Errorf("%s was not asked for", name)
			}
		}
	}
}

// still returns a module for a parameter with which a login succeeds as without it.
func still(name, value string) func(*world) {
	return func(w *world) {
		w.Helper()
		if c := w.claims(w.loggedIn(name, value).text("id_token")); c["sub"] != "ada" || c["nonce"] != "no" {
			w.Errorf("%v", c)
		}
	}
}

// again returns a module for a parameter with which a person who is logged in logs in again.
func again(name, value string) func(*world) {
	return func(w *world) {
		w.Helper()
		first := w.claims(w.loggedIn().text("id_token"))
		w.pass(2 * time.Second)
		id := w.waiting(w.ask(name, value))
		w.login()
		done := w.back(w.finish(id))
		a := w.redeem(done.Get("code"))
		w.good(a)
		second := w.claims(a.text("id_token"))
		if second["sub"] != first["sub"] || second["auth_time"] != first["auth_time"].(float64)+2 {
			w.Errorf("%v, then %v", first, second)
		}
	}
}

func TestOpenIDBasicPlan(t *testing.T) {
	t.Parallel()
	for name, module := range modules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module(newWorld(t))
		})
	}
}
