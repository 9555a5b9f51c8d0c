package domain

import (
	"encoding/json"
	"testing"
	"time"
)

func TestClaims(t *testing.T) {
	t.Parallel()
	person := Subject{
		ID: "u1", OrgID: "o1", Orgs: map[string]Org{"o1": {ID: "o1", Name: "Acme", PrimaryDomain: "acme.x"}},
		Profile: Profile{UserName: "ada", Name: "Ada L", GivenName: "Ada", FamilyName: "L", Nickname: "al",
			Gender: "female", Locale: "en", Email: "a@x.y", Phone: "+41", PhoneVerified: true,
			UpdatedAt: time.Unix(7, 0)},
	}
	robot := Subject{ID: "m1", OrgID: "o1", Profile: Profile{UserName: "ci", Name: "CI", UpdatedAt: time.Unix(7, 0)}}
	for name, test := range map[string]struct {
		claims Claims
		want   string
	}{
		"no scope": {UserClaims(person, []string{ScopeOpenID}), `{}`},
		"profile": {UserClaims(person, []string{ScopeProfile}), `{"family_name":"L","gender":"female",` +
			`"given_name":"Ada","locale":"en","name":"Ada L","nickname":"al",` +
			`"preferred_username":"ada","updated_at":7}`},
		"email": {UserClaims(person, []string{ScopeEmail}), `{"email":"a@x.y","email_verified":false}`},
		"phone": {UserClaims(person, []string{ScopePhone}), `{"phone_number":"+41","phone_number_verified":true}`},
		"a machine": {UserClaims(robot, []string{ScopeProfile, ScopeEmail, ScopePhone}),
			`{"name":"CI","preferred_username":"ci","updated_at":7}`},
		"no organization that anybody knows": {OrgClaims(Subject{ID: "app"}, []string{ScopeResourceOwner}), `{}`},
		"no organization":                    {OrgClaims(person, []string{ScopeOpenID, ScopeProfile}), `{}`},
		"the organization": {OrgClaims(person, []string{ScopeResourceOwner}),
			`{"urn:service:iam:user:resourceowner:id":"o1","urn:service:iam:user:resourceowner:name":"Acme",` +
				`"urn:service:iam:user:resourceowner:primary_domain":"acme.x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := json.Marshal(test.claims); err != nil || string(got) != test.want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

func TestRoleClaims(t *testing.T) {
	t.Parallel()
	reach := Reach{
		Own: Access{Project: Project{ID: "p1"}, Roles: []GrantedRole{{"boss", "o1"}, {"clerk", "o1"}, {"clerk", "o2"}}},
		Named: []Access{
			{Project: Project{ID: "p2", RoleAssertion: true}, Roles: []GrantedRole{{"clerk", "o1"}, {"guard", "o1"}}},
			{Project: Project{ID: "p3"}},
		},
	}
	orgs := map[string]Org{"o1": {PrimaryDomain: "one.x"}, "o2": {PrimaryDomain: "two.x"}}
	for name, test := range map[string]struct {
		scopes  []string
		asserts func(Project) bool
		want    string
	}{
		"not asked": {[]string{ScopeOpenID}, none, `{}`},
		"asked for one": {[]string{rolePrefix + "clerk"}, none,
			`{"p1":{"clerk":{"o1":"one.x","o2":"two.x"}},"p2":{"clerk":{"o1":"one.x"}}}`},
		"asked for others": {[]string{rolePrefix + "guest", rolePrefix + "Clerk"}, none, `{}`},
		"asserted": {nil, all, `{"p1":{"boss":{"o1":"one.x"},"clerk":{"o1":"one.x","o2":"two.x"}},` +
			`"p2":{"clerk":{"o1":"one.x"},"guard":{"o1":"one.x"}}}`},
		"asked, and asserted by a project": {
			[]string{rolePrefix + "boss"}, func(p Project) bool { return p.RoleAssertion },
			`{"p1":{"boss":{"o1":"one.x"}},"p2":{"clerk":{"o1":"one.x"},"guard":{"o1":"one.x"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want map[string]any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			claims := Claims{}
			for id, roles := range want {
				claims["urn:service:iam:org:project:"+id+":roles"] = roles
				if id == "p1" {
					claims["urn:service:iam:org:project:roles"] = roles
				}
			}
			expected, err := json.Marshal(claims)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(reach.For(test.scopes, test.asserts).RoleClaims("p1", orgs))
			if err != nil || string(got) != string(expected) {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

func none(Project) bool { return false }

func all(Project) bool { return true }

// A flat list says neither project nor organization, so that it is only about one project.
func TestGroupsAreOfOneProject(t *testing.T) {
	t.Parallel()
	on := func(id, role string) Access {
		return Access{Project: Project{ID: id}, Roles: []GrantedRole{{Key: role}}}
	}
	for name, test := range map[string]struct {
		client string // its project
		reach  Reach
		want   string
	}{
		"its own": {"p1", Reach{Own: on("p1", "a")}, `{"groups":["a"]}`},
		"beside others": {"p1", Reach{Own: on("p1", "a"), Named: []Access{on("p2", "b")}},
			`{"groups":["a"]}`},
		"no role":                   {"p1", Reach{Own: Access{Project: Project{ID: "p1"}}}, `{"groups":[]}`},
		"a machine that names one":  {"", Reach{Named: []Access{on("p2", "b")}}, `{"groups":["b"]}`},
		"a machine that names none": {"", Reach{}, `{}`},
		"a machine that names two":  {"", Reach{Named: []Access{on("p2", "b"), on("p3", "c")}}, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(test.reach.Groups(Client{Project: Project{ID: test.client}}))
			if err != nil || string(got) != test.want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}
