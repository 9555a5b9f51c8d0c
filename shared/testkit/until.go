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
		`create or replace function note_change() returns trigger language plpgsql as
			'begin notify changed; return null; end';
		create or replace trigger note_change after insert or update or delete on `+table+`
			execute function note_change();
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

// Publisher publishes events of a service that does not run in the test.
type Publisher struct {
	testing.TB
	service *boot.Service
}

// Publisher opens another service only to publish its events.
func (k *Kit) Publisher(t testing.TB, g boot.Ground, service string) Publisher {
	t.Helper()
	s, err := g.Open(t.Context(), service, k.Database(t), k.migrations)
	if err != nil {
		t.Fatal(err)
	}
	Run(t, s)
	return Publisher{t, s}
}

// Publish publishes an event that a user caused, and returns its id.
func (p Publisher) Publish(orgID, aggregateID, actor string, m proto.Message) (eventID string) {
	p.Helper()
	r, err := p.service.Journal.Create(caller.With(p.Context(), caller.Caller{UserID: actor}), m,
		event.Statement{AggregateID: aggregateID, OrganizationID: orgID})
	if err != nil {
		p.Fatal(err)
	}
	if err := p.service.DB.QueryRow(p.Context(), `select id from events where position = $1`, r.Sequence).
		Scan(&eventID); err != nil {
		p.Fatal(err)
	}
	return eventID
}
