package token_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// of returns the scope that names a project.
func of(projectID string) string { return "urn:service:iam:org:project:id:" + projectID + ":aud" }

// devices lets the application web log in devices. It adds applications that check tokens of its own project and of
// another one.
func devices(w *testworld.OAuth) {
	w.Apps["api"], w.Apps["of-accepted"] = testworld.API("api", "p1"), testworld.API("of-accepted", "accepted")
	o := w.Apps["web"].App.GetOidcConfig()
	o.GrantTypes = append(o.GrantTypes, projectsv1.OidcGrantType_OIDC_GRANT_TYPE_DEVICE_CODE)
}

// begin asks for a login at a device. It returns the device code and the name of the device.
func begin(w *testworld.OAuth, scope string) (code, name string) {
	w.Helper()
	a := w.Post("/oauth/v2/device_authorization", "scope", scope)
	return a.Text("device_code"), entered(w, a)
}

// entered enters the user code of an answer to a device. It returns the name of the device.
func entered(w *testworld.OAuth, a testworld.Answer) string {
	w.Helper()
	out := w.Visit("POST", "/ui/login/device", url.Values{"user_code": {a.Text("user_code")}}, "Sec-Fetch-Site",
		"same-origin")
	name, ok := strings.CutPrefix(out.Header().Get("Location"), "/ui/login/device/confirm?device=")
	if !ok {
		w.Fatalf("%v %d %v", a, out.Code, out.Header())
	}
	return name
}

// letIn answers the question about a device and returns the title of the page that follows.
func letIn(w *testworld.OAuth, name string) string {
	w.Helper()
	page := w.Visit("POST", "/ui/login/device/confirm", url.Values{"device": {name}, "answer": {"allow"}},
		"Sec-Fetch-Site", "same-origin").Body.String()
	_, title, _ := strings.Cut(page, "<h1>")
	title, _, _ = strings.Cut(title, "</h1>")
	return title
}

// A client gets tokens only for projects that its organization owns or of which it has accepted a grant, whichever way
// it asks.
func TestScopeNamesOnlyProjectsOfTheOrganization(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { devices(w) })
	ways := map[string]func(scope string) (refused string){
		"authorization": func(scope string) string {
			return w.Back(w.Ask("scope", scope)).Get("error")
		},
		"authorization without a page": func(scope string) string {
			return w.Back(w.Ask("scope", scope, "prompt", "none")).Get("error")
		},
		"authorization before the login": func(scope string) string {
			cookie := w.Cookie()
			w.Logout()
			defer w.LoginAs("s-"+cookie, "ada")
			out := w.Ask("scope", scope)
			if !strings.HasPrefix(out.Header().Get("Location"), testworld.Callback) {
				return ""
			}
			return w.Back(out).Get("error")
		},
		"device": func(scope string) string {
			return w.Post("/oauth/v2/device_authorization", "scope", scope).Text("error")
		},
		"credentials of an application": func(scope string) string {
			return w.Post("/oauth/v2/token", "grant_type", "client_credentials", "client_id", "api", "scope",
				scope).Text("error")
		},
		"credentials of a machine user": func(scope string) string {
			return w.Post("/oauth/v2/token", "grant_type", "client_credentials", "client_id", "robot", "scope",
				scope).Text("error")
		},
	}
	for project, want := range map[string]string{
		"accepted": "", "pending": "invalid_scope", "foreign": "invalid_scope", "unknown": "invalid_scope",
	} {
		for way, ask := range ways {
			w.Run(way+", "+project, func() {
				if got := ask("openid " + of(project)); got != want {
					w.Errorf("%q, want %q", got, want)
				}
			})
		}
	}
	w.Run("own project", func() { w.Code("scope", "openid "+of("p1")) })
	w.Run("one of two", func() {
		if got := w.Back(w.Ask("scope", of("accepted")+" "+of("foreign"))).Get("error"); got != "invalid_scope" {
			w.Error(got)
		}
	})
}

