// Package eventcache caches answers of services for at most two seconds, and only until an event changes what they
// say.
//
// Before it looks for an answer, it hears all events that have reached the connection. The requests of a service come
// by the same connection, so a request that was sent after a change never gets an answer from before it. An answer to
// a question that was asked before a change is not used, however late it comes. After an interruption of the
// connection no older answer is used, because events may have been missed.
package eventcache

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/contract"
	heraldv1 "herald/shared/gen/herald/v1"
)

const (
	// MaxAge is how long an answer is used.
	MaxAge = 2 * time.Second
	// maxSubjects is how many changed subjects are remembered. When there are more, all answers are dropped: asking
	// again costs one question each.
	maxSubjects = 10_000
	// maxDone is how many changes are remembered to recognize their repeats: more than there are in the time between
	// a wake-up and the stream. A repeat that is not recognized only costs a question.
	maxDone = 256
	// maxWaiting is how many messages wait until they are heard: many times what comes in an interval.
	maxWaiting = 16_384
	interval   = 100 * time.Millisecond
)

// Subject is what an answer is about.
type Subject struct {
	kind subjectKind
	id   string
}

type subjectKind int

const (
	everybody subjectKind = iota
	user
	application
	project
	organization
)

// User returns the user with that id as a subject.
func User(id string) Subject { return Subject{user, id} }

// Application returns the application with that client id as a subject.
func Application(id string) Subject { return Subject{application, id} }

// Project returns the project with that id as a subject.
func Project(id string) Subject { return Subject{project, id} }

// Organization returns the organization with that id as a subject.
func Organization(id string) Subject { return Subject{organization, id} }

// Changes knows of what events have changed. It is safe for concurrent use.
type Changes struct {
	conn   *nats.Conn
	now    func() time.Time
	events map[string]contract.Event
	// waiting are messages that have arrived and were not heard yet.
	waiting chan *nats.Msg

	mu sync.RWMutex // held while messages are taken from waiting and heard
	// count counts the changes; of is the count at the last change of each subject, all that of everybody.
	count, all uint64
	of         map[Subject]uint64
	// done is a ring of the last changes; next is the index of the next.
	done [maxDone]change
	next int
}

// change is what one event changes.
type change struct {
	eventID string
	about   Subject
}

// Moment is when a question was asked.
type Moment struct {
	at                time.Time
	count, reconnects uint64
}

// Count returns the number of changes before the moment. Two questions with the same count may have the same answer.
func (m Moment) Count() uint64 { return m.count }

// Listen returns the changes that a connection hears of until it closes. Every event comes twice: as a wake-up right
// after the commit, which may be lost, and through the stream.
func Listen(nc *nats.Conn, now func() time.Time) (*Changes, error) {
	c, err := newChanges(nc, now)
	if err != nil {
		return nil, err
	}
	services := map[string]bool{}
	for _, e := range c.events {
		if e.EndsCallers() {
			services[e.Service] = true
		}
	}
	for service := range services {
		for _, subject := range []string{"outbox." + service, "events." + service + ".>"} {
			if _, err := nc.ChanSubscribe(subject, c.waiting); err != nil {
				return nil, fmt.Errorf("subscribe to events: %w", err)
			}
		}
	}
	go c.run(nc.StatusChanged(nats.CLOSED))
	return c, nc.Flush() // the subscriptions are active now
}

func newChanges(nc *nats.Conn, now func() time.Time) (*Changes, error) {
	events, err := contract.LinkedEvents()
	c := &Changes{conn: nc, now: now, events: map[string]contract.Event{}, of: map[Subject]uint64{},
		waiting: make(chan *nats.Msg, maxWaiting)}
	for _, e := range events {
		c.events[e.Type()] = e
	}
	return c, err
}

// run hears messages while nobody looks for answers, so that they do not pile up.
func (c *Changes) run(closed <-chan nats.Status) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-closed:
			return
		case <-tick.C:
			c.catchUp()
		}
	}
}

// catchUp hears all messages that have arrived.
func (c *Changes) catchUp() {
	if len(c.waiting) == 0 { // what another goroutine has taken it hears before it unlocks
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		select {
		case m := <-c.waiting:
			c.hear(m)
		default:
			return
		}
	}
}

// Now returns the present as the moment of a question.
func (c *Changes) Now() Moment {
	c.catchUp()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Moment{c.now(), c.count, c.conn.Stats().Reconnects}
}

// Drop drops the answers about a subject, also those to questions that are being asked.
func (c *Changes) Drop(about Subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(change{about: about})
}

// unchanged reports whether an answer from a moment still holds.
func (c *Changes) unchanged(since Moment, about []Subject) bool {
	if c.now().Sub(since.at) >= MaxAge || since.reconnects != c.conn.Stats().Reconnects || !c.conn.IsConnected() {
		return false
	}
	c.catchUp()
	c.mu.RLock()
	defer c.mu.RUnlock()
	if since.count < c.all {
		return false
	}
	return !slices.ContainsFunc(about, func(s Subject) bool { return since.count < c.of[s] })
}

// hear notes what an event changes: everything if the event does not say what, or if a newer service sent it and its
// contract is unknown here.
func (c *Changes) hear(m *nats.Msg) {
	kind := m.Header.Get(contract.HeaderType)
	e, known := c.events[kind]
	if kind == "" || known && !e.EndsCallers() {
		return
	}
	var about Subject
	switch ends := e.Option.GetEnds().(type) {
	case *heraldv1.Event_EndsSubject:
		about = User(named(e, m, contract.Subject))
	case *heraldv1.Event_EndsUser:
		about = User(named(e, m, ends.EndsUser))
	case *heraldv1.Event_EndsApp:
		about = Application(named(e, m, ends.EndsApp))
	case *heraldv1.Event_EndsProject:
		about = Project(named(e, m, ends.EndsProject))
	case *heraldv1.Event_EndsOrg:
		about = Organization(named(e, m, ends.EndsOrg))
	}
	if about.id == "" && e.Option.GetOrApp() != "" {
		about = Application(named(e, m, e.Option.OrApp))
	}
	if about.id == "" {
		about = Subject{}
	}
	c.drop(change{m.Header.Get(contract.HeaderID), about})
}

// drop notes a change, unless it has done so already. Every event comes twice, both times after its commit. Once the
// first has come, older answers are not used, and newer ones know the change: so the second changes nothing.
func (c *Changes) drop(d change) {
	if d.eventID != "" && slices.Contains(c.done[:], d) {
		return
	}
	c.done[c.next], c.next = d, (c.next+1)%maxDone
	c.count++
	if d.about == (Subject{}) || len(c.of) >= maxSubjects {
		c.all = c.count
		clear(c.of)
		return
	}
	c.of[d.about] = c.count
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
