package oauth_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// shop is a project whose API checks tokens, and a machine user with a role on it.
type shop struct {
	world
	// name is that of the machine user and of the organization, home.
	name    string
	home    string
	project string
	// api and stranger authenticate applications, the second one of another project, as "id:secret".
	api, stranger string
	apiID         string
	user, secret  string
	key           key
	// own is an application of ownProject that logs in by itself.
	own, ownApp, ownProject string
	// grantID is the grant of project to another organization.
	grantID string
}

const (
	introspection = "/oauth/v2/introspect"
	revocation    = "/oauth/v2/revoke"
	userinfo      = "/oidc/v1/userinfo"
	roles         = "urn:service:iam:org:project:roles"
	resourceOwner = "urn:service:iam:user:resourceowner"
)

// Applications check tokens. Each test has an organization of its own.
func TestShops(t *testing.T) {
	t.Parallel()
	w := start(t)
	for name, test := range map[string]func(shop){
		"introspection": shop.introspection, "JSON web tokens": shop.jsonWebTokens,
		"refused introspections and revocations": shop.introspectionAndRevocationRefuse,
		"userinfo":                               shop.userinfoAnswers, "namesakes": shop.namesakes,
		"application of another organization": shop.applicationOfAnotherOrganization,
		"changes are shown at once":           shop.checksShowChangesAtOnce,
		"replaced secrets":                    shop.replacedSecretsMayNotIntrospect,
		"deactivation ends tokens":            shop.deactivationEndsTokens,
		"inactive clients":                    shop.inactiveClientsMayNotIntrospect,
		"tokens are not malleable":            shop.tokensAreNotMalleable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(w.of(t).shop(name))
		})
	}
}

func (w world) shop(name string) shop {
	w.TB.Helper()
	s := shop{world: w, name: name}
	s.Org = s.Must("POST", "/management/v1/orgs", `{"name":"`+name+`"}`)["id"].(string)
	s.home = s.Org
	s.project = s.newProject("Shop", "")
	s.api, s.apiID = s.apiOf(s.project)
	s.stranger, _ = s.apiOf(s.newProject("Other", ""))
	s.user = s.machine(name)
	s.secret = s.secretOf(s.user)
	s.Must("POST", "/management/v1/projects/"+s.project+"/roles", `{"key":"clerk","displayName":"Clerk"}`)
	s.Must("POST", "/management/v1/users/"+s.user+"/grants", `{"projectId":"`+s.project+`","roleKeys":["clerk"]}`)
	return s
}

func (w world) newProject(name, more string) string {
	w.TB.Helper()
	return w.Must("POST", "/management/v1/projects", `{"name":"`+name+`"`+more+`}`)["id"].(string)
}

// apiOf makes an application that checks tokens and returns how it authenticates, and its id.
func (w world) apiOf(project string) (basic, id string) {
	w.TB.Helper()
	made := w.Must("POST", "/management/v1/projects/"+project+"/apps/api", `{"name":"API"}`)
	return made["clientId"].(string) + ":" + made["clientSecret"].(string), made["appId"].(string)
}

// scope returns scopes with the project in the audience.
func (s shop) scope(more ...string) string {
	all := append([]string{"openid", "urn:service:iam:org:project:id:" + s.project + ":aud"}, more...)
	return strings.Join(all, " ")
}

// login returns a token of the machine user.
func (s shop) login(more ...string) string {
	s.TB.Helper()
	return s.token(s.secret, "grant_type", "client_credentials", "scope", s.scope(more...)).text("access_token")
}

func (w world) introspect(basic, token string) answer {
	w.TB.Helper()
	return w.post(introspection, basic, "token", token)
}

// inactive fails the test unless a client learns of a token only that it is not active.
func (w world) inactive(what, basic, token string) {
	w.TB.Helper()
	if a := w.introspect(basic, token); a.Status != http.StatusOK || len(a.Body) != 1 || a.Body["active"] != false ||
		a.Header.Get("Cache-Control") != "no-store" {
		w.Errorf("%s: %d %v", what, a.Status, a.Body)
	}
}

