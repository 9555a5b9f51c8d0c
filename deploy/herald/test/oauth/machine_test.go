package oauth_test

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"herald/deploy/herald/test/whole"
)

// Machine users and applications log in with secrets and keys.
func TestMachines(t *testing.T) {
	t.Parallel()
	w := start(t)
	for name, test := range map[string]func(world){
		"login": world.machinesLogIn, "requests that are refused": world.tokenEndpointRefuses,
		"assertions that are refused": world.assertionsAreRefused, "assertions work once": world.assertionsWorkOnce,
		"scope of an assertion": world.scopeOfAssertion, "memberships end": world.membershipsEnd,
		"keys are of their owner": world.keysAreOfTheirOwner,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(w.of(t))
		})
	}
}

// Machine users log in by a secret or a key file, and applications that check tokens by their secret or key.
func (w world) machinesLogIn() {
	id := w.machine("ci")
	secret, file := w.secretOf(id), w.keyOf(id)
	clientID, clientSecret, _ := strings.Cut(secret, ":")
	project := w.Must("POST", "/management/v1/projects", `{"name":"Shop"}`)["id"].(string)
	apps := "/management/v1/projects/" + project + "/apps"
	api := w.Must("POST", apps+"/api", `{"name":"API"}`)
	keyed := w.Must("POST", apps+"/api", `{"name":"Keyed","authMethodType":"API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT"}`)
	appID := keyed["appId"].(string)
	appKey := w.keyAt(apps + "/" + appID + "/keys")
	for name, form := range map[string][]string{
		"secret in the header": {secret, "grant_type", "client_credentials"},
		"secret in the body": {"", "grant_type", "client_credentials", "client_id", clientID,
			"client_secret", clientSecret},
		"key file": {"", "grant_type", bearer, "assertion", w.sign(file, w.claims(id, nil))},
		"key file, token endpoint as audience": {"", "grant_type", bearer, "assertion",
			w.sign(file, w.claims(id, map[string]any{"aud": []string{w.URL + "/oauth/v2/token", "other"}}))},
		"application by secret": {api["clientId"].(string) + ":" + api["clientSecret"].(string),
			"grant_type", "client_credentials"},
		"application by key": {"", "grant_type", "client_credentials", "client_assertion_type", assertionType,
			"client_assertion", w.sign(appKey, w.claims(appID, nil))},
	} {
		got := w.token(form[0], append(form[1:], "scope", apiScope+" offline_access unknown")...)
		if got.text("scope") != apiScope || got.Body["expires_in"] != 3600.0 || len(got.Body) != 4 {
			w.Errorf("%s: %v", name, got.Body)
		}
		// A user is a caller of the API; an application that logged in by itself is nobody.
		status, me := w.me(got.text("access_token"))
		if app := strings.HasPrefix(name, "application"); app && status != 401 || !app && (status != 200 || me != id) {
			w.Errorf("%s: %d, %q", name, status, me)
		}
	}
}

