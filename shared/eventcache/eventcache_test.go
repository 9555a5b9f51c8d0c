package eventcache

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/bus"
	"herald/shared/contract"
	_ "herald/shared/gen/herald/auth/v1" // their events end what is kept
	_ "herald/shared/gen/herald/projects/v1"
	_ "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// open returns changes that a connection of the gateway receives, and answers that they end.
func open(t *testing.T) (*Changes, *Answers[string, int], *testkit.Clock) {
	t.Helper()
	at := testkit.ClockAt(time.Now())
	c, err := Listen(testkit.Connect(t, testkit.Ground(t), bus.Gateway), at.Now)
	if err != nil {
		t.Fatal(err)
	}
	return c, NewAnswers[string, int](c), at
}

// found reports whether the answer to a question may be used.
func (a *Answers[K, V]) found(question K) bool {
	_, ok := a.Find(question)
	return ok
}

// message returns an event of users as it is published.
func message(eventID, kind, subject, data string) *nats.Msg {
	return &nats.Msg{
		Header: nats.Header{
			contract.HeaderID: {eventID}, contract.HeaderType: {kind}, contract.HeaderSubject: {subject},
		}, Data: []byte(data),
	}
}

func (c *Changes) receive(m *nats.Msg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record(m)
}

func TestAnswersAreUsedForTwoSeconds(t *testing.T) {
	t.Parallel()
	c, a, at := open(t)
	asked := c.Now()
	a.Keep("q", 1, asked, User("u1"))
	at.Advance(MaxAge - 1)
	if !a.found("q") {
		t.Error("not found")
	}
	if at.Advance(1); a.found("q") {
		t.Error("used after two seconds")
	}
}

func TestNothingIsUsedFromBeforeAnInterruption(t *testing.T) {
	t.Parallel()
	c, a, _ := open(t)
	a.Keep("q", 1, c.Now(), User("u1"))
	if !a.found("q") {
		t.Fatal("not found")
	}
	changed := c.conn.StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	if err := c.conn.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	for status := range changed {
		if a.found("q") {
			t.Errorf("used when %v", status)
		}
		if status == nats.CONNECTED {
			break
		}
	}
	asked := c.Now()
	c.conn.Close()
	if a.Keep("q", 1, asked, User("u1")); a.found("q") {
		t.Error("used without a connection")
	}
}

// The epoch ends with what concerns everybody, and with an interruption. It does not end with the change of one user.
func TestEpochEndsWithWhatConcernsEverybody(t *testing.T) {
	t.Parallel()
	c, _, at := open(t)
	first := c.Epoch()
	at.Advance(time.Hour)
	c.receive(message("1", "herald.users.human.password_changed.v1", "u1", `{}`))
	if got := c.Epoch(); got != first {
		t.Errorf("another epoch after the change of a user: %d, not %d", got, first)
	}
	for i, kind := range []string{"herald.auth.signing_key.added.v1", "herald.auth.signing_key.removed.v1"} {
		before := c.Epoch()
		for range 2 { // as a wake-up and through the stream
			c.receive(message(fmt.Sprint("key ", i), kind, "k1", `{}`))
		}
		if got := c.Epoch(); got != before+1 {
			t.Errorf("%d after %s, before it %d", got, kind, before)
		}
	}
	before, connected := c.Epoch(), c.conn.StatusChanged(nats.CONNECTED)
	if err := c.conn.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	<-connected
	if c.Epoch() == before {
		t.Error("the same epoch after an interruption")
	}
}

// An answer that was asked for before an event about its subject is not used.
func TestAnswersToOldQuestionsAreNotUsed(t *testing.T) {
	t.Parallel()
	c, a, _ := open(t)
	asked := c.Now()
	c.receive(message("e1", "herald.users.user.deactivated.v1", "u2", `{}`))
	a.Keep("of u1", 1, asked, User("u1"))
	a.Keep("of u2", 1, asked, User("u2"))
	a.Keep("of both", 1, asked, User("u1"), User("u2"))
	if !a.found("of u1") || a.found("of u2") || a.found("of both") {
		t.Errorf("u1 %v, u2 %v, both %v", a.found("of u1"), a.found("of u2"), a.found("of both"))
	}
	asked = c.Now()
	c.Drop(User("u1"))
	if a.Keep("of u1", 1, asked, User("u1")); a.found("of u1") {
		t.Error("used after a drop")
	}
}

// Events that have reached the connection are read before an answer is used, even if the task that reads them is late.
func TestArrivedEventsEndAnswersAtOnce(t *testing.T) {
	t.Parallel()
	c, a, _ := open(t)
	for i := range 1000 {
		a.Keep("q", 1, c.Now(), User("u1"))
		if !a.found("q") {
			t.Fatal("not found")
		}
		asked := c.Now()
		c.waiting <- message(fmt.Sprint(i), "herald.users.user.deactivated.v1", "u1", `{}`)
		if a.found("q") {
			t.Fatal("used after the event has arrived")
		}
		if a.Keep("q", 1, asked, User("u1")); a.found("q") {
			t.Fatal("an older answer is used")
		}
	}
}

