package event_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"herald/shared/bus"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/testkit"
)

// imported records that a person was imported.
func (r *replica) imported(userID string) (eventID string) {
	r.Helper()
	eventID = resource.NewID()
	_, err := r.Create(r.Context(), &usersv1.HumanImported{},
		event.Statement{AggregateID: userID, OrganizationID: "org-1", EventID: eventID})
	if err != nil {
		r.Fatal(err)
	}
	return eventID
}

// An event that is early for a service does not wait for those before it, and comes through the stream too.
func TestEarlyEvents(t *testing.T) {
	t.Parallel()
	const crowd = 400 // more than a consumer has in hand
	r := newSource(t, testkit.Ground(t))
	subscriber, _ := connect(t, r.ground, bus.Subscriber)
	stream, err := subscriber.SubscribeSync("events.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := subscriber.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range crowd {
		r.imported(fmt.Sprint("crowd ", i))
	}
	for range crowd { // now their wake-ups are over
		if _, err := stream.NextMsg(20 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	busy, goOn := make(chan struct{}, crowd), make(chan struct{})
	crowded, others := newTally(), newTally()
	testkit.Go(t, consumerOf(t, "notification", r.ground,
		event.On(func(ctx context.Context, d event.Delivery, _ *usersv1.HumanImported) error {
			if d.AggregateID == "other" {
				return others.note(ctx, d)
			}
			busy <- struct{}{}
			<-goOn
			return crowded.note(ctx, d)
		})).Run)
	select {
	case <-busy:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing is consumed")
	}
	eventID := r.imported("other")
	early := others.wait(t, 1)[0]
	close(goOn)
	crowded.wait(t, crowd)
	if late := others.wait(t, 1)[1]; late != early || late.ID != eventID || late.OrganizationID != "org-1" ||
		late.Sequence == 0 {
		t.Errorf("early %+v, later %+v, want twice the event %s", early, late, eventID)
	}
}

// The wake-up carries the same event as the stream, whoever knew the organization and however the event was written.
func TestEarlyEventIsTheStreamedEvent(t *testing.T) {
	t.Parallel()
	imported := &usersv1.HumanImported{InitMail: usersv1.InitMail_INIT_MAIL_QUEUED}
	save := event.Statement{AggregateID: "a", OrganizationID: "org-1", EventID: "e"}
	for name, write := range map[string]func(r *replica) error{
		"created": func(r *replica) error {
			_, err := r.Create(r.Context(), imported, save)
			return err
		},
		"of an organization that only the database knows": func(r *replica) error {
			_, err := r.Create(r.Context(), imported, event.Statement{AggregateID: "a", OrganizationOf: `'org-' || 1`})
			return err
		},
		"changed": func(r *replica) error {
			r.mustCreate("a")
			_, err := event.Change(r.Context(), r.Journal, event.Locked[thing]{
				Lock:  `select id, name, sequence, created_at, changed_at from things for update`,
				Write: func(thing) event.Statement { return save },
			}, func(*thing) (proto.Message, error) { return imported, nil })
			return err
		},
		"created with others": func(r *replica) error {
			return r.CreateAll(r.Context(), []event.Entry{{Message: imported, Statement: save}})
		},
		"one of many": func(r *replica) error {
			_, err := r.CreateMany(r.Context(), event.Many{
				OrganizationID: "org-1", Objects: []event.Object{{ID: "a", EventID: "e", Event: imported}},
				SQL: `created as (select position from event)`,
			})
			return err
		},
		"following another event": func(r *replica) error {
			return r.Follow(r.Context(), event.Delivery{ID: "cause", Actor: "someone"}, event.Statement{
				Along: `select 'human', 'imported', 'a', 'org-1', '{"initMail": "INIT_MAIL_QUEUED"}'::jsonb`,
				Args:  postgres.Args{},
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReplica(t, testkit.Ground(t), kit.Database(t))
			news, err := r.conn.SubscribeSync("outbox.users")
			if err != nil {
				t.Fatal(err)
			}
			if err := write(r); err != nil {
				t.Fatal(err)
			}
			early, err := news.NextMsg(20 * time.Second)
			for err == nil && early.Header.Get("ce-type") != "herald.users.human.imported.v1" {
				early, err = news.NextMsg(20 * time.Second)
			}
			if err != nil {
				t.Fatal(err)
			}
			testkit.Go(t, r.relay.Run)
			events := r.count("events")
			streamed := r.stream(events)[events-1]
			if diff := cmp.Diff(streamed.Headers(), early.Header); diff != "" {
				t.Errorf("headers in the stream - and early +:\n%s", diff)
			}
			if diff := cmp.Diff(decoded(t, streamed.Data()), decoded(t, early.Data)); diff != "" {
				t.Errorf("data in the stream - and early +:\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, data []byte) (fields map[string]any) {
	t.Helper()
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// An older release sent early events without the organization.
func TestEventWithoutOrganizationIsNotHandled(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	all := newTally()
	testkit.Go(t, consumerOf(t, "notification", r.ground,
		event.On(func(ctx context.Context, d event.Delivery, _ *usersv1.HumanImported) error {
			return all.note(ctx, d)
		})).Run)
	eventID := r.imported("a")
	all.wait(t, 2) // early and through the stream
	m := nats.NewMsg("outbox.users")
	m.Data, m.Header = []byte(`{}`), nats.Header{
		"ce-type": {"herald.users.human.imported.v1"}, "ce-id": {eventID}, "ce-subject": {"a"}, "ce-sequence": {"1"},
		"ce-time": {time.Now().Format(time.RFC3339Nano)},
	}
	if err := r.conn.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	r.imported("b")
	for _, d := range all.wait(t, 2) {
		if d.OrganizationID == "" {
			t.Errorf("%+v was handled", d)
		}
	}
}

// A consumer gets early only the early events of its own service.
func TestOnlyEarlyEventsAreEarly(t *testing.T) {
	t.Parallel()
	r := newSource(t, testkit.Ground(t))
	all := newTally()
	testkit.Go(t, consumer(t, r.ground, onCreated(all.note),
		event.On(func(ctx context.Context, d event.Delivery, _ *usersv1.HumanImported) error {
			return all.note(ctx, d)
		})).Run)
	for i := range 20 {
		r.imported(fmt.Sprint("person ", i))
		r.mustCreate(fmt.Sprint("organization ", i))
	}
	seen := map[string]int{}
	for _, d := range all.wait(t, 40) {
		seen[d.ID]++
	}
	if len(seen) != 40 {
		t.Errorf("%d different events among 40 deliveries", len(seen))
	}
}
