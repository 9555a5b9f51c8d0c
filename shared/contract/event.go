package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	heraldv1 "herald/shared/gen/herald/v1"
)

// Event is an event with the options of its contract.
type Event struct {
	protoreflect.MessageDescriptor
	Option *heraldv1.Event
	// Service is the name of the service that owns the event: users.
	Service string
}

// Headers of an event's message, by the NATS binding of CloudEvents 1.0 in binary mode. Organization and actor are
// CloudEvents extensions.
const (
	HeaderID           = "ce-id"
	HeaderType         = "ce-type"
	HeaderSource       = "ce-source"
	HeaderSubject      = "ce-subject"
	HeaderSequence     = "ce-sequence"
	HeaderTime         = "ce-time"
	HeaderOrganization = "ce-orgid"
	HeaderActor        = "ce-actor"
)

// WakeSubject returns the subject on which a service sends an event right after the commit. Such a message may be lost;
// the stream has the event too.
func WakeSubject(service string) string { return "outbox." + service }

// EventOf returns the event that a message describes. It reports false if the message is not an event.
func EventOf(d protoreflect.MessageDescriptor) (Event, bool) {
	if e, ok := linkedByMessage()[d]; ok {
		return e, true
	}
	return readEvent(d)
}

// linkedByMessage holds the linked events by their messages, because options are slow to read.
var linkedByMessage = sync.OnceValue(func() map[protoreflect.MessageDescriptor]Event {
	all := map[protoreflect.MessageDescriptor]Event{}
	events, _ := LinkedEvents() // an error keeps services from starting
	for _, e := range events {
		all[e.MessageDescriptor] = e
	}
	return all
})

func readEvent(d protoreflect.MessageDescriptor) (Event, bool) {
	option, _ := proto.GetExtension(d.Options(), heraldv1.E_Event).(*heraldv1.Event)
	return Event{d, option, strings.Split(string(d.FullName()), ".")[1]}, option != nil
}

// Channel is the event's subject without the organization: users.human.imported.
func (e Event) Channel() string { return e.Service + "." + e.Option.Aggregate + "." + e.Option.Name }

// Type is the CloudEvents type of the event: herald.users.human.imported.v1.
func (e Event) Type() string { return "herald." + e.Channel() + ".v1" }

// Subject is a value of ends_app, ends_project and ends_org. It means the event's aggregate instead of a field.
const Subject = "subject"

// EndsCallers reports whether caches must drop callers because of the event.
func (e Event) EndsCallers() bool { return !e.Option.GetEndsNobody() }

// history identifies a history that a method lists, by its package and name.
type history struct {
	service protoreflect.FullName
	name    string
}

// Events returns every event of herald's contracts in files, sorted by channel. Its error names the events that lack
// their history or do not say which cached callers they end.
func Events(files *protoregistry.Files) ([]Event, error) {
	var all []Event
	var flaws []error
	listed := map[history]bool{}
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(f.Package()), "herald.") {
			return true
		}
		for i := range f.Messages().Len() {
			if e, ok := readEvent(f.Messages().Get(i)); ok {
				all = append(all, e)
			}
		}
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				name, _ := proto.GetExtension(methods.Get(j).Options(), heraldv1.E_History).(string)
				listed[history{f.Package(), name}] = name != ""
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b Event) int { return cmp.Compare(a.Channel(), b.Channel()) })
	of := map[string]string{}
	for _, e := range all {
		if e.Option.GetEndsNobody() && e.Option.Because == "" && slices.ContainsFunc(all, func(other Event) bool {
			return other.Service == e.Service && other.EndsCallers()
		}) {
			flaws = append(flaws, fmt.Errorf("contract of %s: other events of %s end callers, this one ends nobody: "+
				"where something that the gateway or auth keeps is another after it (state, roles, tokens, settings, "+
				"names), write ends_subject, ends_user, ends_app, ends_project, ends_org or ends_everybody instead of "+
				"ends_nobody; where not, add because: \"<why>\" to herald.v1.event",
				e.FullName(), e.Service))
		}
		if first, ok := of[e.Option.Aggregate]; ok && first != e.Option.HistoryOf {
			flaws = append(flaws, fmt.Errorf("contract of %s: the events of an aggregate are shown by one object: "+
				"history_of is %q here and %q of another event of %s", e.FullName(), e.Option.HistoryOf, first,
				e.Option.Aggregate))
		}
		of[e.Option.Aggregate] = e.Option.HistoryOf
		if err := e.check(listed[history{e.ParentFile().Package(), e.Option.History}]); err != nil {
			flaws = append(flaws, fmt.Errorf("contract of %s: %w", e.FullName(), err))
		}
	}
	return all, errors.Join(flaws...)
}

// LinkedEvents returns Events of the contracts that are linked into the program. They are read only once, so the
// slice must not be changed.
func LinkedEvents() ([]Event, error) { return linkedEvents() }

var linkedEvents = sync.OnceValues(func() ([]Event, error) { return Events(protoregistry.GlobalFiles) })

