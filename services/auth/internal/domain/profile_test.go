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
		"no organization": {OrgClaims(person, []string{ScopeOpenID, ScopeProfile}), `{}`},
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
	access := Access{Roles: []GrantedRole{{"boss", "o1"}, {"clerk", "o1"}, {"clerk", "o2"}}}
	orgs := map[string]Org{"o1": {PrimaryDomain: "one.x"}, "o2": {PrimaryDomain: "two.x"}}
	for name, test := range map[string]struct {
		scopes   []string
		asserted bool
		want     string
	}{
		"not asked":        {[]string{ScopeOpenID}, false, `{}`},
		"asked for one":    {[]string{rolePrefix + "clerk"}, false, `{"clerk":{"o1":"one.x","o2":"two.x"}}`},
		"asked for others": {[]string{rolePrefix + "guest", rolePrefix + "Clerk"}, false, `{}`},
		"asserted":         {nil, true, `{"boss":{"o1":"one.x"},"clerk":{"o1":"one.x","o2":"two.x"}}`},
		"asked and asserted": {[]string{rolePrefix + "boss"}, true,
			`{"boss":{"o1":"one.x"},"clerk":{"o1":"one.x","o2":"two.x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := test.want
			if want != `{}` {
				want = `{"urn:service:iam:org:project:roles":` + want + `}`
			}
			claims := RoleClaims(access.RolesFor(test.scopes, test.asserted), orgs)
			if got, err := json.Marshal(claims); err != nil || string(got) != want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}
