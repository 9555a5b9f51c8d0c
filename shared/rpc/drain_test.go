package rpc_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	usersv1 "herald/shared/gen/herald/users/v1"
)

// No request fails while servers start and stop under load.
func TestDrainLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{})
	var stopped atomic.Bool
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			for !stopped.Load() && !t.Failed() {
				ctx, cancel := context.WithTimeout(w.as(), 5*time.Second)
				if _, err := w.gateway.GetMyUser(ctx, &usersv1.GetMyUserRequest{}); err != nil {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	for range 20 {
		var served atomic.Int64
		busy := make(chan struct{})
		s := w.serve(users{mine: func(context.Context) (*usersv1.GetMyUserResponse, error) {
			if served.Add(1) == 50 {
				close(busy)
			}
			return &usersv1.GetMyUserResponse{}, nil
		}})
		<-busy
		s.Drain()
		after := served.Load()
		if _, err := w.gateway.GetMyUser(w.as(), &usersv1.GetMyUserRequest{}); err != nil || served.Load() != after {
			t.Errorf("served %d after the drain, %v", served.Load()-after, err)
		}
	}
	stopped.Store(true)
	callers.Wait()
}

func TestDrainWaitsForThoseUnderWay(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	w := newWorld(t, users{get: g.pass})
	var slow sync.WaitGroup
	for range 20 {
		slow.Go(func() {
			if _, err := w.get(w.as("ORG_OWNER"), "u"); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		<-g.entered
	}
	drained := make(chan struct{})
	go func() { w.server.Drain(); close(drained) }()
	// After the server has left, nobody answers. Running requests do not know this yet.
	for limit := time.Now().Add(10 * time.Second); ; {
		_, err := w.gateway.GetMyUser(w.as(), &usersv1.GetMyUserRequest{})
		if err != nil {
			wants(t, err, "UNAVAILABLE")
			break
		}
		if time.Now().After(limit) {
			t.Fatal("the server did not leave")
		}
	}
	select {
	case <-drained:
		t.Error("drained with requests under way")
	case <-time.After(300 * time.Millisecond): // a signal that must not come
	}
	g.Open()
	slow.Wait()
	<-drained
}
