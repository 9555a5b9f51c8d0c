// Package event carries domain events from a service's database through JetStream to the services that subscribe to
// them. Each event is delivered at least once, and the events of one aggregate are delivered in order. An event says
// what has changed. The state itself is in the service's tables.
package event

import (
	"cmp"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/contract"
	"herald/shared/resource"
)

// Migrations make the tables events, outbox and first_start.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Event is a row of the table events. Its data holds ids, states and names of fields, but no
// personal values and no secrets: these stay with the service that owns them.
type Event struct {
	Position       int64
	ID             string
	Aggregate      string
	AggregateID    string
	Name           string
	OrganizationID string
	// HistoryID is the id of the object whose history shows the event. It is only written: reading an event leaves it
	// empty.
	HistoryID string `db:"-"`
	// Actor is the id of the user or the name of the service that made the change.
	Actor string
	// Request is the id of the request that made the change, or empty. It is only written, like HistoryID.
	Request string `db:"-"`
	Data    []byte
	Time    time.Time
	// quiet is the same as in kind. It is false for an event that was read from the database.
	quiet bool
}

// Origin holds the attributes of an event that are not in its message.
type Origin struct {
	EventID        string // empty for a new id
	AggregateID    string
	OrganizationID string
	Actor          string
	Time           time.Time
}

// MaxData is the largest size of an event's data in bytes. A change of many objects writes one event per object, so
// no message needs more.
const MaxData = 8 << 10

// New makes an event from a message that has the herald.v1.event option. It fails if the data has more than MaxData
// bytes.
func New(m proto.Message, o Origin) (Event, error) {
	kind := kindOf(m.ProtoReflect().Descriptor())
	data, err := protojson.Marshal(m)
	if err != nil {
		return Event{}, fmt.Errorf("encode event %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	if len(data) > MaxData {
		return Event{}, fmt.Errorf("event %s has %d bytes of data, more than %d: write one event per object",
			m.ProtoReflect().Descriptor().FullName(), len(data), MaxData)
	}
	historyID := contract.HistoryID(m, o.AggregateID)
	if historyID == "" {
		return Event{}, fmt.Errorf("event %s does not say whose history shows it: fill in the field that its "+
			"option history_of names", m.ProtoReflect().Descriptor().FullName())
	}
	return Event{
		ID: cmp.Or(o.EventID, resource.NewID()), Aggregate: kind.aggregate, Name: kind.name, Data: data,
		AggregateID: o.AggregateID, HistoryID: historyID, OrganizationID: o.OrganizationID, Actor: o.Actor,
		Time:  o.Time.UTC().Truncate(time.Microsecond), // the precision of Postgres
		quiet: kind.quiet,
	}, nil
}

// kind holds what the contract says about a type of event.
type kind struct {
	service, aggregate, name string
	// quiet means that no service needs the event before it is in the stream.
	quiet bool
	// earlyFor is the service that also handles the event right after the commit. Empty for none.
	earlyFor string
}

func kindOf(d protoreflect.MessageDescriptor) kind {
	e, _ := contract.EventOf(d)
	return kind{
		service: e.Service, aggregate: e.Option.GetAggregate(), name: e.Option.GetName(),
		quiet: !e.EndsCallers() && e.Option.GetEarlyFor() == "", earlyFor: e.Option.GetEarlyFor(),
	}
}

func (k kind) subject(organizationID string) string {
	return "events." + k.service + "." + k.aggregate + "." + k.name + "." + organizationID
}

// cloudEvent returns the CloudEvents type of the event.
func (k kind) cloudEvent() string {
	return "herald." + k.service + "." + k.aggregate + "." + k.name + ".v1"
}

// message returns the event as a NATS message. The last token of the subject is the organization's id. Characters
// that have a meaning in NATS subjects are replaced in it.
func (e Event) message(service string) *nats.Msg {
	k := kind{service: service, aggregate: e.Aggregate, name: e.Name}
	return &nats.Msg{
		Subject: k.subject(token(e.OrganizationID)),
		Data:    e.Data,
		Header: nats.Header{
			nats.MsgIdHdr:               {e.ID},
			"content-type":              {"application/json"},
			"ce-specversion":            {"1.0"},
			contract.HeaderID:           {e.ID},
			contract.HeaderSource:       {"/herald/" + service},
			contract.HeaderType:         {k.cloudEvent()},
			contract.HeaderSubject:      {e.AggregateID},
			contract.HeaderTime:         {e.Time.UTC().Format(time.RFC3339Nano)},
			contract.HeaderSequence:     {strconv.FormatInt(e.Position, 10)},
			contract.HeaderOrganization: {e.OrganizationID},
			contract.HeaderActor:        {e.Actor},
		},
	}
}

var tokens = strings.NewReplacer(".", "_", "*", "_", ">", "_", " ", "_")

func token(s string) string {
	if s == "" {
		return "_"
	}
	return tokens.Replace(s)
}
