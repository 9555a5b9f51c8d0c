package bus_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/bus"
	"herald/shared/testkit"
)

// The log has one line for the begin of an outage and one for its end, with its length.
func TestOutageHasTwoLinesInTheLog(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	s := newServer(t, keys, "127.0.0.1:0")
	address := s.Addr().String()
	var logs testkit.Lines
	nc, err := bus.Connect(t.Context(), bus.Address{URL: "nats://" + address}.As("users", keys),
		slog.New(slog.NewTextHandler(&logs, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	lost := nc.StatusChanged(nats.RECONNECTING)
	bus.Stop(s)
	<-lost
	for range 5 {
		if err := nc.Publish("events.users.org.created.o", nil); !bus.IsOutage(err) {
			t.Errorf("published with %v", err)
		}
	}
	if _, err := nc.Request("events.users.org.created.o", nil, time.Second); !bus.IsOutage(err) {
		t.Errorf("asked with %v", err)
	}
	newServer(t, keys, address)
	if line := logs.Wait(t, "NATS is back"); !strings.Contains(line, "away=") {
		t.Errorf("the log says %s", line)
	}
	if said := logs.String(); strings.Count(said, "\n") != 2 || strings.Count(said, "NATS is away; reconnecting") != 1 {
		t.Errorf("the log says %s", said)
	}
	if bus.IsOutage(errors.New("words")) || bus.IsOutage(nats.ErrNoResponders) || bus.IsOutage(nil) {
		t.Error("another error counts as an outage")
	}
}
