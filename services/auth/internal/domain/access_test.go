package domain

import (
	"errors"
	"testing"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	both := Project{RoleCheck: true, GrantCheck: true}
	role := []GrantedRole{{"clerk", "o1"}}
	for name, test := range map[string]struct {
		project Project
		access  Access
		denied  bool
	}{
		"no checks":                                {Project{}, Access{}, false},
		"a role is needed and there":               {Project{RoleCheck: true}, Access{Roles: role}, false},
		"a role is needed and missing":             {Project{RoleCheck: true}, Access{OrgHasProject: true}, true},
		"a grant is needed and there":              {Project{GrantCheck: true}, Access{OrgHasProject: true}, false},
		"a grant is needed and missing":            {Project{GrantCheck: true}, Access{Roles: role}, true},
		"both are needed and there":                {both, Access{OrgHasProject: true, Roles: role}, false},
		"both are needed and the role is missing":  {both, Access{OrgHasProject: true}, true},
		"both are needed and the grant is missing": {both, Access{Roles: role}, true},
		"an assertion is no check":                 {Project{RoleAssertion: true}, Access{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := test.project.Admit(test.access); errors.Is(err, ErrAccessDenied) != test.denied ||
				err != nil != test.denied {
				t.Errorf("%v", err)
			}
			if want := test.project.RoleCheck || test.project.GrantCheck; test.project.Checks() != want {
				t.Errorf("checks is %v", !want)
			}
		})
	}
}

// An authorization is foreign if a person's organization is not that of the application.
func TestForeignAuthorizations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		is   Authorization
		want bool
	}{
		"own":             {Authorization{ProjectID: "p", UserID: "u", OrgID: "o1", ClientOrgID: "o1"}, false},
		"of another":      {Authorization{ProjectID: "p", UserID: "u", OrgID: "o1", ClientOrgID: "o2"}, true},
		"a machine":       {Authorization{UserID: "u", OrgID: "o1"}, false},
		"the application": {Authorization{ProjectID: "p", ClientOrgID: "o2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.is.Foreign(); got != test.want {
				t.Error(got)
			}
		})
	}
}
