package oauth_test

import (
	"net/http"
	"strings"
)

// Introspection and userinfo show a change as soon as it was answered, although they have answered the same request a
// moment before. The changes are to the names and roles of a user, the name of the organization, and the settings of a
// project.
func (s shop) checksShowChangesAtOnce() {
	s.Must("POST", "/management/v1/projects/"+s.project+"/roles", `{"key":"guard","displayName":"Guard"}`)
	token := s.login("profile", resourceOwner, "urn:service:iam:org:project:role:clerk",
		"urn:service:iam:org:project:role:guard")
	grant := s.Must("POST", "/management/v1/users/grants/_search", "{}")["result"].([]any)[0].(map[string]any)
	at := strings.NewReplacer("USER", s.user, "PROJECT", s.project, "GRANT", grant["id"].(string))
	told := func(a answer) string {
		if a.Status != http.StatusOK {
			s.Fatalf("%d %v", a.Status, a.Body)
		}
		granted, _ := a.Body[roles].(map[string]any)
		var names []string
		for _, role := range []string{"clerk", "guard"} {
			if granted[role] != nil {
				names = append(names, role)
			}
		}
		return strings.Join(append(names, a.text("username"), a.text(resourceOwner+":name")), " ")
	}
	home := s.introspect(s.api, token).text(resourceOwner + ":name")
	for _, c := range []struct{ method, path, body, want, name string }{
		{"", "", "", "clerk " + s.name + " " + home, s.name},
		{"PUT", "/users/USER/grants/GRANT", `{"roleKeys":["clerk","guard"]}`,
			"clerk guard " + s.name + " " + home, s.name},
		{"PUT", "/users/USER/username", `{"userName":"robot"}`, "clerk guard robot " + home, s.name},
		{"PUT", "/users/USER/machine", `{"userName":"robot","name":"Robot"}`, "clerk guard robot " + home, "Robot"},
		{"DELETE", "/projects/PROJECT/roles/guard", "", "clerk robot " + home, "Robot"},
		{"PUT", "/orgs/me", `{"name":"Toys"}`, "clerk robot Toys", "Robot"},
		{"DELETE", "/users/USER/grants/GRANT", "", "robot Toys", "Robot"},
		{
			"POST", "/users/USER/grants", `{"projectId":"PROJECT","roleKeys":["clerk"]}`, "clerk robot Toys", "Robot",
		},
	} {
		if c.method != "" {
			s.Must(c.method, "/management/v1"+at.Replace(c.path), at.Replace(c.body))
		}
		for range 2 { // the second answer is the first one again
			if got := told(s.introspect(s.api, token)); got != c.want {
				s.Errorf("%s %s: introspection tells %q, want %q", c.method, c.path, got, c.want)
			}
			if got := s.userinfo(token).text("name"); got != c.name {
				s.Errorf("%s %s: userinfo tells %q, want %q", c.method, c.path, got, c.name)
			}
		}
	}
	s.Must("PUT", "/management/v1/projects/"+s.project, `{"name":"Shop","projectRoleAssertion":true}`)
	without := s.login()
	if asserted := s.introspect(s.api, without); asserted.Body[roles] == nil {
		s.Errorf("asserted roles: %v", asserted.Body)
	}
	s.Must("PUT", "/management/v1/projects/"+s.project, `{"name":"Shop"}`)
	if asserted := s.introspect(s.api, without); asserted.Body["active"] != true || asserted.Body[roles] != nil {
		s.Errorf("roles that are not asserted any more: %v", asserted.Body)
	}
}

// A client's secret is refused from the answer on that replaced it, and the new one works at once.
func (s shop) replacedSecretsMayNotIntrospect() {
	token := s.login()
	for range 10 {
		if a := s.introspect(s.api, token); a.Body["active"] != true {
			s.Fatalf("%d %v", a.Status, a.Body)
		}
		s.is("a wrong secret", s.introspect(s.api+"x", token), http.StatusUnauthorized, "invalid_client")
		old := s.api
		made := s.Must("POST", "/management/v1/projects/"+s.project+"/apps/"+s.apiID+
			"/api_config/_generate_client_secret", "{}")
		id, _, _ := strings.Cut(old, ":")
		s.api = id + ":" + made["clientSecret"].(string)
		s.is("the replaced secret", s.introspect(old, token), http.StatusUnauthorized, "invalid_client")
	}
}
