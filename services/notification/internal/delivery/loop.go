package delivery

import (
	"context"
	"errors"
	"time"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/shared/retry"
)

const (
	// queryTime bounds each statement of the loop, because the loop must renew the leases in time.
	queryTime = 4 * time.Second
	// minPause is the shortest time between two queries of the queue. Without it the loop would
	// ask without pause while another notifier is claiming a mail that is due.
	minPause = 20 * time.Millisecond
)

// loop is a running sender. Only one goroutine uses it; the workers report to that one.
type loop struct {
	*Sender
	work context.Context // the workers'
	held map[store.Hold]held
	done chan result
	// looked has the result of asking whether the mail server takes connections.
	looked chan error
	gate   gate
	turn   store.Turn
	// route is how mails are sent at present.
	route *Route
	// reading logs outages of the queries of the queue, renewing those of the renewals of leases.
	reading, renewing *retry.Outage
	// blocked logs when no mail can be sent, postponed when the mail server refuses mails for now.
	blocked, postponed *retry.Outage
}

// held is a mail that is being sent.
type held struct {
	// ended is closed at its end; nil if nobody waits for the mail.
	ended chan struct{}
	// doubts is how often the gate had closed for unanswered mails at its start.
	doubts int
	// route is how it is sent.
	route *Route
}

// dispatch starts a worker for each mail that is due, as far as there is room, and returns how long
// to wait before the next query. A worker that finishes ends the wait.
func (l *loop) dispatch(ctx context.Context) time.Duration {
	room := l.gate.room(workers - len(l.held))
	if room <= 0 { // negative if test mails use more workers than there are
		return l.Times.Tick
	}
	query, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	claims, err := l.claim(query, room)
	l.turn = l.turn.After(claims)
	for _, c := range claims {
		l.gate.started(l.start(c, nil, l.route))
	}
	if err == nil && len(claims) == room {
		return l.Times.Tick
	}
	next := l.Times.Tick
	if err == nil {
		next, err = l.Store.Next(query, store.Ask{Repeats: l.repeats()}, l.Times.Tick)
	}
	if ctx.Err() == nil {
		note(l.reading, err)
	}
	if err != nil {
		next = min(l.Times.Tick, l.Times.MaxProbe)
	}
	return max(next, minPause)
}

// claim claims mails that are due. A mail that may have been delivered is claimed only while the mail server answers.
// If it is not known whether the mail server answers, and no other mail can show it, one such mail is claimed.
func (l *loop) claim(ctx context.Context, room int) ([]domain.Claim, error) {
	ask := store.Ask{
		Most: room, After: l.turn, Lease: l.Times.Lease, Repeats: l.gate.answered,
		Pause: l.Times.Spread(domain.RepeatPause),
	}
	claims, err := l.Store.Claim(ctx, ask)
	if err != nil || len(claims) > 0 || ask.Repeats || !l.repeats() {
		return claims, err
	}
	ask.Most, ask.Repeats = 1, true
	return l.Store.Claim(ctx, ask)
}

// repeats reports whether a mail that may have been delivered can be claimed now.
func (l *loop) repeats() bool { return l.gate.answered || len(l.held) == 0 }

// start starts a worker for a mail. When the worker ends, finished closes the channel ended, if it is not nil.
func (l *loop) start(c domain.Claim, ended chan struct{}, by *Route) store.Hold {
	hold := store.Hold{ID: c.ID, Fence: c.Fence}
	l.held[hold] = held{ended, l.gate.doubts, by}
	go func() { l.done <- l.send(l.work, c, by) }()
	return hold
}

// use sends mails by another route from now on, also those that wait because the last one did not work. Mails that are
// being sent are finished by theirs.
func (l *loop) use(r *Route) {
	go l.route.Close()
	l.route = r
	l.gate = gate{doubts: l.gate.doubts, looking: l.gate.looking}
}

// look asks the mail server whether it takes connections.
func (l *loop) look() {
	if l.gate.looks() {
		by := l.route
		go func() { l.looked <- by.Reach(l.work) }()
	}
}

func (l *loop) renew(ctx context.Context) {
	if len(l.held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	holds := make([]store.Hold, 0, len(l.held))
	for h := range l.held {
		holds = append(holds, h)
	}
	note(l.renewing, l.Store.Renew(ctx, holds, l.Times.Lease))
}

// finished handles a worker's report. The gate opens also after a mail that the mail server refuses for now, but only
// a mail that it takes shows that mails are sent again.
func (l *loop) finished(r result) {
	mail := l.held[r.hold]
	if mail.ended != nil {
		close(mail.ended)
	}
	delete(l.held, r.hold)
	r.doubts = mail.doubts
	if mail.route != l.route { // it shows nothing about the present one
		r.way, r.took, r.postponed = unknown, false, false
	}
	switch turned := l.gate.finished(r, l.Times); {
	case turned == closed:
		l.blocked.Failed(errors.New(r.why))
	case r.postponed:
		l.postponed.Failed(errors.New(r.why))
	case r.took && l.gate.pause == 0:
		l.blocked.Worked()
		l.postponed.Worked()
	}
}
