package consumer_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// Every change that ends the logins of a person ends the sessions, so that applications are notified. A newer login
// continues.
func TestChangesEndSessions(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]proto.Message{
		"locked": &usersv1.UserLocked{}, "deactivated": &usersv1.UserDeactivated{},
		"another password": &usersv1.HumanPasswordChanged{}, "no password": &usersv1.HumanPasswordRemoved{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := testworld.NewBrowsers(t)
			b.Login("before")
			b.Enter("shop", 99) // the session that continues comes first
			b.Login("after")
			b.Enter("bank", 1)
			testworld.Kit.Publisher(t, b.Ground, "users").Publish("o1", "u1", "admin", changed)
			testkit.Until(t, b.DB, "logouts", `exists (select from logouts where client_id = 'shop')`)
			if n := testkit.Rows(t, b.DB, `session_clients where client_id = 'bank'`); n != 1 {
				t.Error("the newer login has ended")
			}
			if n := testkit.Rows(t, b.DB, `session_clients where client_id = 'shop'`); n != 0 {
				t.Error("the older login is left")
			}
		})
	}
}

// A deactivated organization ends the sessions of its users from before.
func TestOrganizationEndsSessions(t *testing.T) {
	t.Parallel()
	b := testworld.NewBrowsers(t)
	b.Login("before")
	b.Enter("shop", 1)
	testworld.Kit.Publisher(t, b.Ground, "users").Publish("o1", "o1", "admin", &usersv1.OrgDeactivated{Generation: 2})
	testkit.Until(t, b.DB, "logouts", `exists (select from logouts where client_id = 'shop')`)
}
