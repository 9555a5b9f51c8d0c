package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/event"
)

// Until waits until a condition on the rows of a table is true. A trigger notifies it of every change of the table.
func Until(t testing.TB, db *pgxpool.Pool, table, condition string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := db.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if _, err := c.Exec(ctx,
		`create or replace function tell() returns trigger language plpgsql as 'begin notify changed; return null; end';
		create or replace trigger tell after insert or update or delete on `+table+` execute function tell();
		listen changed`); err != nil {
		t.Fatal(err)
	}
	for met := false; !met; {
		if err := c.QueryRow(ctx, "select "+condition, args...).Scan(&met); err != nil {
			t.Fatal(err)
		}
		if !met {
			if _, err := c.Conn().WaitForNotification(ctx); err != nil {
				t.Fatalf("until %s: %v", condition, err)
			}
		}
	}
}

// Herald publishes events of a service that does not run in the test.
type Herald struct {
	testing.TB
	service *boot.Service
}

// Herald opens another service only to publish its events.
func (k *Kit) Herald(t testing.TB, g boot.Ground, service string) Herald {
	t.Helper()
	s, err := g.Open(t.Context(), service, k.Database(t), k.migrations)
	if err != nil {
		t.Fatal(err)
	}
	Run(t, s)
	return Herald{t, s}
}

// Tell publishes an event that a user caused, and returns its id.
func (h Herald) Tell(orgID, aggregateID, actor string, m proto.Message) (eventID string) {
	h.Helper()
	r, err := h.service.Journal.Create(caller.With(h.Context(), caller.Caller{UserID: actor}), m,
		event.Statement{AggregateID: aggregateID, OrganizationID: orgID})
	if err != nil {
		h.Fatal(err)
	}
	if err := h.service.DB.QueryRow(h.Context(), `select id from events where position = $1`, r.Sequence).
		Scan(&eventID); err != nil {
		h.Fatal(err)
	}
	return eventID
}