// Requests of machines that violate RFC 6749 sections 2.3, 3.2, 4.4 and 5.2 are refused.
func (w world) tokenEndpointRefuses() {
	id := w.machine("refused")
	secret := w.secretOf(id)
	clientID, clientSecret, _ := strings.Cut(secret, ":")
	project := w.Must("POST", "/management/v1/projects", `{"name":"Refused"}`)["id"].(string)
	web := w.Must("POST", "/management/v1/projects/"+project+"/apps/oidc",
		`{"name":"Web","redirectUris":["https://shop.example/callback"]}`)
	webBasic := web["clientId"].(string) + ":" + web["clientSecret"].(string)
	credentials := []string{"grant_type", "client_credentials"}
	for _, c := range []struct {
		name   string
		basic  string
		form   []string
		status int
		code   string
	}{
		{"no grant_type", secret, nil, 400, "invalid_request"},
		{"empty grant_type", secret, []string{"grant_type", ""}, 400, "invalid_request"},
		{"unknown grant_type", secret, []string{"grant_type", "password"}, 400, "unsupported_grant_type"},
		{"implicit", secret, []string{"grant_type", "implicit"}, 400, "unsupported_grant_type"},
		{"grant_type twice", secret, slices.Concat(credentials, credentials), 400, "invalid_request"},
		{"scope twice", secret, append([]string{"scope", "openid", "scope", "email"}, credentials...), 400,
			"invalid_request"},
		{"not UTF-8", secret, append([]string{"scope", "\xff"}, credentials...), 400, "invalid_request"},
		{"NUL", "", append([]string{"client_id", "a\x00"}, credentials...), 400, "invalid_request"},
		{"NUL in an unknown parameter", secret, append([]string{"a", "\x00"}, credentials...), 400, "invalid_request"},
		{"NUL in the header", "a\x00:" + clientSecret, credentials, 401, "invalid_client"},
		{"bad scope", secret, append([]string{"scope", "a\tb"}, credentials...), 400, "invalid_scope"},
		{"another organization", secret, append([]string{"scope", "urn:service:iam:org:id:other"}, credentials...), 400,
			"invalid_scope"},
		{"no client", "", credentials, 401, "invalid_client"},
		{"only a client id", "", append([]string{"client_id", clientID}, credentials...), 401, "invalid_client"},
		{"unknown client", "nobody:" + clientSecret, credentials, 401, "invalid_client"},
		{"wrong secret", clientID + ":wrong", credentials, 401, "invalid_client"},
		{"secret with more", secret + "x", credentials, 401, "invalid_client"},
		{"wrong secret in the body", "", append([]string{"client_id", clientID, "client_secret", "wrong"},
			credentials...), 401, "invalid_client"},
		{"two ways", secret, append([]string{"client_secret", clientSecret}, credentials...), 400, "invalid_request"},
		{"two clients", secret, append([]string{"client_id", "other"}, credentials...), 400, "invalid_request"},
		{"another assertion type", "", append([]string{"client_assertion", "x", "client_assertion_type", "saml"},
			credentials...), 400, "invalid_request"},
		{"no assertion", "", append([]string{"client_assertion_type", assertionType}, credentials...), 401,
			"invalid_client"},
		{"a web application", webBasic, credentials, 400, "unauthorized_client"},
		{"a web application in another way", "", append([]string{"client_id", web["clientId"].(string), "client_secret",
			web["clientSecret"].(string)}, credentials...), 400, "unauthorized_client"},
	} {
		a := w.post("/oauth/v2/token", c.basic, c.form...)
		if a.Status != c.status || a.text("error") != c.code || a.Header.Get("Cache-Control") != "no-store" ||
			strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Basic") != (a.Status == 401 && c.basic != "") {
			w.Errorf("%s: %d %v %v", c.name, a.Status, a.Body, a.Header)
		}
	}
	w.refuseRequests()
}

// refuseRequests sends requests that are no forms, or have another method.
func (w world) refuseRequests() {
	w.TB.Helper()
	for _, c := range []struct {
		name, method, query, kind, body string
		status                          int
	}{
		{"GET", "GET", "", "", "", 405},
		{"JSON", "POST", "", "application/json", `{"grant_type":"client_credentials"}`, 400},
		{"no type", "POST", "", "", "grant_type=client_credentials", 400},
		{"in the URI", "POST", "?grant_type=client_credentials", "application/x-www-form-urlencoded", "a=b", 400},
		{"broken escape", "POST", "", "application/x-www-form-urlencoded", "grant_type=%zz", 400},
		{"semicolons", "POST", "", "application/x-www-form-urlencoded", "grant_type=a;scope=b", 400},
		{"too large", "POST", "", "application/x-www-form-urlencoded", strings.Repeat("x", 70_000), 413},
	} {
		var header []string
		if c.kind != "" {
			header = []string{"Content-Type", c.kind}
		}
		a := w.ask(c.method, "/oauth/v2/token"+c.query, c.body, header...)
		if a.Status != c.status || a.text("error") != "invalid_request" ||
			c.status == 405 && a.Header.Get("Allow") != "POST" {
			w.Errorf("%s: %d %v", c.name, a.Status, a.Body)
		}
	}
}

