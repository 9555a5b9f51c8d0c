package rpc_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"herald/shared/bus"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// If a frozen replica has taken a request, another replica answers it. A slow replica gets a request only once.
func TestSafeMethodsAreAskedAgain(t *testing.T) {
	t.Parallel()
	frozen := newGate(t)
	slow := func() error {
		<-time.After(900 * time.Millisecond) // how long it takes is the test's subject
		return nil
	}
	w := newWorld(t, users{get: frozen.pass, lock: slow})
	var answered atomic.Int32
	w.serve(users{lock: slow, get: func(context.Context, *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
		answered.Add(1)
		return &usersv1.GetUserResponse{}, nil
	}})
	for len(frozen.entered) < 3 {
		within(t, 5*time.Second, func() {
			if _, err := w.get(w.as("ORG_OWNER"), "u"); err != nil {
				t.Error(err)
			}
		})
	}
	// A slow write does not change how reads are sent.
	if _, err := w.gateway.LockUser(w.as("ORG_OWNER"), &usersv1.LockUserRequest{UserId: "slow"}); err != nil {
		t.Error(err)
	}
	for before := len(frozen.entered); len(frozen.entered) == before; {
		within(t, 5*time.Second, func() {
			if _, err := w.get(w.as("ORG_OWNER"), "u"); err != nil {
				t.Error(err)
			}
		})
	}
	if answered.Load() < 3 {
		t.Errorf("%d were answered by the replica that is not frozen", answered.Load())
	}
}

// Two equal requests count as two. A request that is sent again counts as one.
func TestSlowReplicaIsNotAskedTwice(t *testing.T) {
	t.Parallel()
	slow := newGate(t)
	marked := make(chan struct{})
	w := newWorld(t, users{get: func(ctx context.Context, r *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
		if r.UserId == "marker" {
			close(marked)
		}
		return slow.pass(ctx, r)
	}})
	again := make(chan *nats.Msg, 10)
	if _, err := w.connect("users").ChanSubscribe("again.herald.users.v1.Users.GetUser", again); err != nil {
		t.Fatal(err)
	}
	ask := func(done chan<- error) {
		_, err := w.get(w.as("ORG_OWNER"), "u")
		done <- err
	}
	done := make(chan error, 2)
	go ask(done)
	go ask(done)
	<-again
	m := <-again
	// The replica takes messages of a subject one after the other: it has seen both when it gets a third.
	request, err := proto.Marshal(&usersv1.GetUserRequest{UserId: "marker"})
	if err != nil {
		t.Fatal(err)
	}
	m.Header.Set("Herald-Request-Id", "marker")
	if err := w.conn.PublishMsg(&nats.Msg{Subject: m.Subject, Header: m.Header, Data: request}); err != nil {
		t.Fatal(err)
	}
	<-marked
	<-again
	slow.Open()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for range 3 { // the marker too, which may be a moment late
		<-slow.entered
	}
	if more := len(slow.entered); more != 0 {
		t.Errorf("the replica was asked %d times more", more)
	}
}

// A write is not sent again. If its answer is lost, its outcome is unknown. If it was not sent, nothing was changed.
func TestLostWritesAreUnsure(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(leave) })
	w := newWorld(t, users{lock: func() error {
		close(entered)
		<-leave
		return nil
	}})
	lock := func() error {
		_, err := w.gateway.LockUser(w.as("ORG_OWNER"), &usersv1.LockUserRequest{UserId: "x"})
		return err
	}
	done := make(chan error)
	go func() { done <- lock() }()
	<-entered
	lost := w.conn.StatusChanged(nats.RECONNECTING)
	bus.Stop(w.g.Bus.Server.(*server.Server))
	if err := <-done; !errors.Is(err, fault.ErrUnavailable) || !errors.Is(err, fault.ErrUnsure) {
		t.Errorf("lost: %v", err)
	}
	<-lost
	if err := lock(); !errors.Is(err, fault.ErrUnavailable) || errors.Is(err, fault.ErrUnsure) {
		t.Errorf("not sent: %v", err)
	}
}

// Only methods that may have written answer that the outcome is unknown.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	unsure := fault.ErrUnavailable.Because(fault.ErrUnsure)
	var with atomic.Pointer[error]
	fail := func(err error) { with.Store(&err) }
	w := newWorld(t, users{
		get: func(context.Context, *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
			return nil, *with.Load()
		},
		lock: func() error { return *with.Load() },
	})
	for _, c := range []struct {
		err         error
		read, write string
	}{
		{unsure, "UNAVAILABLE", "OUTCOME_UNKNOWN"},
		{fault.ErrUnavailable, "UNAVAILABLE", "UNAVAILABLE"},
		{fault.ErrDeadlineExceeded, "DEADLINE_EXCEEDED", "OUTCOME_UNKNOWN"},
		{errors.New("other"), "INTERNAL", "INTERNAL"},
	} {
		fail(c.err)
		_, err := w.get(w.as("ORG_OWNER"), "u")
		wants(t, err, c.read)
		_, err = w.gateway.LockUser(w.as("ORG_OWNER"), &usersv1.LockUserRequest{UserId: "x"})
		wants(t, err, c.write)
	}
}
