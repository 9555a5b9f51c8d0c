package authn

import (
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/contract"
	heraldv1 "herald/shared/gen/herald/v1"
)

// eventsByType are the known events by their CloudEvents type.
type eventsByType map[string]contract.Event

func readEvents() (eventsByType, error) {
	events, err := contract.LinkedEvents()
	all := eventsByType{}
	for _, e := range events {
		all[e.Type()] = e
	}
	return all, err
}

// listen subscribes to the services that have events that end cached callers. Every event comes
// twice: as a wake-up right after the commit, which may be lost, and through the stream.
func (a *Authenticator) listen() error {
	services := map[string]bool{}
	for _, e := range a.events {
		if e.EndsCallers() {
			services[e.Service] = true
		}
	}
	for service := range services {
		for _, subject := range []string{"outbox." + service, "events." + service + ".>"} {
			if _, err := a.Conn.Subscribe(subject, func(m *nats.Msg) { a.hear(m) }); err != nil {
				return fmt.Errorf("subscribe to events: %w", err)
			}
		}
	}
	return a.Conn.Flush() // the subscriptions are active now
}

// hear drops the cached callers that an event ends. It drops everybody if the event does not say
// whom, or if a newer service sent it and its contract is unknown here.
func (a *Authenticator) hear(m *nats.Msg) {
	kind := m.Header.Get(contract.HeaderType)
	e, known := a.events[kind]
	if kind == "" || known && !e.EndsCallers() {
		return
	}
	d := drop{eventID: m.Header.Get(contract.HeaderID)}
	switch ends := e.Option.GetEnds().(type) {
	case *heraldv1.Event_EndsSubject:
		d.userID = named(e, m, contract.Subject)
	case *heraldv1.Event_EndsUser:
		d.userID = named(e, m, ends.EndsUser)
	case *heraldv1.Event_EndsApp:
		d.appID = named(e, m, ends.EndsApp)
	case *heraldv1.Event_EndsProject:
		d.projectID = named(e, m, ends.EndsProject)
	}
	a.known.drop(d)
}

// named returns the id in a field of an event, or that of its aggregate for the field "subject". It is empty if the
// event has none.
func named(e contract.Event, m *nats.Msg, field string) string {
	if field == contract.Subject {
		return m.Header.Get(contract.HeaderSubject)
	}
	var data map[string]any
	_ = json.Unmarshal(m.Data, &data)
	id, _ := data[e.Fields().ByName(protoreflect.Name(field)).JSONName()].(string)
	return id
}
