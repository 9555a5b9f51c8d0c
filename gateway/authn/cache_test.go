package authn

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/permission"
	"herald/shared/testkit"
)

func of(userID string, at time.Time) Pass {
	return Pass{caller: caller.Caller{UserID: userID}, asked: at}
}

func TestNothingIsBelievedFromBeforeAnInterruption(t *testing.T) {
	t.Parallel()
	nc, c, now := testkit.Connect(t, testkit.Ground(t), bus.Gateway), newCache(), time.Now()
	c.keep(of("u1", now), c.epoch())
	if _, ok := c.find(key{}, now, nc); !ok {
		t.Fatal("not found")
	}
	changed := nc.StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	if err := nc.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	for status := range changed {
		if _, ok := c.find(key{}, now, nc); ok {
			t.Errorf("believed when %v", status)
		}
		if status == nats.CONNECTED {
			break
		}
	}
	nc.Close()
	p := of("u1", now)
	p.reconnects = nc.Stats().Reconnects
	c.keep(p, c.epoch())
	if _, ok := c.find(key{}, now, nc); ok {
		t.Error("believed without a connection")
	}
}

func TestAnswersToOldQuestionsAreNotKept(t *testing.T) {
	t.Parallel()
	nc, c, now := testkit.Connect(t, testkit.Ground(t), bus.Gateway), newCache(), time.Now()
	asked := c.epoch()
	c.drop(drop{"e1", "u2"}) // whoever it is about: the answer may have been given before it
	c.keep(of("u1", now), asked)
	if _, ok := c.find(key{}, now, nc); ok {
		t.Error("kept")
	}
}

// News of one event comes twice, in either order: the first drops what is known from
// before it, the second leaves what was asked for in between.
func TestNewsCountsOnce(t *testing.T) {
	t.Parallel()
	a := &Authenticator{known: newCache()}
	known := func(userID string) bool {
		_, ok := a.known.passes[key{organization: userID}]
		return ok
	}
	keep := func(userID string, epoch uint64) {
		a.known.keep(Pass{key: key{organization: userID}, caller: caller.Caller{UserID: userID}}, epoch)
	}
	news := func(eventID, kind, data string) {
		a.hear(&nats.Msg{Header: nats.Header{"ce-id": {eventID}, "ce-type": {"herald.users." + kind + ".v1"}}, Data: []byte(data)})
	}
	const u1, u2 = `{"userId":"u1"}`, `{"userId":"u2"}`
	keep("u1", a.known.epoch())
	asked := a.known.epoch()
	news("e1", "member.removed", u1)
	if known("u1") {
		t.Fatal("the first news dropped nothing")
	}
	keep("u1", asked)
	if known("u1") {
		t.Fatal("kept an answer to a question from before the news")
	}
	for _, c := range []struct {
		name, eventID, kind, data string
		one, two                  bool // who is known afterwards
	}{
		{"a repeat", "e1", "member.removed", u1, true, true},
		{"another change of the user", "e2", "member.removed", u1, false, true},
		{"its repeat", "e2", "member.removed", u1, true, true},
		{"the first, after another", "e1", "member.removed", u1, true, true},
		{"the same about another user", "e1", "member.removed", u2, true, false},
		{"the same about everybody", "e1", "member.removed", `[]`, false, false},
		{"a change of everybody", "e3", "org.deactivated", `{}`, false, false},
		{"its repeat", "e3", "org.deactivated", `{}`, true, true},
		{"without an id", "", "member.removed", u1, false, true},
		{"without an id, again", "", "member.removed", u1, false, true},
	} {
		keep("u1", a.known.epoch())
		keep("u2", a.known.epoch())
		news(c.eventID, c.kind, c.data)
		if known("u1") != c.one || known("u2") != c.two {
			t.Errorf("%s: u1 %v, u2 %v", c.name, known("u1"), known("u2"))
		}
	}
	for i := range recalled {
		keep("u1", a.known.epoch())
		news(fmt.Sprint("later ", i), "member.removed", u1)
		if known("u1") {
			t.Fatalf("the %d. of many was not heard", i)
		}
	}
	keep("u1", a.known.epoch())
	if news("e1", "member.removed", u1); known("u1") {
		t.Error("recalled for ever")
	}
}

