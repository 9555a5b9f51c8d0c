// Package eventcache caches answers of services for at most two seconds. An event that changes an answer ends it
// earlier.
//
// Before each lookup the cache handles all events that have arrived on its NATS connection. The requests of a service
// arrive on the same connection. So a request that was sent after a change never gets an answer from before the
// change. If a question was asked before a change, its answer is not used, even if it arrives later. After the
// connection was interrupted, no older answer is used, because events may have been missed.
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
	// maxSubjects is how many changed subjects are remembered. When there are more, all answers are dropped. This
	// costs only one new question per answer.
	maxSubjects = 10_000
	// maxDone is how many changes are remembered to recognize repeats. It is larger than the number of changes
	// between a wake-up and its copy from the stream. A repeat that is not recognized costs only a new question.
	maxDone = 256
	// maxWaiting is how many messages may wait until they are handled. It is many times the number that arrives in
	// one interval.
	maxWaiting = 16_384
	interval   = 100 * time.Millisecond
)

// Subject is an object that an answer depends on, such as a user.
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

// User returns the subject for the user with that id.
func User(id string) Subject { return Subject{user, id} }

// Application returns the subject for the application with that client id.
func Application(id string) Subject { return Subject{application, id} }

// Project returns the subject for the project with that id.
func Project(id string) Subject { return Subject{project, id} }

// Organization returns the subject for the organization with that id.
func Organization(id string) Subject { return Subject{organization, id} }

// Changes records which subjects events have changed. It is safe for concurrent use.
type Changes struct {
	conn   *nats.Conn
	now    func() time.Time
	events map[string]contract.Event
	// waiting holds messages that have arrived and were not handled yet.
	waiting chan *nats.Msg

	mu sync.RWMutex // held while messages from waiting are handled
	// count is the number of changes so far. of is the count at the last change of each subject. all is the count at
	// the last change after which no older answer is used. everybody is the number of changes that concerned everybody.
	count, all, everybody uint64
	of                    map[Subject]uint64
	// done is a ring buffer of the last changes. next is the index of the next entry.
	done [maxDone]change
	next int
}

// change is the effect of one event.
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

// Listen subscribes to events on a connection and returns the changes, until the connection closes. Every event
// arrives twice: as a wake-up right after the commit, which may be lost, and through the stream.
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
		for _, subject := range []string{contract.WakeSubject(service), "events." + service + ".>"} {
			if _, err := nc.ChanSubscribe(subject, c.waiting); err != nil {
				return nil, fmt.Errorf("subscribe to events: %w", err)
			}
		}
	}
	go c.run(nc.StatusChanged(nats.CLOSED))
	return c, nc.Flush() // after this the server has the subscriptions
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

// run handles messages while there are no lookups, so that the messages do not pile up.
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

// catchUp handles all messages that have arrived.
func (c *Changes) catchUp() {
	if len(c.waiting) == 0 { // a message that another goroutine has taken is handled before it unlocks
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		select {
		case m := <-c.waiting:
			c.record(m)
		default:
			return
		}
	}
}

// Now returns the present moment, for a question that is asked next.
func (c *Changes) Now() Moment {
	c.catchUp()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Moment{c.now(), c.count, c.conn.Stats().Reconnects}
}

// Epoch returns a number that is larger after each event that concerns everybody, and after each interruption of the
// connection. What depends on no subject, and may be older than MaxAge, is kept for as long as the number is the same.
func (c *Changes) Epoch() uint64 {
	c.catchUp()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.everybody + c.conn.Stats().Reconnects
}

// Drop drops the answers about a subject. It also drops the answers to questions that are being asked.
func (c *Changes) Drop(about Subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(change{about: about})
}

// unchanged reports whether an answer from a moment is still valid.
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

// record records what an event changes. If the event does not say what, or if its contract is unknown here because a
// newer service sent it, everything counts as changed.
func (c *Changes) record(m *nats.Msg) {
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

// drop records a change and ignores its repeat. Every event arrives twice, both times after its commit. After the
// first arrival older answers are not used, and newer answers already include the change. So the second arrival has
// no effect.
func (c *Changes) drop(d change) {
	if d.eventID != "" && slices.Contains(c.done[:], d) {
		return
	}
	c.done[c.next], c.next = d, (c.next+1)%maxDone
	c.count++
	if d.about == (Subject{}) {
		c.everybody++
	}
	if d.about == (Subject{}) || len(c.of) >= maxSubjects {
		c.all = c.count
		clear(c.of)
		return
	}
	c.of[d.about] = c.count
}

// named returns the id in a field of an event. For the field "subject" it returns the id of the event's aggregate. It
// is empty if the event has no such id.
func named(e contract.Event, m *nats.Msg, field string) string {
	if field == contract.Subject {
		return m.Header.Get(contract.HeaderSubject)
	}
	var data map[string]any
	_ = json.Unmarshal(m.Data, &data)
	id, _ := data[e.Fields().ByName(protoreflect.Name(field)).JSONName()].(string)
	return id
}
