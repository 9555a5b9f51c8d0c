package consumer_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	idpv1 "herald/shared/gen/herald/idp/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
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

// Every change after which an authorization cannot be used ends it, also after its session is over. The event names the
// change.
func TestChangesEndAuthorizations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		service, id string
		changed     proto.Message
	}{
		"user locked":          {"users", "u1", &usersv1.UserLocked{}},
		"user deactivated":     {"users", "u1", &usersv1.UserDeactivated{}},
		"password":             {"users", "u1", &usersv1.HumanPasswordChanged{}},
		"user removed":         {"users", "u1", &usersv1.UserRemoved{}},
		"link to the provider": {"users", "u1", &usersv1.IdpLinkRemoved{IdpId: "i"}},
		"provider deactivated": {"idp", "i", &idpv1.IdpDeactivated{}},
		"organization":         {"users", "o1", &usersv1.OrgDeactivated{Generation: 2}},
		"its organization":     {"users", "o2", &usersv1.OrgDeactivated{Generation: 2}},
		"project":              {"projects", "p1", &projectsv1.ProjectDeactivated{Generation: 2}},
		"application": {"projects", "shop",
			&projectsv1.ApplicationDeactivated{ProjectId: "p1", Generation: 2}},
		"application removed": {"projects", "shop", &projectsv1.ApplicationRemoved{ProjectId: "p1"}},
		"project grant":       {"projects", "g", &projectsv1.ProjectGrantRemoved{ProjectId: "p1", GrantedOrgId: "o1"}},
		"project grant, ended": {"projects", "g",
			&projectsv1.ProjectGrantEnded{ProjectId: "p1", GrantedOrgId: "o1"}},
		"grant of a named project": {"projects", "g",
			&projectsv1.ProjectGrantEnded{ProjectId: "p2", GrantedOrgId: "o2"}},
		"named project removed": {"projects", "p2", &projectsv1.ProjectRemoved{}},
		"project grant, inactive": {"projects", "g",
			&projectsv1.ProjectGrantDeactivated{ProjectId: "p1", GrantedOrgId: "o1"}},
		"role": {"users", "m", &usersv1.MemberAdded{UserId: "u1",
			State: usersv1.MembershipState_MEMBERSHIP_STATE_ACTIVE}},
		"accepted role": {"users", "m", &usersv1.MemberAccepted{UserId: "u1"}},
		"trust": {"projects", "shop", &projectsv1.ApplicationChanged{ProjectId: "p1",
			Changed: []string{"name", "trusted"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := testworld.NewBrowsers(t)
			testworld.ServeProjects(t, b.Ground, testworld.NewOthers())
			silent(t, b)
			cause := testworld.Kit.Publisher(t, b.Ground, test.service).Publish("o1", test.id, "admin", test.changed)
			testkit.Until(t, b.DB, "events", `exists (select from events where aggregate_id = 'a' and name = 'ended'
				and data->>'cause' = $1)`, cause)
			if testkit.Rows(t, b.DB, "authorizations") != 0 {
				t.Error("it is there")
			}
		})
	}
}

// silent makes an authorization that u1 gave without being asked.
func silent(t *testing.T, b testworld.Browsers) {
	t.Helper()
	if err := b.Store.Issue(t.Context(), domain.Authorization{
		ID: "a", ClientID: "shop", ClientGeneration: 1, ProjectID: "p1", ProjectGeneration: 1,
		ClientOrgID: "o2", ClientOrgGeneration: 1, UserID: "u1", UserGeneration: 99, OrgID: "o1",
		OrgGeneration: 1, SessionID: "over", ByTrust: true,
		Credential: "idp:i:x", Scopes: []string{}, Audience: []string{"shop", "p1", "p2"}, Grounds: "grounds",
		AMR: []string{}, AuthTime: time.Now(),
		ExpiresAt: time.Now().Add(time.Hour),
	}, domain.Use{}); err != nil {
		t.Fatal(err)
	}
}

// A membership gives nothing before the person agrees to it, so it ends nothing before.
func TestPendingMembershipEndsNothing(t *testing.T) {
	t.Parallel()
	b := testworld.NewBrowsers(t)
	testworld.ServeProjects(t, b.Ground, testworld.NewOthers())
	silent(t, b)
	users := testworld.Kit.Publisher(t, b.Ground, "users")
	users.Publish("o1", "m", "admin", &usersv1.MemberAdded{UserId: "u1",
		State: usersv1.MembershipState_MEMBERSHIP_STATE_PENDING})
	cause := users.Publish("o1", "m", "admin", &usersv1.MemberAccepted{UserId: "u1"})
	testkit.Until(t, b.DB, "events", `exists (select from events where aggregate_id = 'a' and name = 'ended')`)
	if n := testkit.Rows(t, b.DB, `events where aggregate_id = 'a' and data->>'cause' = $1`, cause); n != 1 {
		t.Error("it has ended before")
	}
}
