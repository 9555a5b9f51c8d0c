package authn

import (
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/contract"
	heraldv1 "herald/shared/gen/herald/v1"
)

// news are the events that may come, by their type.
type news map[string]contract.Event

func readNews() (news, error) {
	events, err := contract.Events(protoregistry.GlobalFiles)
	all := news{}
	for _, e := range events {
		all[e.Type()] = e
	}
	return all, err
}

// listen subscribes to the services after whose events somebody is another caller. An
// event comes twice, right after the commit and for certain; the first one counts.
func (a *Authenticator) listen() error {
	services := map[string]bool{}
	for _, e := range a.news {
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
	return a.Conn.Flush() // from here on no change goes unheard
}

// hear forgets whom an event ends: everybody where it does not say, or where a newer
// service sent it and its contract is not known here.
func (a *Authenticator) hear(m *nats.Msg) {
	kind := m.Header.Get("ce-type")
	e, known := a.news[kind]
	if kind == "" || known && !e.EndsCallers() {
		return
	}
	d := drop{eventID: m.Header.Get("ce-id")}
	switch ends := e.Option.GetEnds().(type) {
	case *heraldv1.Event_EndsSubject:
		d.userID = m.Header.Get("ce-subject")
	case *heraldv1.Event_EndsUser:
		var data map[string]any
		_ = json.Unmarshal(m.Data, &data)
		d.userID, _ = data[e.Fields().ByName(protoreflect.Name(ends.EndsUser)).JSONName()].(string)
	}
	a.known.drop(d)
}
