package testkit

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/encoding/protojson"

	"herald/shared/event"
	"herald/shared/expiration"
)

// Announced announces, as of tomorrow, what of a service came within 7 days of its end since today. It returns
// "aggregate.event id history" of each announcement, in the order of these texts, and fails the test if one does not
// match its contract.
func Announced(t testing.TB, service string, db *pgxpool.Pool, sql string) (all []string) {
	t.Helper()
	j := event.Journal{DB: db, Now: func() time.Time { return time.Now().Add(24 * time.Hour) },
		Committed: func(event.Event) {}}
	if err := expiration.Announce(t.Context(), j, sql); err != nil {
		t.Fatal(err)
	}
	rows, _ := db.Query(t.Context(), `select id, aggregate, aggregate_id, history_id, name, data from events
		where name like '%expiration_announced' order by aggregate, name, aggregate_id`)
	events, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		all = append(all, e.Aggregate+"."+e.Name+" "+e.AggregateID+" "+e.HistoryID)
		kind := contracts(service)[e.Aggregate+"."+e.Name]
		if kind == nil {
			t.Fatalf("no contract describes the event %s.%s", e.Aggregate, e.Name)
		}
		m := kind.New().Interface()
		read := protojson.UnmarshalOptions{DiscardUnknown: true}
		if err := read.Unmarshal(e.Data, m); err != nil {
			t.Errorf("%s.%s: %v: %s", e.Aggregate, e.Name, err, e.Data)
		}
		fields := m.ProtoReflect().Descriptor().Fields()
		if m.ProtoReflect().Get(fields.ByName("days")).Int() != 7 ||
			!m.ProtoReflect().Has(fields.ByName("expiration_date")) {
			t.Errorf("%s.%s: %s", e.Aggregate, e.Name, e.Data)
		}
	}
	return all
}
