package testkit

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/boot"
	"herald/shared/event"
)

// World is a service that runs for one test.
type World struct {
	testing.TB
	Ground  boot.Ground
	Service *boot.Service
}

// Start opens the package's service on a new database and runs it. register adds its methods.
func (k *Kit) Start(t testing.TB, g boot.Ground, register func(*boot.Service) error) World {
	t.Helper()
	s := k.Open(t, g)
	if err := register(s); err != nil {
		t.Fatal(err)
	}
	Run(t, s)
	return World{t, g, s}
}

// As returns a context for calls by the user "user-" + orgID, who has roles in that organization.
func (w World) As(orgID string, roles ...string) context.Context {
	return Member(w.Context(), w.Ground, "user-"+orgID, orgID, roles...)
}

// Rows is like the function Rows, for the service's database.
func (w World) Rows(sql string, args ...any) int {
	w.Helper()
	return Rows(w, w.Service.DB, sql, args...)
}

// Event fails the test unless exactly one event of an object has the type and the data of m.
func (w World) Event(aggregateID string, m proto.Message) {
	w.Helper()
	e, err := event.New(m, event.Origin{AggregateID: aggregateID})
	w.Must(e, err)
	if n := w.Rows("events where aggregate = $1 and name = $2 and aggregate_id = $3 and data = $4", e.Aggregate, e.Name,
		aggregateID, e.Data); n != 1 {
		w.Errorf("%d events %s.%s of %s with %s, want 1", n, e.Aggregate, e.Name, aggregateID, e.Data)
	}
}

// Must fails the test at once if a call returned an error.
func (w World) Must(_ any, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