func TestListenReceivesWakeUpsAndTheStream(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	users := testkit.Connect(t, g, "users")
	listening, err := Listen(testkit.Connect(t, g, "auth"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for i, subject := range []string{"outbox.users", "events.users.user.locked.o1"} {
		before := listening.Now()
		m := message(fmt.Sprint(i), "herald.users.user.locked.v1", "u1", `{}`)
		m.Subject = subject
		if err := users.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); listening.Now().Count() == before.Count(); {
			if time.Since(began) > 10*time.Second {
				t.Fatalf("nothing was received on %s", subject)
			}
		}
	}
}

func TestAnswerIsKeptUntilAChange(t *testing.T) {
	t.Parallel()
	c, a, _ := open(t)
	var asked int
	refused := errors.New("refused")
	ask := func(err error, about ...Subject) func() (int, []Subject, error) {
		return func() (int, []Subject, error) { asked++; return asked, about, err }
	}
	for _, step := range []struct {
		name  string
		ask   func() (int, []Subject, error)
		value int
		err   error
	}{
		{"a refusal", ask(refused, User("u1")), 1, refused},
		{"about nothing", ask(nil), 2, nil},
		{"about somebody", ask(nil, User("u1")), 3, nil},
		{"again", ask(nil, User("u1")), 3, nil},
	} {
		t.Run(step.name, func(t *testing.T) {
			value, err := a.Ask("q", step.ask)
			if value != step.value || !errors.Is(err, step.err) {
				t.Errorf("got %d, %v", value, err)
			}
		})
	}
	c.Drop(User("u1"))
	if value, _ := a.Ask("q", ask(nil, User("u1"))); value != 4 {
		t.Errorf("after a change: %d", value)
	}
	a.Keep("q", 1, c.Now(), User("u1"))
	if value, _ := a.Ask("q", func() (int, []Subject, error) { t.Error("asked"); return 0, nil, nil }); value != 1 {
		t.Error("not kept")
	}
	// The change comes while the question is being answered.
	_, _ = a.Ask("other", func() (int, []Subject, error) { c.Drop(User("u1")); return 0, []Subject{User("u1")}, nil })
	if a.found("other") {
		t.Error("used from before a change")
	}
	var none *Answers[string, int]
	if value, err := none.Ask("q", ask(nil, User("u1"))); value != 5 || err != nil {
		t.Errorf("without answers: %d, %v", value, err)
	}
}

// Each event arrives twice. The first arrival ends the answers that were kept before it. The second one has no effect.
func TestEventCountsOnce(t *testing.T) {
	t.Parallel()
	c, a, _ := open(t)
	publish := func(eventID, kind, data string) { c.receive(message(eventID, "herald.users."+kind+".v1", "", data)) }
	const u1, u2 = `{"userId":"u1"}`, `{"userId":"u2"}`
	for _, step := range []struct {
		name, eventID, kind, data string
		one, two                  bool // who is known afterwards
	}{
		{"the first message", "e1", "member.removed", u1, false, true},
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
		t.Run(step.name, func(t *testing.T) {
			a.Keep("u1", 1, c.Now(), User("u1"))
			a.Keep("u2", 1, c.Now(), User("u2"))
			publish(step.eventID, step.kind, step.data)
			if a.found("u1") != step.one || a.found("u2") != step.two {
				t.Errorf("u1 %v, u2 %v", a.found("u1"), a.found("u2"))
			}
		})
	}
	for i := range maxDone {
		a.Keep("u1", 1, c.Now(), User("u1"))
		if publish(fmt.Sprint("later ", i), "member.removed", u1); a.found("u1") {
			t.Fatalf("the %d. of many was ignored", i)
		}
	}
	a.Keep("u1", 1, c.Now(), User("u1"))
	if publish("e1", "member.removed", u1); a.found("u1") {
		t.Error("a change is remembered for ever")
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	c, a, _ := open(t)
	asked := c.Now()
	for i := range 3 * maxSubjects {
		a.Keep(fmt.Sprint(i), 1, asked, User("u1"))
		c.Drop(User(fmt.Sprint(i)))
	}
	if len(a.kept) > maxAnswers || len(c.of) > maxSubjects {
		t.Errorf("%d answers, %d subjects", len(a.kept), len(c.of))
	}
	if last := fmt.Sprint(3*maxSubjects - 1); a.found(last) {
		t.Error("used, although the changes before were forgotten")
	}
}

func TestWhatEventsEnd(t *testing.T) {
	t.Parallel()
	c, a, _ := open(t)
	subjects := map[string]Subject{
		"u1": User("u1"), "a1": Application("a1"), "p1": Project("p1"), "o1": Organization("o1"),
	}
	for _, e := range []struct{ kind, subject, data, ended string }{
		{"herald.users.human.imported.v1", "u1", `{}`, ""},
		{"herald.users.human.created.v1", "u1", `{}`, ""},
		{"herald.users.pat.added.v1", "t1", `{"userId":"u1"}`, ""},
		{"herald.projects.project.role_changed.v1", "p1", `{}`, ""},
		{"", "u1", `{"userId":"u1"}`, ""},

		{"herald.users.human.initialized.v1", "u1", `{}`, "u1"},
		{"herald.users.human.initialized.v1", "a1", `{}`, "-"},
		{"herald.users.pat.removed.v1", "t1", `{"userId":"u1"}`, "u1"},
		{"herald.users.member.added.v1", "u2", `{"userId":"u1","projectId":"p1"}`, "u1"},
		{"herald.users.user.profile_changed.v1", "u1", `{}`, "all"}, // no such event
		{"herald.users.human.profile_changed.v1", "u1", `{}`, "u1"},
		{"herald.users.human.phone_changed.v1", "u1", `{}`, "u1"},
		{"herald.users.human.phone_removed.v1", "u1", `{}`, "u1"},
		{"herald.users.user.name_changed.v1", "u1", `{}`, "u1"},
		{"herald.users.machine.changed.v1", "u1", `{}`, "u1"},
		{"herald.projects.user_grant.added.v1", "g1", `{"userId":"u1","projectId":"p1"}`, "u1"},
		{"herald.projects.user_grant.changed.v1", "g1", `{"userId":"u1","projectId":"p1"}`, "u1"},
		{"herald.projects.user_grant.removed.v1", "g1", `{"userId":"u1","projectId":"p1"}`, "u1"},

		{"herald.projects.project.changed.v1", "p1", `{}`, "p1"},
		{"herald.projects.project.deactivated.v1", "p1", `{}`, "p1"},
		{"herald.projects.project.deactivated.v1", "u1", `{}`, "-"},
		{"herald.projects.project.removed.v1", "p1", `{}`, "p1"},
		{"herald.projects.project.role_removed.v1", "p1", `{}`, "p1"},
		{"herald.projects.project_grant.added.v1", "g1", `{"projectId":"p1"}`, "p1"},
		{"herald.projects.project_grant.changed.v1", "g1", `{"projectId":"p1"}`, "p1"},
		{"herald.projects.project_grant.deactivated.v1", "g1", `{"projectId":"p1"}`, "p1"},
		{"herald.projects.project_grant.reactivated.v1", "g1", `{"projectId":"p1"}`, "p1"},
		{"herald.projects.project_grant.removed.v1", "g1", `{"projectId":"p1"}`, "p1"},

		{"herald.projects.application.changed.v1", "a1", `{"projectId":"p1"}`, "a1"},
		{"herald.projects.application.deactivated.v1", "a1", `{"projectId":"p1"}`, "a1"},
		{"herald.projects.application.removed.v1", "a1", `{"projectId":"p1"}`, "a1"},
		{"herald.projects.application.secret_generated.v1", "a1", `{"projectId":"p1"}`, "a1"},
		{"herald.projects.application.key_removed.v1", "a1", `{"projectId":"p1"}`, "a1"},
		{"herald.projects.application.deactivated.v1", "p1", `{"projectId":"p1"}`, "-"},

		{"herald.users.org.changed.v1", "o1", `{}`, "o1"},
		{"herald.users.org.deactivated.v1", "o2", `{}`, "all"},

		{"herald.auth.authorization.ended.v1", "x", `{"userId":"u1","clientId":"a1"}`, "u1"},
		{"herald.auth.authorization.ended.v1", "x", `{"clientId":"a1"}`, "a1"},
		{"herald.auth.authorization.token_revoked.v1", "x", `{"userId":"u1","clientId":"a1"}`, "u1"},
		{"herald.auth.authorization.token_revoked.v1", "x", `{"clientId":"a1"}`, "a1"},
		{"herald.auth.authorization.token_revoked.v1", "x", `{}`, "all"},
		{"herald.auth.session.ended.v1", "x", `{"userId":"u1"}`, "u1"},

		{"herald.projects.project.deactivated.v1", "", `{}`, "all"},
		{"herald.users.member.changed.v1", "u1", `[]`, "all"},
		{"herald.users.human.initialized.v1", "", `{}`, "all"},
		{"herald.users.x.y.v1", "u1", `{"userId":"u1"}`, "all"}, // an event of a newer release
		{"herald.users", "u1", `{}`, "all"},
	} {
		for name, s := range subjects {
			a.Keep(name, 1, c.Now(), s)
		}
		before := c.Now().Count()
		c.receive(message("", e.kind, e.subject, e.data))
		if changed := c.Now().Count() > before; changed != (e.ended != "") {
			t.Errorf("%s of %q %s changed something: %v", e.kind, e.subject, e.data, changed)
		}
		for name := range subjects {
			if ended := !a.found(name); ended != (e.ended == name || e.ended == "all") {
				t.Errorf("%s of %q %s ended %s: %v", e.kind, e.subject, e.data, name, ended)
			}
		}
	}
}
