package rpc

import (
	"sync/atomic"
	"time"
)

const (
	// frozenFor is how long a process did not run if it is said to have been frozen. It is shorter than senders wait
	// (contract.Method.Limit).
	frozenFor = 5 * time.Second
	beat      = time.Second
)

// heart notices that the process did not run for a while: it was stopped, or its machine was. What was sent to it
// before must not be done any more: the sender was told that the outcome is unknown, and may have changed the same
// object again since.
type heart struct {
	start time.Time
	last  atomic.Int64 // the last beat, in nanoseconds since start
	// stale is set from the noticing until what was sent before it is refused.
	stale atomic.Bool
	stop  chan struct{}
}

func newHeart() *heart { return &heart{start: time.Now(), stop: make(chan struct{})} }

// pause returns how long ago the last beat was.
func (h *heart) pause() time.Duration { return time.Since(h.start) - time.Duration(h.last.Load()) }

// beats reports whether a request that arrives now was sent a short time ago.
func (h *heart) beats() bool { return !h.stale.Load() && h.pause() < frozenFor }

// watch keeps the heart until the server is drained. After a pause it has NATS deliver what it holds, and gives the
// subscriptions another beat to refuse it.
func (s *Server) watch() {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-s.heart.stop:
			return
		case <-tick.C:
		}
		pause := s.heart.pause()
		s.heart.stale.Store(pause >= frozenFor)
		s.heart.last.Store(int64(time.Since(s.heart.start)))
		if pause >= frozenFor {
			s.Log.Warn("this process did not run for a while; what it was asked meanwhile is refused",
				"pause", pause.String())
			_ = s.Conn.FlushTimeout(drainFor) // a connection that is lost delivers nothing
		}
	}
}
