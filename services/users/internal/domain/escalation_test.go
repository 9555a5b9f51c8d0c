package domain_test

import (
	"errors"
	"strings"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

// A refusal names the missing permission and the organization.
func TestCheckEscalation(t *testing.T) {
	t.Parallel()
	has := func(orgID, projectID, role string) domain.Member {
		return domain.Member{OrgID: orgID, ProjectID: projectID, Roles: []string{role}}
	}
	all := func(members ...domain.Member) []domain.Member { return members }
	for name, c := range map[string]struct {
		mine                    domain.Member
		theirs                  []domain.Member
		permission, org, inText string
	}{
		"nobody":            {mine: has("o", "", "ORG_USER_MANAGER")},
		"an equal":          {mine: has("o", "", "ORG_OWNER"), theirs: all(has("o", "", "ORG_OWNER"))},
		"a project's owner": {mine: has("o", "", "ORG_OWNER"), theirs: all(has("o", "p", "PROJECT_OWNER"))},
		"the instance's own": {
			mine: has("", "", "IAM_OWNER"), theirs: all(has("", "", "IAM_OWNER"), has("o", "", "ORG_OWNER")),
		},
		"more": {
			has("o", "", "ORG_USER_MANAGER"), all(has("o", "", "ORG_USER_MANAGER"), has("o", "", "ORG_OWNER")),
			"org.delete", "o", "in organization o",
		},
		"more on a project": {has("o", "", "ORG_USER_MANAGER"), all(has("o", "p", "PROJECT_OWNER")),
			"project.app.delete", "o", "in organization o"},
		"the instance, lacked here too": {has("o", "", "ORG_OWNER"), all(has("", "", "IAM_OWNER")),
			"iam.member.read", "o", "in organization o"},
		"the instance, held here": {has("o", "", "ORG_OWNER"), all(has("", "", "IAM_USER_MANAGER")),
			"user.delete", "", "in the whole instance"},
	} {
		t.Run(name, func(t *testing.T) {
			err := domain.CheckEscalation([]caller.Membership{c.mine.Membership()}, "o", c.theirs...)
			if c.permission == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			f, ok := errors.AsType[*fault.Fault](err)
			if !ok || !errors.Is(err, usersfault.ErrEscalation) || f.Permission != c.permission ||
				f.Organization != c.org ||
				!strings.HasSuffix(f.Message, c.permission+" is missing "+c.inText) {
				t.Errorf("%+v", f)
			}
		})
	}
}
