package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/event"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
)

// row is an event in a service's database.
type row struct {
	ID, Aggregate, AggregateID, HistoryID, Name string
	Data                                        []byte
}

// checkEvents fails the test if an event in a service's database does not match its contract, or if two events have
// the same id. It also checks events that SQL wrote.
func checkEvents(t testing.TB, service string, database secret.Text) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, database.Reveal())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, `select id, aggregate, aggregate_id, history_id, name, data from events`)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		t.Error(err)
	}
	known, seen := contracts(service), map[string]bool{}
	for _, e := range all {
		kind := known[e.Aggregate+"."+e.Name]
		if kind == nil {
			t.Errorf("no contract describes the event %s.%s", e.Aggregate, e.Name)
			continue
		}
		m := kind.New().Interface()
		if err := protojson.Unmarshal(e.Data, m); err != nil || len(e.Data) > event.MaxData {
			t.Errorf("event %s.%s: %d bytes, %v: %s", e.Aggregate, e.Name, len(e.Data), err, e.Data)
		}
		again, err := event.New(m, event.Origin{AggregateID: e.AggregateID})
		if err != nil || e.HistoryID != again.HistoryID {
			t.Errorf("event %s.%s is in the history of %q: %v", e.Aggregate, e.Name, e.HistoryID, err)
		}
		if seen[e.ID] {
			t.Errorf("two events have the id %s", e.ID)
		}
		seen[e.ID] = true
	}
}

// contracts returns the messages of a service's events by "aggregate.name".
func contracts(service string) map[string]protoreflect.MessageType {
	all := map[string]protoreflect.MessageType{}
	protoregistry.GlobalTypes.RangeMessages(func(m protoreflect.MessageType) bool {
		d := m.Descriptor()
		e, _ := proto.GetExtension(d.Options(), heraldv1.E_Event).(*heraldv1.Event)
		if e != nil && string(d.ParentFile().Package()) == "herald."+service+".v1" {
			all[e.Aggregate+"."+e.Name] = m
		}
		return true
	})
	return all
}
