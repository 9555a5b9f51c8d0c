package authn

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/contract"
	_ "herald/shared/gen/herald/projects/v1" // its events end applications' tokens
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
	c.drop(drop{eventID: "e1", userID: "u2"}) // for every user: the answer may be older than the event
	c.keep(of("u1", now), asked)
	if _, ok := c.find(key{}, now, nc); ok {
		t.Error("kept")
	}
}

// listener returns an Authenticator without a connection; tests pass events to hear.
func listener(t *testing.T) *Authenticator {
	t.Helper()
	events, err := readEvents()
	if err != nil {
		t.Fatal(err)
	}
	return &Authenticator{known: newCache(), events: events}
}

// Each event comes twice, in either order. The first drops callers that were cached before it;
// the second keeps callers that were cached between the two.
func TestEventCountsOnce(t *testing.T) {
	t.Parallel()
	a := listener(t)
	known := func(userID string) bool {
		_, ok := a.known.passes[key{organization: userID}]
		return ok
	}
	keep := func(userID string, epoch uint64) {
		a.known.keep(Pass{key: key{organization: userID}, caller: caller.Caller{UserID: userID}}, epoch)
	}
	hear := func(eventID, kind, data string) {
		a.hear(&nats.Msg{
			Header: nats.Header{contract.HeaderID: {eventID}, contract.HeaderType: {"herald.users." + kind + ".v1"}},
			Data:   []byte(data),
		})
	}
	const u1, u2 = `{"userId":"u1"}`, `{"userId":"u2"}`
	keep("u1", a.known.epoch())
	asked := a.known.epoch()
	hear("e1", "member.removed", u1)
	if known("u1") {
		t.Fatal("the first message dropped nothing")
	}
	keep("u1", asked)
	if known("u1") {
		t.Fatal("cached an answer that was asked for before the event")
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
		hear(c.eventID, c.kind, c.data)
		if known("u1") != c.one || known("u2") != c.two {
			t.Errorf("%s: u1 %v, u2 %v", c.name, known("u1"), known("u2"))
		}
	}
	for i := range maxDone {
		keep("u1", a.known.epoch())
		hear(fmt.Sprint("later ", i), "member.removed", u1)
		if known("u1") {
			t.Fatalf("the %d. of many was not heard", i)
		}
	}
	keep("u1", a.known.epoch())
	if hear("e1", "member.removed", u1); known("u1") {
		t.Error("a drop is remembered for ever")
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache()
	for i := range 3 * maxPasses {
		c.keep(Pass{key: key{hash: [32]byte{byte(i), byte(i >> 8), byte(i >> 16)}}}, 0)
	}
	if len(c.passes) > maxPasses {
		t.Errorf("%d passes", len(c.passes))
	}
}

func TestWhomEventsEnd(t *testing.T) {
	t.Parallel()
	a := listener(t)
	for _, c := range []struct {
		kind, subject, data string
		drops               uint64
		one, two            bool // who is known afterwards
	}{
		{"herald.users.human.imported.v1", "u1", `{}`, 0, true, true},
		{"herald.users.human.created.v1", "u1", `{}`, 0, true, true},
		{"herald.users.org.changed.v1", "o1", `{}`, 0, true, true},
		{"herald.users.pat.added.v1", "t1", `{"userId":"u1"}`, 0, true, true},
		{"herald.projects.user_grant.added.v1", "g1", `{"userId":"u1","projectId":"p1"}`, 0, true, true},
		{"herald.projects.project.deactivated.v1", "p1", `{}`, 1, false, true},
		{"herald.projects.project.removed.v1", "p1", `{}`, 1, false, true},
		{"herald.projects.project.deactivated.v1", "p3", `{}`, 1, true, true},
		{"herald.projects.project.deactivated.v1", "u1", `{}`, 1, true, true},
		{"herald.projects.project.deactivated.v1", "", `{}`, 1, false, false},
		{"herald.projects.application.deactivated.v1", "a2", `{"projectId":"p1"}`, 1, true, false},
		{"herald.projects.application.removed.v1", "a1", `{"projectId":"p1"}`, 1, false, true},
		{"herald.projects.application.changed.v1", "a1", `{"projectId":"p2"}`, 1, false, true},
		{"herald.projects.application.deactivated.v1", "p1", `{"projectId":"p1"}`, 1, true, true},
		{"", "u1", `{"userId":"u1"}`, 0, true, true},
		{"herald.users.pat.removed.v1", "t1", `{"userId":"u1"}`, 1, false, true},
		{"herald.users.member.added.v1", "u1", `{"userId":"u1","projectId":"p1"}`, 1, false, true},
		{"herald.users.member.changed.v1", "u1", `[]`, 1, false, false},
		{"herald.users.human.initialized.v1", "u2", `{}`, 1, true, false},
		{"herald.users.human.initialized.v1", "", `{}`, 1, false, false},
		{"herald.users.org.deactivated.v1", "o1", `{}`, 1, false, false},
		{"herald.users.x.y.v1", "u1", `{"userId":"u1"}`, 1, false, false}, // an event of a newer release
		{"herald.users", "u1", `{}`, 1, false, false},
	} {
		for _, n := range []string{"1", "2"} {
			who := caller.Caller{UserID: "u" + n, ClientID: "a" + n, ClientProjectID: "p" + n}
			a.known.keep(Pass{key: key{organization: who.UserID}, caller: who}, a.known.epoch())
		}
		before := a.known.epoch()
		a.hear(&nats.Msg{
			Header: nats.Header{contract.HeaderType: {c.kind}, contract.HeaderSubject: {c.subject}},
			Data:   []byte(c.data),
		})
		_, one := a.known.passes[key{organization: "u1"}]
		_, two := a.known.passes[key{organization: "u2"}]
		if drops := a.known.epoch() - before; drops != c.drops || one != c.one || two != c.two {
			t.Errorf("%s of %q: %d drops, u1 %v, u2 %v", c.kind, c.subject, drops, one, two)
		}
	}
}
