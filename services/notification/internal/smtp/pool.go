package smtp

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxConnections is how many mails are sent at once. Others wait.
	maxConnections = 8
	// maxMails is how many mails are sent over one connection, because relays limit their number.
	maxMails = 50
	// idleTime is less than the time after which relays close idle connections (RFC 5321, section 4.5.3.2.7).
	idleTime = 30 * time.Second
)

// session returns a connection from the pool that still works, or a new one.
func (r *Relay) session(ctx context.Context) (*session, error) {
	for s := r.take(); s != nil; s = r.take() {
		if s.mails < maxMails && s.usable(ctx) {
			return s, nil
		}
		s.quit()
	}
	return r.connect(ctx)
}

// take returns the connection that was used last, so that others reach idleTime and close.
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

// remove removes a session from the pool and reports whether it was there.
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

// Close closes idle connections, within seconds. Later ones are not kept.
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