// What was issued because of a grant ends with it, and does not live again with another grant of the same project.
func TestTokensEndWithTheGrantOfTheirAudience(t *testing.T) {
	t.Parallel()
	for name, grounds := range map[string]string{"ended": "", "accepted again": "1.g.again", "other grant": "1.h"} {
		for _, format := range []string{"OIDC_TOKEN_TYPE_BEARER", "OIDC_TOKEN_TYPE_JWT"} {
			t.Run(name+" "+format, func(t *testing.T) {
				t.Parallel()
				w := testworld.NewOAuth(t)
				w.Change(func() { devices(w); setFormat(w, format) })
				scope := "openid offline_access " + of("accepted")
				var live []string
				machines := map[string]string{}
				for _, client := range []string{"api", "robot"} {
					machines[client] = w.Good(w.Post("/oauth/v2/token", "grant_type", "client_credentials", "client_id",
						client, "scope", scope)).Text("access_token")
					live = append(live, machines[client])
				}
				person := w.LoggedIn("scope", scope)
				live = append(live, person.Text("access_token"))
				code := w.Code("scope", scope)
				waiting, device := begin(w, scope)
				allowed, other := begin(w, scope)
				if got := letIn(w, other); got != "Your device is connected" {
					t.Fatal(got)
				}
				for _, token := range live {
					if !active(w, token) {
						t.Fatalf("%s is not active", token)
					}
				}
				w.Change(func() { w.Named["accepted"].Grounds = grounds })
				for _, token := range live {
					if active(w, token) {
						t.Errorf("%s is active", token)
					}
				}
				want := "invalid_scope"
				if grounds != "" {
					want = "invalid_grant"
				}
				w.Refused(w.Refresh(person.Text("refresh_token")), http.StatusBadRequest, want)
				w.Refused(w.Redeem(code), http.StatusBadRequest, want)
				w.Refused(w.Post("/oauth/v2/token", "grant_type", string(domain.GrantDevice), "device_code", allowed),
					http.StatusBadRequest, want)
				if got := letIn(w, device); (got == "Your device is connected") != (grounds != "") {
					t.Errorf("%s: %s", waiting, got)
				}
			})
		}
	}
}

// setFormat sets the format of access tokens.
func setFormat(w *testworld.OAuth, format string) {
	f := heraldv1.OidcTokenType(heraldv1.OidcTokenType_value[format])
	w.Apps["web"].App.GetOidcConfig().AccessTokenType = f
	w.Robot.AccessTokenType = f
}

// active reports whether introspection by a client of the project says that a token is active.
func active(w *testworld.OAuth, token string) bool {
	w.Helper()
	return w.Post("/oauth/v2/introspect", "client_id", "of-accepted", "token", token).Body["active"] == true
}

// The checks of a named project apply to the person as those of the application's own project do.
func TestNamedProjectChecksThePerson(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { devices(w) })
	scope := "openid offline_access " + of("accepted")
	person := w.LoggedIn("scope", scope)
	code := w.Code("scope", scope)
	_, device := begin(w, scope)
	for name, change := range map[string]func(*projectsv1.ResolveAccessResponse){
		"role":  func(a *projectsv1.ResolveAccessResponse) { a.Project.ProjectRoleCheck = true },
		"grant": func(a *projectsv1.ResolveAccessResponse) { a.Project.HasProjectCheck, a.OrgHasProject = true, false },
	} {
		w.Run(name, func() {
			before := w.Named["accepted"]
			w.Change(func() {
				changed := proto.CloneOf(before)
				change(changed)
				w.Named["accepted"] = changed
			})
			defer w.Change(func() { w.Named["accepted"] = before })
			if got := w.Back(w.Ask("scope", scope)).Get("error"); got != "access_denied" {
				w.Errorf("authorization: %s", got)
			}
			w.Refused(w.Refresh(person.Text("refresh_token")), http.StatusBadRequest, "access_denied")
			w.Refused(w.Redeem(code), http.StatusBadRequest, "access_denied")
			w.Refused(w.Post("/oauth/v2/token", "grant_type", "client_credentials", "client_id", "robot", "scope",
				scope), http.StatusBadRequest, "access_denied")
		})
	}
	if got := letIn(w, device); got != "Your device is connected" {
		t.Error(got)
	}
	w.Good(w.Refresh(person.Text("refresh_token")))
}