// check checks an event's option. listed says whether a method lists the event's history.
func (e Event) check(listed bool) error {
	o := e.Option
	if err := e.checkEnds(); err != nil {
		return err
	}
	switch {
	case o.Aggregate == "" || o.Name == "":
		return errors.New("herald.v1.event has an aggregate and a name")
	case (o.History == "") == (o.NoHistory == ""):
		return errors.New("no history shows the event to those who ask what happened: " +
			"add history: \"<name>\" to herald.v1.event, the name in herald.v1.history of the changes/_search " +
			"that shows it; where that is not one of the object with the aggregate's id, also " +
			"history_of: \"<field>\", the field of the event with the object's id. " +
			"What has no object has no_history with the reason instead")
	case o.History != "" && !listed:
		return fmt.Errorf("no method of the service lists the history %q: "+
			"add option (herald.v1.history) = %q to the changes/_search that shows it", o.History, o.History)
	case o.HistoryOf != "" && o.History == "":
		return errors.New("history_of goes with history: it says whose history shows the event")
	case o.HistoryOf != "" && !isText(e.Fields().ByName(protoreflect.Name(o.HistoryOf))):
		return fmt.Errorf("history_of names a text field of the event, and %q is none: "+
			"add string %s, the id of the object whose history shows the event", o.HistoryOf, o.HistoryOf)
	}
	return nil
}

// checkEnds checks what the option says about cached callers.
func (e Event) checkEnds() error {
	if e.Option.OrApp != "" && e.Option.GetEndsUser() == "" {
		return errors.New("or_app goes with ends_user: it says what the event ends without a user")
	}
	switch ends := e.Option.Ends.(type) {
	case *heraldv1.Event_EndsUser:
		if e.Option.OrApp == "" {
			return e.checkNamed("ends_user", ends.EndsUser)
		}
		return errors.Join(e.checkNamed("ends_user", ends.EndsUser), e.checkNamed("or_app", e.Option.OrApp))
	case *heraldv1.Event_EndsApp:
		return e.checkAggregate("ends_app", ends.EndsApp)
	case *heraldv1.Event_EndsProject:
		return e.checkAggregate("ends_project", ends.EndsProject)
	case *heraldv1.Event_EndsOrg:
		return e.checkAggregate("ends_org", ends.EndsOrg)
	}
	if o := e.Option; !o.GetEndsSubject() && !o.GetEndsEverybody() && !o.GetEndsNobody() {
		return errNobody
	}
	return nil
}

func (e Event) checkAggregate(option, field string) error {
	if field == Subject {
		return nil
	}
	return e.checkNamed(option, field)
}

func (e Event) checkNamed(option, field string) error {
	if !isText(e.Fields().ByName(protoreflect.Name(field))) {
		return fmt.Errorf("%s names a text field of the event, and %q is none", option, field)
	}
	return nil
}

var errNobody = errors.New("the event does not say whose kept answers it ends: " +
	"add one of ends_user: \"<field>\", ends_subject: true, ends_app: \"<field>\", ends_project: \"<field>\", " +
	"ends_org: \"<field>\", ends_everybody: true and ends_nobody: true " +
	"to herald.v1.event; the gateway and auth go on believing what they know of everybody else")

// HistoryID is the id of the object whose history shows the event m of an aggregate.
func HistoryID(m proto.Message, aggregateID string) string {
	e, _ := EventOf(m.ProtoReflect().Descriptor())
	if e.Option.GetHistoryOf() == "" {
		return aggregateID
	}
	return m.ProtoReflect().Get(e.Fields().ByName(protoreflect.Name(e.Option.HistoryOf))).String()
}

// Aggregates returns the aggregates whose events a history shows.
func Aggregates(history string) ([]string, error) {
	found := histories().aggregates[history]
	if found == nil {
		return nil, fmt.Errorf("no event has the history %q: name one of herald.v1.event in the contracts", history)
	}
	return found, nil
}

// OfInstance reports whether an aggregate may belong to the instance, and so to no organization.
func OfInstance(aggregate string) bool { return slices.Contains(AggregatesOfInstance(), aggregate) }

// AggregatesOfInstance returns the aggregates that may belong to the instance.
func AggregatesOfInstance() []string { return ofInstance() }

var ofInstance = sync.OnceValue(func() (all []string) {
	events, _ := LinkedEvents() // an error keeps services from starting
	for _, e := range events {
		if e.Option.OfInstance {
			all = append(all, e.Option.Aggregate)
		}
	}
	return slices.Compact(all) // sorted by aggregate within a service
})

// HistoryFields returns, by aggregate, the JSON name of the field that history_of names.
func HistoryFields() map[string]string { return histories().fields }

// shown holds what the linked contracts say about histories: the aggregates of each history, and by aggregate the
// JSON name of the field that history_of names.
type shown struct {
	aggregates map[string][]string
	fields     map[string]string
}

var histories = sync.OnceValue(func() shown {
	all := shown{map[string][]string{}, map[string]string{}}
	events, _ := LinkedEvents() // an error keeps services from starting
	for _, e := range events {
		aggregate, h := e.Option.Aggregate, e.Option.History
		if h != "" && !slices.Contains(all.aggregates[h], aggregate) {
			all.aggregates[h] = append(all.aggregates[h], aggregate)
		}
		if f := e.Fields().ByName(protoreflect.Name(e.Option.HistoryOf)); f != nil {
			all.fields[aggregate] = f.JSONName()
		}
	}
	return all
})
