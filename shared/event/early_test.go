package event_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"herald/shared/bus"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
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