// An assertion of a machine user that violates a rule of RFC 7523 section 3 is refused, and so are forged forms of
// JWTs.
func (w world) assertionsAreRefused() {
	id, other := w.machine("forger"), w.machine("other")
	file, foreign := w.keyOf(id), w.keyOf(other)
	person := w.Must("GET", "/auth/v1/users/me", "")["user"].(map[string]any)["id"].(string)
	now := time.Now()
	good := w.claims(id, nil)
	changed := func(changes map[string]any) string { return w.sign(file, w.claims(id, changes)) }
	another := file
	another.private = foreign.private
	unnamed := file
	unnamed.KeyID = ""
	nul := file
	nul.KeyID += "\x00"
	hmacKey := file
	hmacKey.private = jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat("k", 32))}
	parts := strings.Split(w.sign(file, good), ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"`+file.KeyID+`"}`)) + "." + parts[1] + "."
	for name, assertion := range map[string]string{
		"not a JWT": "x", "two parts": parts[0] + "." + parts[1], "empty signature": parts[0] + "." + parts[1] + ".",
		"none": none, "HS256": w.sign(hmacKey, good), "another's key": w.sign(another, good),
		"no kid": w.sign(unnamed, good), "another's kid": w.sign(foreign, good),
		"issuer of another": changed(map[string]any{"iss": other}), "no issuer": changed(map[string]any{"iss": nil}),
		"subject of another": changed(map[string]any{"sub": other}), "no subject": changed(map[string]any{"sub": nil}),
		"a person":         changed(map[string]any{"iss": person, "sub": person}),
		"nobody":           changed(map[string]any{"iss": "nobody", "sub": "nobody"}),
		"no audience":      changed(map[string]any{"aud": nil}),
		"another audience": changed(map[string]any{"aud": "https://other.example"}),
		"no expiry":        changed(map[string]any{"exp": nil}),
		"expired":          changed(map[string]any{"exp": now.Add(-time.Minute).Unix()}),
		"far expiry":       changed(map[string]any{"exp": now.Add(2 * time.Hour).Unix()}),
		"endless":          changed(map[string]any{"exp": 1e300}),
		"expiry is a text": changed(map[string]any{"exp": "soon"}),
		"no time of issue": changed(map[string]any{"iat": nil}),
		"issued long ago":  changed(map[string]any{"iat": now.Add(-2 * time.Hour).Unix()}),
		"issued later":     changed(map[string]any{"iat": now.Add(2 * time.Minute).Unix()}),
		"not valid yet":    changed(map[string]any{"nbf": now.Add(2 * time.Minute).Unix()}),
		"long":             changed(map[string]any{"more": strings.Repeat("x", 9000)}),
		"list of scopes":   changed(map[string]any{"scope": []string{"openid"}}),
		"NUL in kid":       w.sign(nul, good),
		"NUL in iss":       changed(map[string]any{"iss": id + "\x00"}),
		"NUL in sub":       changed(map[string]any{"sub": id + "\x00"}),
		"NUL in jti":       changed(map[string]any{"jti": "\x00"}),
		"line break":       changed(map[string]any{"jti": "a\n"}),
	} {
		a := w.post("/oauth/v2/token", "", "grant_type", bearer, "assertion", assertion)
		if a.Status != 400 || a.text("error") != "invalid_grant" {
			w.Errorf("%s: %d %v", name, a.Status, a.Body)
		}
	}
	w.refused(w.post("/oauth/v2/token", "", "grant_type", bearer), 400, "invalid_request")
	w.token("", "grant_type", bearer, "assertion", w.sign(file, good))
}

// An assertion with an id works once, also when it is sent many times at once. For an application its only audience is
// the issuer.
func (w world) assertionsWorkOnce() {
	id := w.machine("once")
	file := w.keyOf(id)
	project := w.Must("POST", "/management/v1/projects", `{"name":"Once"}`)["id"].(string)
	apps := "/management/v1/projects/" + project + "/apps"
	appID := w.Must("POST", apps+"/api",
		`{"name":"API","authMethodType":"API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT"}`)["appId"].(string)
	appKey := w.keyAt(apps + "/" + appID + "/keys")
	asApp := func(claims map[string]any) []string {
		return []string{"grant_type", "client_credentials", "client_assertion_type", assertionType, "client_assertion",
			w.sign(appKey, claims)}
	}
	for name, form := range map[string][]string{
		"a user's":         {"grant_type", bearer, "assertion", w.sign(file, w.claims(id, nil))},
		"an application's": asApp(w.claims(appID, nil)),
	} {
		var (
			wait sync.WaitGroup
			mu   sync.Mutex
			got  = map[int]int{}
		)
		for range 50 {
			wait.Go(func() {
				a := w.post("/oauth/v2/token", "", form...)
				mu.Lock()
				defer mu.Unlock()
				got[a.Status]++
			})
		}
		wait.Wait()
		if got[200] != 1 || got[400]+got[401] != 49 {
			w.Errorf("%s: %v", name, got)
		}
	}
	for name, audience := range map[string]any{
		"token endpoint": w.URL + "/oauth/v2/token", "two": []string{w.URL, "other"}, "none": nil,
	} {
		a := w.post("/oauth/v2/token", "", asApp(w.claims(appID, map[string]any{"aud": audience}))...)
		if a.Status != 401 || a.text("error") != "invalid_client" {
			w.Errorf("%s: %d %v", name, a.Status, a.Body)
		}
	}
	// Without an id it works until it expires.
	again := slices.Clone(asApp(w.claims(appID, map[string]any{"jti": nil})))
	for range 2 {
		w.token("", again...)
	}
}

// An assertion may contain the scope. The scope of the request has priority, and is checked by the same rules.
func (w world) scopeOfAssertion() {
	id := w.machine("scoped")
	file := w.keyOf(id)
	signed := func(scope string) []string {
		return []string{"grant_type", bearer, "assertion", w.sign(file, w.claims(id, map[string]any{"scope": scope}))}
	}
	for _, c := range []struct{ claim, parameter, want string }{
		{apiScope, "", apiScope}, {apiScope, "openid", "openid"}, {"openid unknown offline_access", "", "openid"},
		{"", apiScope, apiScope},
	} {
		form := signed(c.claim)
		if c.parameter != "" {
			form = append(form, "scope", c.parameter)
		}
		if got := w.token("", form...).text("scope"); got != c.want {
			w.Errorf("%+v: the token has the scope %q", c, got)
		}
	}
	w.refused(w.post("/oauth/v2/token", "", signed("urn:service:iam:org:id:other")...), 400, "invalid_scope")
	elsewhere := *w.Instance
	elsewhere.Org = w.Must("POST", "/management/v1/orgs", `{"name":"Elsewhere"}`)["id"].(string)
	foreign := world{&elsewhere, w.TB}.newProject("Foreign", "")
	w.refused(w.post("/oauth/v2/token", "", signed("urn:service:iam:org:project:id:"+foreign+":aud")...), 400,
		"invalid_scope")
	own := "urn:service:iam:org:project:id:" + w.newProject("Own of the scoped", "") + ":aud"
	if got := w.token("", signed(own)...).text("scope"); got != own {
		w.Errorf("the token for an own project has the scope %q", got)
	}
	w.refused(w.post("/oauth/v2/token", "", append(signed("openid"), "resource",
		"urn:service:iam:org:project:id:"+foreign)...), 400, "invalid_target")
	resource := strings.TrimSuffix(own, ":aud")
	if got := w.token("", append(signed("openid"), "resource", resource)...).text("scope"); got != "openid "+own {
		w.Errorf("the token for an own resource has the scope %q", got)
	}
	api := w.token("", append(signed("openid"), "resource", "urn:service:iam:org:project:id:service")...)
	if status, _ := w.me(api.text("access_token")); status != 200 || api.text("scope") != apiScope {
		w.Errorf("with a token for the API as resource it answers %d: %v", status, api.Body)
	}
}

// Both sides end a membership over REST too, by a path without the id of the membership.
func (w world) membershipsEnd() {
	member := w.machine("ends-memberships")
	as := *w.Instance
	as.Token = w.Must("POST", "/management/v1/users/"+member+"/pats", "{}")["token"].(string)
	for path, by := range map[string]*whole.Instance{
		"/auth/v1/memberships/me/_end": &as, "/management/v1/users/" + member + "/memberships/_end": w.Instance,
	} {
		w.Must("POST", "/management/v1/orgs/me/members", `{"userId":"`+member+`","roles":["ORG_OWNER_VIEWER"]}`)
		found := w.Must("POST", "/management/v1/users/"+member+"/memberships/_search", "{}")["result"].([]any)
		if len(found) != 1 {
			w.Fatalf("%v", found)
		}
		body := `{"membershipId":"` + found[0].(map[string]any)["id"].(string) + `"}`
		by.Must("POST", path, body)
		if status, got := by.Call("POST", path, body); status != http.StatusNotFound {
			w.Errorf("a membership that has ended: %d %v", status, got)
		}
	}
}

// The key file of an application cannot log in as a user, and the key file of a user cannot log in as an application.
func (w world) keysAreOfTheirOwner() {
	id := w.machine("keyed")
	project := w.Must("POST", "/management/v1/projects", `{"name":"Keyed"}`)["id"].(string)
	apps := "/management/v1/projects/" + project + "/apps"
	appID := w.Must("POST", apps+"/api",
		`{"name":"API","authMethodType":"API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT"}`)["appId"].(string)
	keys := map[string]key{id: w.keyOf(id), appID: w.keyAt(apps + "/" + appID + "/keys")}
	for owner, of := range maps.All(map[string]string{id: appID, appID: id}) {
		assertion := w.sign(keys[of], w.claims(owner, nil))
		w.refused(w.post("/oauth/v2/token", "", "grant_type", bearer, "assertion", assertion), 400, "invalid_grant")
		w.refused(w.post("/oauth/v2/token", "", "grant_type", "client_credentials", "client_assertion_type",
			assertionType, "client_assertion", assertion), 401, "invalid_client")
	}
}
