package domain_test

import (
	"testing"

	"herald/services/auth/internal/domain"
)

// A person is asked once about the data that an application of another organization gets.
func TestPersonIsAskedForConsentOnce(t *testing.T) {
	t.Parallel()
	own, foreign := domain.Session{OrgID: "o2"}, domain.Session{OrgID: "o1"}
	granted := domain.Access{OrgHasProject: true}
	given := domain.Consent{UserID: "ada", Scopes: []string{"openid", "email"}}
	for name, test := range map[string]struct {
		session domain.Session
		access  domain.Access
		given   domain.Consent
		scopes  []string
		prompt  string
		want    bool
	}{
		"the own organization":               {session: own, scopes: []string{"openid", "profile"}},
		"the own organization, asked":        {session: own, scopes: []string{"openid"}, prompt: "consent"},
		"a granted project":                  {session: foreign, access: granted, scopes: []string{"openid"}},
		"another organization":               {session: foreign, scopes: []string{"openid"}, want: true},
		"no scope with data":                 {session: foreign, scopes: []string{"urn:x"}, want: true},
		"agreed to":                          {session: foreign, given: given, scopes: []string{"email", "openid"}},
		"agreed to and less":                 {session: foreign, given: given, scopes: []string{"openid"}},
		"agreed to and a scope without data": {session: foreign, given: given, scopes: []string{"openid", "urn:x"}},
		"agreed to and more": {session: foreign, given: given, scopes: []string{"openid", "phone"},
			want: true},
		"agreed to, asked anew": {session: foreign, given: given, scopes: []string{"openid"}, prompt: "consent",
			want: true},
		"acting, in the own organization": {session: own, given: given,
			scopes: []string{"openid", domain.ScopeService}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := domain.AuthRequest{Scopes: test.scopes, Prompts: []string{test.prompt}}
			if got := r.MustAgree(domain.Client{OrgID: "o2"}, test.session, test.access, test.given); got != test.want {
				t.Errorf("%t", got)
			}
		})
	}
}