// userinfo asks with a token in the header.
func (w world) userinfo(token string) answer {
	w.TB.Helper()
	return w.get(userinfo, token)
}

// ask sends a request with a body and headers.
func (w world) ask(method, path, body string, header ...string) answer {
	w.TB.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return w.send(r)
}

// An API gets the claims of a token at introspection. Other clients learn only that it is not active (RFC 7662 section
// 2.2).
func (s shop) introspection() {
	token := s.login("profile", resourceOwner, "urn:service:iam:org:project:role:clerk")
	got := s.introspect(s.api, token)
	for name, want := range map[string]any{
		"active": true, "sub": s.user, "client_id": s.user, "username": s.name, "iss": s.URL, "token_type": "Bearer",
		"scope": s.scope("profile", resourceOwner, "urn:service:iam:org:project:role:clerk"),
	} {
		if got.Body[name] != want {
			s.Errorf("%s is %v, want %v", name, got.Body[name], want)
		}
	}
	if got.Body["exp"].(float64)-got.Body["iat"].(float64) != 3600 || got.Body["jti"] != nil {
		s.Errorf("%v", got.Body)
	}
	audience, _ := got.Body["aud"].([]any)
	if !slices.Equal(audience, []any{s.user, s.project}) {
		s.Errorf("the audience is %v", audience)
	}
	org := got.text(resourceOwner + ":id")
	if role, _ := got.Body[roles].(map[string]any)["clerk"].(map[string]any); org == "" || len(role) != 1 ||
		role[org] == "" || role[org] != got.Body[resourceOwner+":primary_domain"] {
		s.Errorf("%v", got.Body)
	}
	if own := s.introspect(s.secret, token); own.Body["active"] != true {
		s.Errorf("the machine's own token: %v", own.Body)
	}
	s.inactive("not in the audience", s.stranger, token)
	without := s.introspect(s.api, s.login())
	if without.Body["active"] != true || without.Body[roles] != nil || without.Body[resourceOwner+":id"] != nil {
		s.Errorf("without scopes: %v", without.Body)
	}
	s.Must("PUT", "/management/v1/projects/"+s.project, `{"name":"Shop","projectRoleAssertion":true}`)
	if asserted := s.introspect(s.api, s.login()); asserted.Body[roles] == nil {
		s.Errorf("asserted roles: %v", asserted.Body)
	}
}

// A JSON Web Token is introspected and revoked like any other.
func (s shop) jsonWebTokens() {
	s.user = s.machine("robot of "+s.name, `,"accessTokenType":"OIDC_TOKEN_TYPE_JWT"`)
	s.secret = s.secretOf(s.user)
	token, other := s.login(), s.login()
	if strings.Count(token, ".") != 2 {
		s.Fatalf("not a JWT: %s", token)
	}
	got := s.introspect(s.api, token)
	if got.Body["active"] != true || got.text("jti") == "" || got.text("sub") != s.user ||
		got.text("username") != "robot of "+s.name {
		s.Errorf("%v", got.Body)
	}
	if info := s.userinfo(token); info.Status != http.StatusOK || info.text("sub") != s.user {
		s.Errorf("%d %v", info.Status, info.Body)
	}
	if status, me := s.me(token); status != http.StatusOK || me != s.user {
		s.Errorf("%d %s", status, me)
	}
	for range 2 { // a second time changes nothing
		if a := s.post(revocation, s.secret, "token", token); a.Status != http.StatusOK {
			s.Errorf("%d %v", a.Status, a.Body)
		}
	}
	s.dead("revoked", token)
	if s.introspect(s.api, other).Body["active"] != true {
		s.Error("another token of the same user has ended too")
	}
}

// dead fails the test unless a token of the shop is refused everywhere.
func (s shop) dead(what, token string) {
	s.TB.Helper()
	s.inactive(what, s.api, token)
	s.unknown(what, token)
	if status, _ := s.me(token); status != http.StatusUnauthorized {
		s.Errorf("%s: the API answers %d", what, status)
	}
}

