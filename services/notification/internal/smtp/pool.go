package smtp

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxConnections is how many mails are under way at once; further ones wait for their turn.
	maxConnections = 8
	// maxMails go over one connection, since relays limit them.
	maxMails = 50
	// idleTime is less than the minutes after which relays close (RFC 5321, section 4.5.3.2.7).
	idleTime = 30 * time.Second
)

// session returns a connection from the pool that still answers, or a new one.
func (r *Relay) session(ctx context.Context) (*session, error) {
	for s := r.take(); s != nil; s = r.take() {
		if s.mails < maxMails && s.usable(ctx) {
			return s, nil
		}
		s.quit()
	}
	return r.connect(ctx)
}

// take prefers the connection used last, so that the others can grow old and close.
func (r *Relay) take() *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.idle) == 0 {
		return nil
	}
	last := len(r.idle) - 1
	s := r.idle[last]
	r.idle = r.idle[:last]
	s.expiry.Stop()
	return s
}

// keep puts a connection into the pool until it is taken or idleTime is over.
func (r *Relay) keep(s *session) {
	s.mails++
	_ = s.conn.SetDeadline(time.Time{})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		s.conn.Close()
		return
	}
	r.idle = append(r.idle, s)
	s.expiry = time.AfterFunc(idleTime, func() {
		if r.remove(s) {
			s.quit()
		}
	})
}

// remove takes a certain session out of the pool, if it is still there.
func (r *Relay) remove(s *session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.idle, s)
	if i < 0 {
		return false
	}
	r.idle = slices.Delete(r.idle, i, i+1)
	return true
}

// Close ends the idle connections, within seconds, and keeps no more.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	var quits sync.WaitGroup
	for s := r.take(); s != nil; s = r.take() {
		quits.Go(s.quit)
	}
	quits.Wait()
}
