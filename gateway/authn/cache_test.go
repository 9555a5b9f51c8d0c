package authn

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/testkit"
)

func connect(t *testing.T) *nats.Conn {
	t.Helper()
	g := testkit.Ground(t)
	address := g.Bus
	address.User, address.Password = bus.Gateway, bus.Password(g.Keys, bus.Gateway)
	nc, err := bus.Connect(t.Context(), address, g.Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func of(userID string, at time.Time) entry {
	return entry{caller: caller.Caller{UserID: userID}, from: at}
}

func TestNothingIsBelievedFromBeforeAnInterruption(t *testing.T) {
	t.Parallel()
	nc, c, now := connect(t), newCache(), time.Now()
	c.keep(key{}, of("u1", now), c.epoch())
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
	e := of("u1", now)
	e.reconnects = nc.Stats().Reconnects
	c.keep(key{}, e, c.epoch())
	if _, ok := c.find(key{}, now, nc); ok {
		t.Error("believed without a connection")
	}
}

func TestAnswersToOldQuestionsAreNotKept(t *testing.T) {
	t.Parallel()
	nc, c, now := connect(t), newCache(), time.Now()
	asked := c.epoch()
	c.drop("u2") // whoever it is about: the answer may have been given before it
	c.keep(key{}, of("u1", now), asked)
	if _, ok := c.find(key{}, now, nc); ok {
		t.Error("kept")
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache()
	for i := range 3 * remembered {
		c.keep(key{hash: [32]byte{byte(i), byte(i >> 8), byte(i >> 16)}}, entry{}, 0)
	}
	if len(c.entries) > remembered {
		t.Errorf("%d entries", len(c.entries))
	}
}

func TestScopesOfMethods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb, path string
		own        bool
	}{
		{"GET", "/auth/v1/users/me", true},
		{"POST", "/auth/v1/memberships/me/_search", true},
		{"POST", "/auth/v1/users/me/auth_factors/otp", true},
		{"POST", "/auth/v1/users/me/auth_factors/otp/_verify", true},
		{"DELETE", "/auth/v1/users/me/auth_factors/otp", false},
		{"PUT", "/auth/v1/users/me/email", false},
		{"PUT", "/auth/v1/users/me/_search", false},
		{"GET", "/management/v1/users/{user_id}", false},
		{"POST", "/admin/v1/orgs/_search", false},
	} {
		if got := len(Scopes(c.verb, c.path)) == 1; got != c.own {
			t.Errorf("%s %s: %v", c.verb, c.path, Scopes(c.verb, c.path))
		}
	}
}

func TestEventsThatChangeNobody(t *testing.T) {
	t.Parallel()
	a := &Authenticator{known: newCache()}
	for subject, drops := range map[string]uint64{
		"events.users.human.imported.o1": 0, "events.users.human.created.o1": 0, "events.users.machine.created.o1": 0,
		"events.users.pat.added.o1": 0, "events.users": 0, "events.users.human.initialized.o1": 1, "events.users.x.y.z": 1,
	} {
		before := a.known.epoch()
		a.hear(&nats.Msg{Subject: subject})
		if got := a.known.epoch() - before; got != drops {
			t.Errorf("%s: %d drops", subject, got)
		}
	}
}