// News that drops nobody, because of what was known, is heard again.
func TestNewsThatDroppedNobodyIsNotRecalled(t *testing.T) {
	t.Parallel()
	a := &Authenticator{known: newCache()}
	owner := caller.Caller{UserID: "u1", Memberships: []permission.Membership{{OrganizationID: "o1", Roles: []string{"ORG_OWNER"}}}}
	added := &nats.Msg{Header: nats.Header{"ce-id": {"e1"}, "ce-type": {"herald.users.member.added.v1"}, "ce-organization": {"o1"}},
		Data: []byte(`{"userId":"u1","projectId":"p1","roles":["PROJECT_OWNER"]}`)}
	a.known.keep(Pass{caller: owner}, a.known.epoch())
	if a.hear(added); len(a.known.passes) != 1 {
		t.Fatal("dropped for what it had already")
	}
	owner.Memberships = nil
	a.known.keep(Pass{caller: owner}, a.known.epoch())
	if a.hear(added); len(a.known.passes) != 0 {
		t.Error("not heard")
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache()
	for i := range 3 * remembered {
		c.keep(Pass{key: key{hash: [32]byte{byte(i), byte(i >> 8), byte(i >> 16)}}}, 0)
	}
	if len(c.passes) > remembered {
		t.Errorf("%d passes", len(c.passes))
	}
}

func TestNeedsOfMethods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb, path string
		own, home  bool // without the audience; on no other organization
	}{
		{"GET", "/auth/v1/users/me", true, true},
		{"POST", "/auth/v1/memberships/me/_search", true, true},
		{"POST", "/auth/v1/users/me/auth_factors/otp", true, true},
		{"POST", "/auth/v1/users/me/auth_factors/otp/_verify", true, true},
		{"DELETE", "/auth/v1/users/me/auth_factors/otp", false, true},
		{"PUT", "/auth/v1/users/me/email", false, true},
		{"PUT", "/auth/v1/users/me/_search", false, true},
		{"GET", "/management/v1/users/{user_id}", false, false},
		{"POST", "/admin/v1/orgs/_search", false, true},
	} {
		if got := Needs(c.verb, c.path); (len(got.Scopes) == 1) != c.own || got.Home != c.home {
			t.Errorf("%s %s: %v", c.verb, c.path, got)
		}
	}
}

// Roles that are covered by what is known of a user end no belief, others do.
func TestAddedMembers(t *testing.T) {
	t.Parallel()
	owner := caller.Caller{UserID: "u1", OrganizationID: "o1", Memberships: []permission.Membership{{OrganizationID: "o1", Roles: []string{"ORG_OWNER"}}}}
	for _, c := range []struct {
		organization, data string
		drops              uint64
	}{
		{"o1", `{"userId":"u1","projectId":"p1","roles":["PROJECT_OWNER"]}`, 0},
		{"o1", `{"userId":"u1","roles":["ORG_OWNER_VIEWER"]}`, 0},
		{"o2", `{"userId":"u1","projectId":"p1","roles":["PROJECT_OWNER"]}`, 1},
		{"", `{"userId":"u1","roles":["IAM_OWNER"],"instance":true}`, 1},
		{"o1", `{"userId":"u2","projectId":"p1","roles":["PROJECT_OWNER"]}`, 1}, // perhaps being asked about
		{"o1", `[]`, 1},
	} {
		a := &Authenticator{known: newCache()}
		a.known.keep(Pass{key: key{organization: "o1"}, caller: owner}, 0)
		a.hear(&nats.Msg{Header: nats.Header{"ce-type": {"herald.users.member.added.v1"}, "ce-organization": {c.organization}}, Data: []byte(c.data)})
		if got := a.known.epoch(); got != c.drops {
			t.Errorf("%s %s: %d drops", c.organization, c.data, got)
		}
	}
}

func TestEventsThatChangeNobody(t *testing.T) {
	t.Parallel()
	a := &Authenticator{known: newCache()}
	for kind, drops := range map[string]uint64{
		"herald.users.human.imported.v1": 0, "herald.users.human.created.v1": 0, "herald.users.machine.created.v1": 0,
		"herald.users.pat.added.v1": 0, "herald.users": 0, "": 0, "herald.users.human.initialized.v1": 1, "herald.users.x.y.v1": 1,
	} {
		before := a.known.epoch()
		a.hear(&nats.Msg{Header: nats.Header{"ce-type": {kind}}})
		if got := a.known.epoch() - before; got != drops {
			t.Errorf("%s: %d drops", kind, got)
		}
	}
}
