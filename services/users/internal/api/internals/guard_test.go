package internals_test

import (
	"testing"

	"herald/services/users/internal/testworld"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// Another service asks whether a caller may act on a user: one who lacks none of the user's permissions in the
// organization acted on.
func TestCheckEscalation(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	orgB, inB := w.Org("B")
	mini, owner, manager := w.Person(inA, "mini"), w.Person(inA, "owner"), w.Person(inA, "manager")
	other := w.Person(inB, "other")
	w.AddMember(inA, owner, "ORG_OWNER")
	w.AddMember(inA, manager, "ORG_USER_MANAGER")
	w.AddMember(inB, other, "ORG_OWNER")
	w.AddMember(inB, mini, "ORG_OWNER") // protects in no other organization
	asOwner, asManager := w.Caller(inA, owner, orgA), w.Caller(inA, manager, orgA)
	for name, test := range map[string]struct {
		as     caller.Caller
		userID string
		want   string
	}{
		"an owner on a manager":           {asOwner, manager, ""},
		"a manager on an owner":           {asManager, owner, "ESCALATION"},
		"a manager on a person":           {asManager, mini, ""},
		"an owner elsewhere on an owner":  {w.Caller(inB, other, orgB), owner, ""}, // who is not found there
		"an owner on a missing user":      {asOwner, "nobody", ""},
		"nobody on an owner":              {caller.Caller{OrganizationID: orgA}, owner, "ESCALATION"},
		"an owner on a user of elsewhere": {asOwner, other, ""}, // who is not found here
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.Auth.CheckEscalation(t.Context(),
				&usersv1.CheckEscalationRequest{Caller: test.as.Proto(), UserId: test.userID})
			if test.want != "" {
				testkit.Refused(t, err, test.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