// setRoles gives Ada a role on the project of the application and one on the project accepted, which assert them.
func setRoles(w *testworld.OAuth) {
	reader := []*projectsv1.GrantedRole{{Key: "reader", OrgId: "o1"}}
	o := w.Apps["web"].App.GetOidcConfig()
	o.AccessTokenRoleAssertion, o.IdTokenRoleAssertion = true, true
	for _, p := range []*projectsv1.Project{
		w.Apps["web"].Project, w.Apps["api"].Project, w.Apps["of-accepted"].Project, w.Named["accepted"].Project,
	} {
		p.ProjectRoleAssertion = true
	}
	w.Access.Roles, w.Named["accepted"].Roles = reader, reader
}

// inJWT returns the claims of a JSON Web Token.
func inJWT(w *testworld.OAuth, token string) (c map[string]any) {
	w.Helper()
	payload, err := w.Keys.Verify(signing.AccessToken(), token)
	w.Must(err)
	w.Must(json.Unmarshal(payload, &c))
	return c
}

// A token is for the projects that its own scopes name, and has the roles there: in JSON Web Tokens, in userinfo and
// for whoever introspects it. So a refresh with fewer scopes makes a token that fewer accept.
func TestRolesAndAudienceAreThoseOfTheTokensScopes(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"OIDC_TOKEN_TYPE_BEARER", "OIDC_TOKEN_TYPE_JWT"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			w := testworld.NewOAuth(t)
			w.Change(func() { devices(w); setFormat(w, format); setRoles(w) })
			// check compares an answer with tokens whose scopes name the project accepted, or do not.
			check := func(what string, a testworld.Answer, named bool) {
				w.Helper()
				token := a.Text("access_token")
				seen := map[string]map[string]any{
					"id token": w.Claims(a), "userinfo": w.Userinfo(token).Body,
					"introspection": w.Post("/oauth/v2/introspect", "client_id", "api", "token", token).Body,
				}
				audiences := []string{"introspection"}
				if format == "OIDC_TOKEN_TYPE_JWT" {
					seen["access token"] = inJWT(w, token)
					audiences = append(audiences, "access token")
				}
				for where, claims := range seen {
					for claim, want := range map[string]bool{
						domain.ClaimRoles: true, "urn:service:iam:org:project:p1:roles": true,
						"urn:service:iam:org:project:accepted:roles": named,
					} {
						_, has := claims[claim]
						if has != want || want && !reflect.DeepEqual(claims[claim],
							map[string]any{"reader": map[string]any{"o1": "one.example"}}) {
							t.Errorf("%s, %s: %s is %v", what, where, claim, claims[claim])
						}
					}
				}
				for _, where := range audiences {
					want := []any{"web", "p1"}
					if named {
						want = append(want, "accepted")
					}
					if got := seen[where]["aud"]; !reflect.DeepEqual(got, want) {
						t.Errorf("%s, %s: aud is %v", what, where, got)
					}
				}
				if got := active(w, token); got != named {
					t.Errorf("%s: active for a client of the named project: %v", what, got)
				}
			}
			wide := w.LoggedIn("scope", "openid offline_access "+of("accepted"))
			check("login", wide, true)
			narrow := w.Good(w.Refresh(wide.Text("refresh_token"), "scope", "openid"))
			check("refresh with fewer scopes", narrow, false)
			check("refresh with all scopes", w.Good(w.Refresh(narrow.Text("refresh_token"))), true)
		})
	}
}

// The checks of an application's project count at each use of a token, also for people of its own organization.
func TestOwnProjectChecksThePersonAtEachUse(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() { w.Apps["web"].OrgId = "o1" })
	tokens := w.LoggedIn()
	token := tokens.Text("access_token")
	for name, change := range map[string]func(on bool){
		"role":  func(on bool) { w.Apps["web"].Project.ProjectRoleCheck = on },
		"grant": func(on bool) { w.Apps["web"].Project.HasProjectCheck, w.Access.OrgHasProject = on, !on },
	} {
		w.Run(name, func() {
			for _, on := range []bool{false, true, false} {
				w.Change(func() { change(on) })
				if got := w.Post("/oauth/v2/introspect", "token", token).Body["active"]; got == on {
					w.Errorf("checked: %v, active: %v", on, got)
				}
				if got := w.Userinfo(token).Status; (got == http.StatusUnauthorized) != on {
					w.Errorf("checked: %v, userinfo: %d", on, got)
				}
			}
			w.Change(func() { change(true) })
			w.Refused(w.Refresh(tokens.Text("refresh_token")), http.StatusBadRequest, "access_denied")
			w.Change(func() { change(false) })
		})
	}
}
