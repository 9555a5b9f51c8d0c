package oauth_test

import (
	"net/http"
	"strings"
	"unicode"

	"herald/shared/secret"
)

// ended is something that ends tokens.
type ended struct {
	name string
	// token logs in.
	token func(s shop) string
	// off ends what the token depends on, on brings it back as far as that can be.
	off, on func(s shop)
	// gone reports that nobody can log in afterwards.
	gone bool
}

// bySecret returns the login of the machine user by its secret.
func bySecret(s shop) string { return s.login() }

// byApplication returns the login of an application that the user's organization owns.
func byApplication(s shop) string {
	return s.token(s.own, "grant_type", "client_credentials", "scope", s.scope()).text("access_token")
}

// at returns a call on the path of the user's organization.
func at(method, path string) func(s shop) {
	return func(s shop) {
		s.TB.Helper()
		path := strings.NewReplacer("USER", s.user, "PROJECT", s.ownProject, "APP", s.ownApp, "KEY", s.key.KeyID).
			Replace(path)
		s.Must(method, "/management/v1"+path, map[bool]string{true: "", false: "{}"}[method == "DELETE"])
	}
}

func nothing(shop) {}

// endGrant and acceptGrant are what the user's organization says to the grant of the project that the token names.
func endGrant(s shop) { s.Must("POST", "/management/v1/granted_projects/"+s.grantID+"/_end", "{}") }

func acceptGrant(s shop) {
	s.Must("POST", "/management/v1/granted_projects/"+s.grantID+"/_accept", "{}")
}

// ofGrant returns a change of the grant by the owner of the project.
func ofGrant(change string) func(s shop) {
	return func(s shop) {
		org := s.Org
		s.Org = s.home
		s.Must("POST", "/management/v1/projects/"+s.project+"/grants/"+s.grantID+"/"+change, "{}")
		s.Org = org
	}
}

// keyOfApplication is the end of the key with which an application has logged in.
func keyOfApplication() ended {
	var keys string
	var used key
	return ended{"key of an application", func(s shop) string {
		apps := "/management/v1/projects/" + s.ownProject + "/apps/"
		id := s.Must("POST", apps+"api",
			`{"name":"Keyed","authMethodType":"API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT"}`)["appId"].(string)
		keys = apps + id + "/keys"
		used = s.keyAt(keys)
		return s.token("", "grant_type", "client_credentials", "scope", s.scope(), "client_assertion_type",
			assertionType, "client_assertion", s.sign(used, s.claims(id, nil))).text("access_token")
	}, func(s shop) { s.Must("DELETE", keys+"/"+used.KeyID, "") }, nothing, true}
}

func endings() []ended {
	var all []ended
	for name, what := range map[string][2]string{
		"user": {"/users/USER/", "activate"}, "organization": {"/orgs/me/", "activate"},
	} {
		all = append(all, ended{name, bySecret, at("POST", what[0]+"_de"+what[1]), at("POST", what[0]+"_re"+what[1]),
			false})
	}
	for name, path := range map[string]string{
		"application": "/projects/PROJECT/apps/APP/", "project": "/projects/PROJECT/",
		"organization of the application": "/orgs/me/",
	} {
		all = append(all, ended{name, byApplication, at("POST", path+"_deactivate"), at("POST", path+"_reactivate"),
			false})
	}
	return append(all,
		ended{"lock", bySecret, at("POST", "/users/USER/_lock"), at("POST", "/users/USER/_unlock"), false},
		ended{"secret", bySecret, at("DELETE", "/users/USER/secret"), nothing, true},
		ended{"secret that was replaced", bySecret, at("PUT", "/users/USER/secret"), nothing, true},
		ended{"key", func(s shop) string {
			return s.token("", "grant_type", bearer, "scope", s.scope(), "assertion",
				s.sign(s.key, s.claims(s.user, nil))).text("access_token")
		}, at("DELETE", "/users/USER/keys/KEY"), nothing, true},
		ended{"secret of the application", byApplication,
			at("POST", "/projects/PROJECT/apps/APP/api_config/_generate_client_secret"), nothing, true},
		ended{"method of the application", byApplication, func(s shop) {
			s.Must("PUT", "/management/v1/projects/"+s.ownProject+"/apps/"+s.ownApp+"/api_config",
				`{"authMethodType":"API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT"}`)
		}, nothing, true},
		keyOfApplication(),
		ended{"grant of the named project, for a machine user", bySecret, endGrant, acceptGrant, false},
		ended{"grant of the named project, for an application", byApplication, endGrant, acceptGrant, false},
		ended{"deactivated grant of the named project", bySecret, ofGrant("_deactivate"), ofGrant("_reactivate"),
			false},
		ended{"removed user", bySecret, at("DELETE", "/users/USER"), nothing, true},
		ended{"removed application", byApplication, at("DELETE", "/projects/PROJECT/apps/APP"), nothing, true},
		ended{"removed project", byApplication, at("DELETE", "/projects/PROJECT"), nothing, true},
		ended{"removed organization", bySecret, at("DELETE", "/orgs/me"), nothing, true},
	)
}

