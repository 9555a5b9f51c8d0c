package domain_test

import (
	"testing"

	"herald/services/auth/internal/domain"
)

const audiencePrefix = "urn:service:iam:org:project:id:"

// A person is asked once about the data that an application of another organization gets.
func TestPersonIsAskedForConsentOnce(t *testing.T) {
	t.Parallel()
	given := domain.Consent{UserID: "ada", Scopes: []string{"openid", "email"}}
	for name, test := range map[string]struct {
		trusted, agreed bool
		given           domain.Consent
		scopes          []string
		prompt          string
		want            bool
	}{
		"the organization has agreed":        {agreed: true, scopes: []string{"openid", "profile"}},
		"the organization has agreed, asked": {agreed: true, scopes: []string{"openid"}, prompt: "consent"},
		"another organization":               {scopes: []string{"openid"}, want: true},
		"no scope with data":                 {scopes: []string{"urn:x"}, want: true},
		"agreed to":                          {given: given, scopes: []string{"email", "openid"}},
		"agreed to and less":                 {given: given, scopes: []string{"openid"}},
		"agreed to and a scope without data": {given: given, scopes: []string{"openid", "urn:x"}},
		"agreed to and more": {given: given, scopes: []string{"openid", "phone"},
			want: true},
		"agreed to, and the own project": {given: given, scopes: []string{"openid", audiencePrefix + "own:aud"}},
		"agreed to, and another project": {given: given, scopes: []string{"openid", audiencePrefix + "p2:aud"},
			want: true},
		"agreed to with the project": {
			given:  domain.Consent{UserID: "ada", Scopes: []string{audiencePrefix + "p2:aud"}},
			scopes: []string{audiencePrefix + "p2:aud"},
		},
		"agreed to, asked anew": {given: given, scopes: []string{"openid"}, prompt: "consent",
			want: true},
		"acting, and the organization has agreed": {agreed: true, given: given,
			scopes: []string{"openid", domain.ScopeService}, want: true},
		"acting, trusted":        {trusted: true, agreed: true, scopes: []string{"openid", domain.ScopeService}},
		"not acting, trusted":    {trusted: true, agreed: true, scopes: []string{"openid"}},
		"not acting, no consent": {trusted: true, scopes: []string{"openid"}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := domain.AuthRequest{Scopes: test.scopes, Prompts: []string{test.prompt}}
			if got := r.MustAgree(test.trusted, test.agreed, test.given.Covers(test.scopes, "own")); got != test.want {
				t.Errorf("%t", got)
			}
		})
	}
}
