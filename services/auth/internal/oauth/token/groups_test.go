package token_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

// fourPlaces returns the claims about the person in the JSON Web Token, the id token, userinfo and introspection.
func fourPlaces(w *testworld.OAuth, a testworld.Answer) map[string]map[string]any {
	w.Helper()
	token := a.Text("access_token")
	return map[string]map[string]any{
		"access token": inJWT(w, token), "id token": w.Claims(a), "userinfo": w.Userinfo(token).Body,
		"introspection": w.Post("/oauth/v2/introspect", "client_id", "api", "token", token).Body,
	}
}

// A flat list of roles is the same wherever an application reads it. It has the roles on its own project only, because
// it does not say on which project they are.
func TestGroupsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	const own = "https://shop.example/roles"
	for name, test := range map[string]struct {
		scope, claim string
		roles        []string
		want         any // nil is no claim
	}{
		"groups":                 {"openid groups", "", []string{"b", "a", "a"}, []any{"a", "b"}},
		"roles":                  {"openid roles", "", []string{"a"}, []any{"a"}},
		"both":                   {"openid roles groups", "", []string{"a"}, []any{"a"}},
		"no role":                {"openid groups", "", nil, []any{}},
		"not asked":              {"openid", "", []string{"a"}, nil},
		"another claim":          {"openid groups", own, []string{"a"}, []any{"a"}},
		"beside a named project": {"openid groups " + of("accepted"), "", []string{"a"}, []any{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.NewOAuth(t)
			claim := "groups"
			w.Change(func() {
				devices(w)
				setFormat(w, "OIDC_TOKEN_TYPE_JWT")
				w.Access.Roles = nil
				for i, key := range test.roles {
					org := []string{"o1", "o1", "o2"}[i]
					w.Access.Roles = append(w.Access.Roles, &projectsv1.GrantedRole{Key: key, OrgId: org})
				}
				w.Named["accepted"].Roles = []*projectsv1.GrantedRole{{Key: "admin", OrgId: "o1"}}
				if test.claim != "" {
					claim = test.claim
					w.Apps["web"].App.GetOidcConfig().RolesClaim = claim
				}
			})
			for where, claims := range fourPlaces(w, w.LoggedIn("scope", test.scope)) {
				claim := claim
				if where == "introspection" { // the reader is another application, which has its own settings
					claim = "groups"
				}
				if got, has := claims[claim]; has != (test.want != nil) || !reflect.DeepEqual(got, test.want) {
					t.Errorf("%s: %v", where, got)
				}
				if _, nested := claims[domain.ClaimRoles]; nested {
					t.Errorf("%s: %v", where, claims)
				}
			}
		})
	}
}

// A machine has no project of its own. It gets the roles on the one that it names.
func TestGroupsOfMachinesAreThoseOnTheNamedProject(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() {
		devices(w)
		w.Named["accepted"].Roles = []*projectsv1.GrantedRole{{Key: "reader", OrgId: "o1"}}
	})
	got := w.Good(w.Post("/oauth/v2/token", "grant_type", "client_credentials", "client_id", "robot", "scope",
		"groups "+of("accepted")))
	seen := w.Post("/oauth/v2/introspect", "client_id", "of-accepted", "token", got.Text("access_token")).Body
	if want := []any{"reader"}; !reflect.DeepEqual(seen["groups"], want) {
		t.Errorf("%v", seen)
	}
}

// A project that asserts its roles does so in all four places. An application can also do it for each kind of token.
func TestAssertedRolesAreInAllFour(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		project, access, id bool
		want                string
	}{
		"nobody":        {false, false, false, ""},
		"the project":   {true, false, false, "access token, id token, introspection, userinfo"},
		"access tokens": {false, true, false, "access token"},
		"id tokens":     {false, false, true, "id token"},
		"all of these":  {true, true, true, "access token, id token, introspection, userinfo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.NewOAuth(t)
			w.Change(func() {
				devices(w)
				setFormat(w, "OIDC_TOKEN_TYPE_JWT")
				setRoles(w)
				for _, app := range []string{"web", "api"} {
					w.Apps[app].Project.ProjectRoleAssertion = test.project
				}
				o := w.Apps["web"].App.GetOidcConfig()
				o.AccessTokenRoleAssertion, o.IdTokenRoleAssertion = test.access, test.id
			})
			var has []string
			for where, claims := range fourPlaces(w, w.LoggedIn("scope", "openid")) {
				if claims[domain.ClaimRoles] != nil {
					has = append(has, where)
				}
			}
			slices.Sort(has)
			if got := strings.Join(has, ", "); got != test.want {
				t.Errorf("the roles are in %s", got)
			}
		})
	}
}

// The lifetimes of an application take the place of those of the instance.
func TestApplicationsHaveLifetimesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"OIDC_TOKEN_TYPE_BEARER", "OIDC_TOKEN_TYPE_JWT"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			w := testworld.NewOAuth(t)
			w.Change(func() {
				setFormat(w, format)
				o := w.Apps["web"].App.GetOidcConfig()
				o.AccessTokenLifetime = durationpb.New(5 * time.Minute)
				o.RefreshTokenIdleExpiration = durationpb.New(time.Hour)
				o.RefreshTokenExpiration = durationpb.New(90 * time.Minute)
			})
			got := w.Redeem(w.Code("scope", "openid offline_access"))
			if exp := w.Claims(got)["exp"]; got.Body["expires_in"] != 300.0 || exp != float64(w.Now().Unix()+300) {
				t.Errorf("%v, %v", got.Body["expires_in"], exp)
			}
			w.Advance(299 * time.Second)
			if status := w.Userinfo(got.Text("access_token")).Status; status != 200 {
				t.Errorf("just before: %d", status)
			}
			w.Advance(time.Second)
			if status := w.Userinfo(got.Text("access_token")).Status; status != 401 {
				t.Errorf("after 5 minutes: %d", status)
			}
			w.Advance(54 * time.Minute)
			next := w.Refresh(got.Text("refresh_token"))
			w.Advance(32 * time.Minute)
			w.Refused(w.Refresh(next.Text("refresh_token")), 400, "invalid_grant")
			other := w.Redeem(w.Code("scope", "openid offline_access"))
			w.Advance(61 * time.Minute)
			w.Refused(w.Refresh(other.Text("refresh_token")), 400, "invalid_grant")
		})
	}
}