// unknown fails the test unless userinfo refuses a token.
func (w world) unknown(what, token string) {
	w.TB.Helper()
	a := w.userinfo(token)
	if a.Status != http.StatusUnauthorized || a.text("error") != "invalid_token" ||
		!strings.HasPrefix(a.Header.Get("WWW-Authenticate"), `Bearer realm="herald", error="invalid_token"`) {
		w.Errorf("%s: %d %v %v", what, a.Status, a.Header, a.Body)
	}
}

// The refusals of RFC 7662 sections 2.1 and 2.3 and of RFC 7009 sections 2.1 and 2.2.
func (s shop) introspectionAndRevocationRefuse() {
	token := s.login()
	public := s.Must("POST", "/management/v1/projects/"+s.project+"/apps/oidc",
		`{"name":"App","redirectUris":["https://x.example/"],"authMethodType":"OIDC_AUTH_METHOD_TYPE_NONE"}`)
	id, _, _ := strings.Cut(s.api, ":")
	for _, path := range []string{introspection, revocation} {
		for _, c := range []struct {
			name, basic string
			form        []string
			status      int
			code        string
		}{
			{"no token", s.api, nil, 400, "invalid_request"},
			{"empty token", s.api, []string{"token", ""}, 400, "invalid_request"},
			{"token twice", s.api, []string{"token", token, "token", token}, 400, "invalid_request"},
			{"no client", "", []string{"token", token}, 401, "invalid_client"},
			{"only a client id", "", []string{"token", token, "client_id", id}, 401, "invalid_client"},
			{"unknown client", "nobody:x", []string{"token", token}, 401, "invalid_client"},
			{"wrong secret", id + ":x", []string{"token", token}, 401, "invalid_client"},
			{"two clients", s.api, []string{"token", token, "client_id", "x"}, 400, "invalid_request"},
			{"the token's client without a secret", "", []string{"token", token, "client_id", s.user}, 401,
				"invalid_client"},
		} {
			a := s.post(path, c.basic, c.form...)
			s.is(path+": "+c.name, a, c.status, c.code)
			if challenged := a.Header.Get("WWW-Authenticate") != ""; challenged != (c.status == 401 && c.basic != "") {
				s.Errorf("%s: %s: challenged: %v", path, c.name, challenged)
			}
		}
		get := s.ask("GET", path, "")
		if get.Header.Get("Allow") != "POST" {
			s.Errorf("Allow: %s", get.Header.Get("Allow"))
		}
		s.is("GET", get, 405, "invalid_request")
		s.is("JSON", s.ask("POST", path, `{"token":"x"}`, "Content-Type", "application/json"), 400, "invalid_request")
	}
	s.is("a public client", s.post(introspection, "", "token", token, "client_id", public["clientId"].(string)),
		401, "invalid_client")
	s.is("somebody else's token", s.post(revocation, s.stranger, "token", token), 400, "invalid_grant")
	s.is("a public client", s.post(revocation, "", "token", token, "client_id", public["clientId"].(string)),
		400, "invalid_grant")
	s.is("a personal access token", s.post(revocation, s.api, "token", s.Token), 400, "unsupported_token_type")
	if s.introspect(s.api, token).Body["active"] != true {
		s.Error("a refused revocation has ended the token")
	}
	for name, form := range map[string][]string{
		"unknown":       {"token", "x"},
		"wrong hint":    {"token", token, "token_type_hint", "refresh_token"},
		"ended":         {"token", token},
		"unknown hint":  {"token", "x", "token_type_hint", "x"},
		"a foreign JWT": {"token", "eyJhbGciOiJub25lIn0.e30."},
		"too long":      {"token", strings.Repeat("x", 9000)},
	} {
		if a := s.post(revocation, s.secret, form...); a.Status != http.StatusOK || len(a.Body) != 0 ||
			a.Header.Get("Cache-Control") != "no-store" {
			s.Errorf("%s: %d %v", name, a.Status, a.Body)
		}
	}
	s.dead("revoked", token)
}