// Introspection and userinfo refuse a token as soon as an object on which it depends was ended. They refuse it forever,
// also when the object is active again.
func (s shop) deactivationEndsTokens() {
	base := s
	home := base.Org
	for _, kind := range []string{"BEARER", "JWT"} {
		for _, e := range endings() {
			s := base
			s.settle(kind, e.name)
			token := e.token(s)
			if a := s.introspect(s.api, token); a.Body["active"] != true {
				base.Fatalf("%s: %d %v", e.name, a.Status, a.Body)
			}
			for _, step := range []func(shop){e.off, e.on} {
				step(s)
				s.inactive(kind+": "+e.name, s.api, token)
				s.unknown(kind+": "+e.name, token)
			}
			if !e.gone {
				if a := s.introspect(s.api, e.token(s)); a.Body["active"] != true {
					base.Errorf("%s: a new token is not active: %d %v", e.name, a.Status, a.Body)
				}
			}
			base.Org = home
		}
	}
}

// settle makes an organization, to which the project is granted, with a machine user and an application that logs in by
// itself.
func (s *shop) settle(kind, name string) {
	s.TB.Helper()
	name = kind + " " + name
	org := s.Must("POST", "/management/v1/orgs", `{"name":"`+name+`"}`)["id"].(string)
	// The administrator of the instance makes the grant, so it is accepted at once.
	s.Org = s.home
	s.grantID = s.Must("POST", "/management/v1/projects/"+s.project+"/grants",
		`{"grantedOrgId":"`+org+`"}`)["grantId"].(string)
	s.Org = org
	s.user = s.machine(name, `,"accessTokenType":"OIDC_TOKEN_TYPE_`+kind+`"`)
	s.secret, s.key = s.secretOf(s.user), s.keyOf(s.user)
	s.ownProject = s.newProject("Own", "")
	s.own, s.ownApp = s.apiOf(s.ownProject)
}

// A client that cannot authenticate any more gets no answer about a token, for whatever reason it cannot.
func (s shop) inactiveClientsMayNotIntrospect() {
	base := s
	home := base.Org
	for _, path := range []string{"/projects/PROJECT/apps/APP/", "/projects/PROJECT/", "/orgs/me/"} {
		s := base
		s.settle("BEARER", "client of "+path)
		token := s.login("urn:service:iam:org:project:id:" + s.ownProject + ":aud")
		if a := s.introspect(s.own, token); a.Body["active"] != true {
			base.Fatalf("%s: %d %v", path, a.Status, a.Body)
		}
		at("POST", path+"_deactivate")(s)
		s.is(path, s.introspect(s.own, token), 401, "invalid_client")
		s.is(path, s.introspect(s.own, "unknown"), 401, "invalid_client")
		at("POST", path+"_reactivate")(s)
		if a := s.introspect(s.own, token); a.Status != http.StatusOK {
			base.Errorf("%s: %d %v after the reactivation", path, a.Status, a.Body)
		}
		base.Org = home
	}
}

// Only the whole token exactly as it was issued is accepted, and no token of another kind.
func (s shop) tokensAreNotMalleable() {
	opaque, pat := s.login(), s.pat()
	s.user = s.machine("robot of "+s.name, `,"accessTokenType":"OIDC_TOKEN_TYPE_JWT"`)
	s.secret = s.secretOf(s.user)
	for name, token := range map[string]string{"opaque": opaque, "JWT": s.login(), "PAT": pat} {
		for i, c := range token {
			changed := []string{token[:i], token[i:] + "x", token[:i] + string(c^1) + token[i+1:]}
			if other := unicode.SimpleFold(c); unicode.IsLetter(c) && other < unicode.MaxASCII {
				changed = append(changed, token[:i]+string(other)+token[i+1:])
			}
			for _, text := range changed {
				if strings.Trim(text, " ") == "" || strings.ContainsFunc(text, unicode.IsControl) {
					continue
				}
				if a := s.userinfo(text); a.Status != http.StatusUnauthorized {
					s.Fatalf("%s changed at %d: %d %v", name, i, a.Status, a.Body)
				}
				if name != "PAT" && i%8 == 0 { // userinfo has seen them all
					s.inactive(name, s.api, text)
				}
			}
		}
	}
	for _, kind := range []secret.TokenKind{secret.RefreshToken, secret.AuthorizationCode, secret.DeviceCode,
		secret.AccessToken, secret.PersonalAccessToken} {
		rest := strings.TrimPrefix(opaque, string(secret.AccessToken))
		for _, text := range []string{kind.New().Reveal(), string(kind) + rest + "x", string(kind) + rest[1:]} {
			s.dead(string(kind), text)
		}
		if kind != secret.AccessToken {
			s.dead(string(kind), string(kind)+rest)
		}
	}
	s.inactive("a personal access token", s.api, pat)
	if a := s.userinfo(opaque); a.Status != http.StatusOK {
		s.Errorf("the token itself: %d", a.Status)
	}
}
