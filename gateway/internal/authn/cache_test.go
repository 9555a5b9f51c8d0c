package authn_test

import (
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"herald/gateway/internal/testworld"
	"herald/shared/bus"
	"herald/shared/contract"
	"herald/shared/resource"
	"herald/shared/secret"
)

func grpcHeader(md *metadata.MD) grpc.CallOption { return grpc.Header(md) }

func TestCallerIsCachedForTwoSeconds(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	get := func() testworld.Answer {
		return w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(token)...)
	}
	get().OK(t)
	w.Revoke(token)
	get().OK(t)
	if n := w.Resolved.Load(); n != 1 {
		t.Errorf("resolved %d times", n)
	}
	w.Clock.Advance(2 * time.Second)
	get().Refused(t, 401, "UNAUTHENTICATED")
	before := w.Resolved.Load()
	get().Refused(t, 401, "UNAUTHENTICATED")
	if w.Resolved.Load() == before {
		t.Error("a refusal was remembered")
	}
}

func TestEventEndsCachedCaller(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, e := range []userEvent{
		{"human.initialized", "u1", `{}`, false},
		{"human.password_changed", "u1", `{}`, false},
		{"member.removed", "m1", `{"userId":"u1"}`, false},
		{"pat.removed", "p1", `{"userId":"u1"}`, false},
		{"pat.removed", "p1", `[]`, true},
		{"org.deactivated", "o1", `{}`, true},
		{"session.ended", "s1", `{}`, true},
	} {
		for _, subject := range []string{"events.users." + e.kind + ".o1", "outbox.users"} {
			t.Run(subject+" "+e.kind+" "+e.data, func(t *testing.T) { e.ends(t, w, subject) })
		}
	}
}

// userEvent is a message about a change of the user u1.
type userEvent struct {
	kind, about, data string
	// others reports whether the message names no user, so that all users must be asked for again.
	others bool
}

// ends checks that the gateway asks for the user again after the message.
func (e userEvent) ends(t *testing.T, w *testworld.World, subject string) {
	t.Helper()
	w.Clock.Stop()
	one := w.Owner()
	two := w.Token("u2", []string{"ORG_OWNER"}, "openid", contract.Audience)
	get := func(token string) int {
		return w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(token)...).StatusCode
	}
	if get(one) != 200 || get(two) != 200 {
		t.Fatal("not let in")
	}
	w.Revoke(one)
	w.Revoke(two)
	m := &nats.Msg{Subject: subject, Data: []byte(e.data), Header: nats.Header{
		"ce-id": {resource.NewID()}, "ce-type": {"herald.users." + e.kind + ".v1"}, "ce-subject": {e.about},
	}}
	if err := w.Services[0].PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	published := time.Now()
	for get(one) != 401 { // until the message has been handled; the caller would stay cached, because the clock stands
		if time.Since(published) > 30*time.Second {
			t.Fatal("the ended token was accepted long after the message")
		}
	}
	if got := get(two) == 401; got != e.others {
		t.Errorf("another user was dropped: %v", got)
	}
}

func TestRequestWithoutNATSIsUnavailable(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	get := func() testworld.Answer {
		return w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(token)...)
	}
	get().OK(t)
	for _, s := range w.Services {
		s.Stop()
	}
	get().Refused(t, 503, "UNAVAILABLE")
	bus.Stop(w.Bus.Server.(*server.Server))
	for began := time.Now(); w.Do(t, "GET", "/readyz", "").StatusCode != 503; { // until the gateway has noticed
		if time.Since(began) > 30*time.Second {
			t.Fatal("ready without NATS")
		}
	}
	got := get()
	if got.Refused(t, 503, "UNAVAILABLE"); got.Header.Get("Retry-After") != "1" {
		t.Error(got.Header)
	}
	if got := w.Do(t, "GET", "/livez", ""); got.StatusCode != 200 {
		t.Errorf("not alive: %d", got.StatusCode)
	}
}

func TestRequestsAtOnceShareOneLookup(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	release := w.Hold()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { w.Do(t, "GET", "/auth/v1/users/me", "", testworld.As(token)...).OK(t) })
	}
	asked(t, w)
	release()
	all.Wait()
	if n := w.Resolved.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// A token becomes valid while the gateway waits for the answer that it is unknown. Later requests with
// it are accepted.
func TestTokenThatBecomesValidIsAccepted(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := secret.PersonalAccessToken.New().Reveal()
	get := func() testworld.Answer { return w.Do(t, "GET", "/auth/v1/users/me", "", testworld.As(token)...) }
	release := w.Hold()
	var all sync.WaitGroup
	all.Go(func() { get().Refused(t, 401, "UNAUTHENTICATED") })
	asked(t, w)
	w.Grant(token, "u1", nil, "openid", contract.Audience)
	for range 20 {
		all.Go(func() { get().OK(t) })
	}
	for range 20 { // time for the others to wait
		w.Do(t, "GET", "/livez", "")
	}
	release()
	all.Wait()
}

// asked waits until ResolveToken has decided.
func asked(t testing.TB, w *testworld.World) {
	t.Helper()
	for began := time.Now(); w.Resolved.Load() == 0; {
		if w.Do(t, "GET", "/livez", ""); time.Since(began) > 30*time.Second {
			t.Fatal("nobody asked")
		}
	}
}
