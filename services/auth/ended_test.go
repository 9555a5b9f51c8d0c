package auth

import (
	"testing"

	"google.golang.org/protobuf/proto"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// enter lets a client hear of the end of the newest session, whose user had that generation.
func (b browsers) enter(clientID string, generation int) {
	b.Helper()
	if _, err := b.db.Exec(b.Context(), `with newest as (
			update sessions set user_generation = $2
			where id = (select id from sessions order by created_at desc limit 1)
			returning id
		)
		insert into session_clients select id, $1, 'o2' from newest`, clientID, generation); err != nil {
		b.Fatal(err)
	}
}

// Whatever ends the logins of a person ends the sessions, so that applications hear of it. A newer login goes on.
func TestChangesEndSessions(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]proto.Message{
		"locked": &usersv1.UserLocked{}, "deactivated": &usersv1.UserDeactivated{},
		"another password": &usersv1.HumanPasswordChanged{}, "no password": &usersv1.HumanPasswordRemoved{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBrowsers(t)
			b.login("before")
			b.enter("shop", 99) // sessions are judged by their generations: the one that goes on comes first
			b.login("after")
			b.enter("bank", 1)
			kit.Herald(t, b.ground, "users").Tell("o1", "u1", "admin", changed)
			testkit.Until(t, b.db, "logouts", `exists (select from logouts where client_id = 'shop')`)
			if n := testkit.Rows(t, b.db, `session_clients where client_id = 'bank'`); n != 1 {
				t.Error("the newer login has ended")
			}
			if n := testkit.Rows(t, b.db, `session_clients where client_id = 'shop'`); n != 0 {
				t.Error("the older login is left")
			}
		})
	}
}

// A deactivated organization ends the sessions of its users from before.
func TestOrganizationEndsSessions(t *testing.T) {
	t.Parallel()
	b := newBrowsers(t)
	b.login("before")
	b.enter("shop", 1)
	kit.Herald(t, b.ground, "users").Tell("o1", "o1", "admin", &usersv1.OrgDeactivated{Generation: 2})
	testkit.Until(t, b.db, "logouts", `exists (select from logouts where client_id = 'shop')`)
}
