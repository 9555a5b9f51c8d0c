package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/bus"
	"herald/shared/secret"
)

// A service that has two master keys logs in to a server that has either, and stays connected when
// the server is restarted with the other one, or with one that it does not have for a while.
func TestRotation(t *testing.T) {
	t.Parallel()
	old, fresh := secret.NewKeyText(), secret.NewKeyText()
	parse := func(text string) secret.Keys {
		keys, err := secret.ParseKeys(text)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	s := newServer(t, parse(old), "127.0.0.1:0")
	address := s.Addr().String()
	here := bus.Address{URL: "nats://" + address}
	connected := []*nats.Conn{
		connect(t, here.As("users", parse(old+fresh))), connect(t, here.As("text", parse(fresh+old))),
	}
	for _, keys := range []string{fresh + old, old + fresh, secret.NewKeyText(), fresh} {
		var back []<-chan nats.Status
		for _, nc := range connected {
			back = append(back, nc.StatusChanged(nats.CONNECTED, nats.CLOSED))
		}
		refused := connected[0].Stats().Reconnects
		bus.Stop(s)
		s = newServer(t, parse(keys), address)
		if keys != fresh+old && keys != old+fresh && keys != fresh {
			turnedAway(t, connected[0], refused)
			continue
		}
		for i, status := range back {
			select {
			case now := <-status:
				if now != nats.CONNECTED {
					t.Fatalf("connection %d is %s", i, now)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("connection %d does not come back", i)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := bus.Connect(ctx, here.As("users", parse(old)), silent); err == nil {
		t.Error("a key that was removed lets in")
	}
}

// turnedAway returns when a server has refused more tries than there are passwords.
func turnedAway(t *testing.T, nc *nats.Conn, before uint64) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 1500 {
		if nc.IsClosed() {
			t.Fatal("the connection was given up")
		}
		if nc.Stats().Reconnects >= before+4 {
			return
		}
		<-tick.C
	}
	t.Fatal("no tries")
}
