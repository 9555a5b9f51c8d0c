package gateway_test

import (
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"herald/shared/bus"
	"herald/shared/contract"
	"herald/shared/resource"
	"herald/shared/secret"
)

func grpcHeader(md *metadata.MD) grpc.CallOption { return grpc.Header(md) }

func TestCallersAreBelievedForTwoSeconds(t *testing.T) {
	t.Parallel()
	w := start(t)
	token := w.owner()
	get := func() answer { return w.do(t, "GET", "/management/v1/users/u1", "", as(token)...) }
	get().ok(t)
	w.revoke(token)
	get().ok(t)
	if n := w.resolved.Load(); n != 1 {
		t.Errorf("resolved %d times", n)
	}
	w.clock.Advance(2 * time.Second)
	get().refused(t, 401, "UNAUTHENTICATED")
	before := w.resolved.Load()
	get().refused(t, 401, "UNAUTHENTICATED")
	if w.resolved.Load() == before {
		t.Error("a refusal was remembered")
	}
}

func TestEventsEndBelief(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, c := range []struct {
		kind, about, data string
		other             bool // whether it must ask for another user too
	}{
		{"human.initialized", "u1", `{}`, false},
		{"human.password_changed", "u1", `{}`, false},
		{"member.removed", "m1", `{"userId":"u1"}`, false},
		{"pat.removed", "p1", `{"userId":"u1"}`, false},
		{"pat.removed", "p1", `[]`, true},
		{"org.deactivated", "o1", `{}`, true},
		{"session.ended", "s1", `{}`, true},
	} {
		for _, subject := range []string{"events.users." + c.kind + ".o1", "outbox.users"} {
			w.ends(t, subject, c.kind, c.about, c.data, c.other)
		}
	}
}

// ends checks that after a message about a user's change the gateway asks for that user again.
// other says that the message names no user, so that it must ask for all others too.
func (w *world) ends(t *testing.T, subject, kind, about, data string, other bool) {
	t.Helper()
	w.clock.Stop()
	one := w.owner()
	two := w.token("u2", []string{"ORG_OWNER"}, "openid", contract.Audience)
	get := func(token string) int {
		return w.do(t, "GET", "/management/v1/users/u1", "", as(token)...).StatusCode
	}
	if get(one) != 200 || get(two) != 200 {
		t.Fatal("not let in")
	}
	w.revoke(one)
	w.revoke(two)
	m := &nats.Msg{Subject: subject, Data: []byte(data), Header: nats.Header{
		"ce-id": {resource.NewID()}, "ce-type": {"herald.users." + kind + ".v1"}, "ce-subject": {about},
	}}
	if err := w.services[0].PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	published := time.Now()
	for get(one) != 401 { // until the message has been handled; the caller would stay cached, because the clock stands
		if time.Since(published) > 30*time.Second {
			t.Fatalf("%s on %s: the ended token was accepted long after the message", kind, subject)
		}
	}
	if got := get(two) == 401; got != other {
		t.Errorf("%s on %s: another user was dropped: %v", kind, subject, got)
	}
}

func TestCacheWithoutTheBus(t *testing.T) {
	t.Parallel()
	w := start(t)
	token := w.owner()
	get := func() answer { return w.do(t, "GET", "/management/v1/users/u1", "", as(token)...) }
	get().ok(t)
	for _, s := range w.services {
		s.Stop()
	}
	get().refused(t, 503, "UNAVAILABLE")
	bus.Stop(w.Bus.Server.(*server.Server))
	for began := time.Now(); w.do(t, "GET", "/readyz", "").StatusCode != 503; { // until the gateway has noticed
		if time.Since(began) > 30*time.Second {
			t.Fatal("ready without NATS")
		}
	}
	got := get()
	if got.refused(t, 503, "UNAVAILABLE"); got.Header.Get("Retry-After") != "1" {
		t.Error(got.Header)
	}
	if got := w.do(t, "GET", "/livez", ""); got.StatusCode != 200 {
		t.Errorf("not alive: %d", got.StatusCode)
	}
}

func TestManyRequestsAskOnce(t *testing.T) {
	t.Parallel()
	w := start(t)
	token := w.owner()
	release := w.hold()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { w.do(t, "GET", "/auth/v1/users/me", "", as(token)...).ok(t) })
	}
	w.asked(t)
	release()
	all.Wait()
	if n := w.resolved.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// A token becomes valid while the gateway waits for the answer that it is unknown. Later requests with
// it are accepted.
func TestTokenThatBecomesValidIsAccepted(t *testing.T) {
	t.Parallel()
	w := start(t)
	token := secret.PersonalAccessToken.New().Reveal()
	get := func() answer { return w.do(t, "GET", "/auth/v1/users/me", "", as(token)...) }
	release := w.hold()
	var all sync.WaitGroup
	all.Go(func() { get().refused(t, 401, "UNAUTHENTICATED") })
	w.asked(t)
	w.grant(token, "u1", nil, "openid", contract.Audience)
	for range 20 {
		all.Go(func() { get().ok(t) })
	}
	for range 20 { // time for the others to wait
		w.do(t, "GET", "/livez", "")
	}
	release()
	all.Wait()
}

// asked waits until ResolveToken has decided.
func (w *world) asked(t testing.TB) {
	t.Helper()
	for began := time.Now(); w.resolved.Load() == 0; {
		if w.do(t, "GET", "/livez", ""); time.Since(began) > 30*time.Second {
			t.Fatal("nobody asked")
		}
	}
}
