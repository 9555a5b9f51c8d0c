package delivery

import (
	"context"
	"time"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
)

const (
	// queryTime bounds a statement of the loop, which renews the leases.
	queryTime = 4 * time.Second
	// breath is the shortest time between two queries of the queue. A mail that is due may be
	// one that another notifier is claiming at the same time.
	breath = 20 * time.Millisecond
)

// loop is a running sender. It belongs to one goroutine, to which the workers report.
type loop struct {
	*Sender
	work context.Context // the workers'
	// held are the mails under way, with what to close at the end of one that somebody waits for.
	held map[store.Hold]chan struct{}
	done chan result
	gate gate
}

// dispatch starts a worker for each mail that is due, as far as there is room, and says
// when to look again. A worker that finishes makes the loop look earlier.
func (l *loop) dispatch(ctx context.Context) time.Duration {
	room := l.gate.room(workers - len(l.held))
	if room <= 0 { // less than none where somebody waits for mails
		return l.Times.Tick
	}
	query, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	claims, err := l.Store.Claim(query, room, l.Times.Lease)
	for _, c := range claims {
		l.gate.started(l.start(c, nil))
	}
	if err == nil && len(claims) == room {
		return l.Times.Tick
	}
	next := l.Times.Tick
	if err == nil {
		next, err = l.Store.Next(query, l.Times.Tick)
	}
	if err != nil && ctx.Err() == nil {
		l.Log.WarnContext(ctx, "mails wait: the queue cannot be read; trying again", "err", err)
		next = l.Times.Tick
	}
	return max(next, breath)
}

// start gives a mail a worker of its own, which closes ended, if there is one, through finished.
func (l *loop) start(c domain.Claim, ended chan struct{}) store.Hold {
	hold := store.Hold{ID: c.ID, Fence: c.Fence}
	l.held[hold] = ended
	go func() { l.done <- l.send(l.work, c) }()
	return hold
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
	if err := l.Store.Renew(ctx, holds, l.Times.Lease); err != nil {
		l.Log.WarnContext(ctx, "leases of mails under way are not renewed; trying again", "err", err)
	}
}

// finished takes a worker's report, and says once when mails begin to wait and when
// they no longer have to.
func (l *loop) finished(ctx context.Context, r result) {
	if ended := l.held[r.hold]; ended != nil {
		close(ended)
	}
	delete(l.held, r.hold)
	switch l.gate.finished(r, l.Times) {
	case closed:
		l.Log.WarnContext(ctx, "no mail can be sent; trying again", "reason", r.why)
	case opened:
		l.Log.InfoContext(ctx, "mails are sent again")
	}
}