// is fails the test unless an answer is an error that nobody may keep.
func (w world) is(what string, a answer, status int, code string) {
	w.TB.Helper()
	if a.Status != status || a.text("error") != code || a.Header.Get("Cache-Control") != "no-store" {
		w.Errorf("%s: %d %v, want %d %s", what, a.Status, a.Body, status, code)
	}
}

// Userinfo returns the claims of each scope, and refuses other requests (RFC 6750 sections 2 and 3.1).
func (s shop) userinfoAnswers() {
	all := s.login("profile", "email", "phone", resourceOwner)
	for name, a := range map[string]answer{
		"GET":            s.userinfo(all),
		"POST":           s.ask("POST", userinfo, "", "Authorization", "Bearer "+all),
		"lower case":     s.ask("GET", userinfo, "", "Authorization", "bearer "+all),
		"in the form":    s.post(userinfo, "", "access_token", all),
		"an empty form":  s.ask("POST", userinfo, "", "Authorization", "Bearer "+all, "Content-Type", formType),
		"more than that": s.post(userinfo, "", "access_token", all, "a", "b"),
	} {
		names := slices.Sorted(maps.Keys(a.Body))
		want := []string{"name", "preferred_username", "sub", "updated_at", resourceOwner + ":id",
			resourceOwner + ":name", resourceOwner + ":primary_domain"}
		if a.Status != http.StatusOK || a.text("sub") != s.user || a.text("name") != s.name ||
			!slices.Equal(names, want) {
			s.Errorf("%s: %d %v", name, a.Status, a.Body)
		}
	}
	for name, token := range map[string]string{"openid alone": s.login(), "personal access token": s.pat()} {
		if a := s.userinfo(token); a.Status != http.StatusOK || len(a.Body) != 1 || a.text("sub") != s.user {
			s.Errorf("%s: %d %v", name, a.Status, a.Body)
		}
	}
	poor := s.token(s.secret, "grant_type", "client_credentials", "scope", "profile").text("access_token")
	application := s.token(s.api, "grant_type", "client_credentials", "scope", "openid").text("access_token")
	s.is("without openid", s.userinfo(poor), 403, "insufficient_scope")
	if header := s.userinfo(poor).Header.Get("WWW-Authenticate"); !strings.Contains(header, `scope="openid"`) {
		s.Error(header)
	}
	s.unknown("of an application", application)
	s.is("twice", s.post(userinfo, "", "access_token", all, "access_token", all), 400, "invalid_request")
	s.is("in header and form", s.ask("POST", userinfo, "access_token="+all, "Authorization", "Bearer "+all,
		"Content-Type", formType), 400, "invalid_request")
	s.is("no token after Bearer", s.ask("GET", userinfo, "", "Authorization", "Bearer "), 400, "invalid_request")
	for name, a := range map[string]answer{
		"no token":        s.ask("GET", userinfo, ""),
		"in the URI":      s.ask("GET", userinfo+"?access_token="+all, ""),
		"another scheme":  s.ask("GET", userinfo, "", "Authorization", "Basic "+all),
		"JSON":            s.ask("POST", userinfo, `{"access_token":"`+all+`"}`, "Content-Type", "application/json"),
		"in a GET's body": s.ask("GET", userinfo, "access_token="+all, "Content-Type", formType),
	} {
		if a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") != `Bearer realm="herald"` {
			s.Errorf("%s: %d %v", name, a.Status, a.Header)
		}
	}
	s.is("PUT", s.ask("PUT", userinfo, ""), 405, "invalid_request")
}

const formType = "application/x-www-form-urlencoded"

// pat makes a personal access token of the machine user.
func (s shop) pat() string {
	s.TB.Helper()
	return s.Must("POST", "/management/v1/users/"+s.user+"/pats", "{}")["token"].(string)
}
