package delivery

import (
	"context"
	"time"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
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
	// held are the mails that are being sent. The channel of a mail that somebody waits for is closed
	// at its end.
	held map[store.Hold]chan struct{}
	done chan result
	gate gate
	turn store.Turn
}

// dispatch starts a worker for each mail that is due, as far as there is room, and returns how long
// to wait before the next query. A worker that finishes ends the wait.
func (l *loop) dispatch(ctx context.Context) time.Duration {
	room := l.gate.room(workers - len(l.held))
	if room <= 0 { // negative if trials use more workers than there are
		return l.Times.Tick
	}
	query, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	claims, err := l.Store.Claim(query, room, l.turn, l.Times.Lease)
	l.turn = l.turn.After(claims)
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
		next = min(l.Times.Tick, l.Times.MaxProbe)
	}
	return max(next, minPause)
}

// start starts a worker for a mail. At its end finished closes ended, if it is not nil.
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

// finished handles a worker's report. It logs once when mails begin to wait, and once when they do
// not wait any more.
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
