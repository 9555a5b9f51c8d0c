package rpc

import (
	"sync/atomic"
	"time"
)

const (
	// frozenFor is how long a process did not run if it is said to have been frozen. It is shorter than senders wait
	// (contract.Method.Limit).
	frozenFor = 5 * time.Second
	interval  = time.Second
)

// liveness notices that the process did not run for a while: it was stopped, or its machine was. A write that was
// sent to it before must not be made any more: the sender was told that the outcome is unknown, and may have changed
// the same object again since.
type liveness struct {
	start time.Time
	last  atomic.Int64 // the last tick, in nanoseconds since start
	// stale is set from the noticing until what was sent before it is refused.
	stale atomic.Bool
	stop  chan struct{}
}

func newLiveness() *liveness { return &liveness{start: time.Now(), stop: make(chan struct{})} }

// pause returns how long ago the last tick was.
func (l *liveness) pause() time.Duration { return time.Since(l.start) - time.Duration(l.last.Load()) }

// current reports whether a request that arrives now was sent a short time ago.
func (l *liveness) current() bool { return !l.stale.Load() && l.pause() < frozenFor }

// watch notes the time every second until the server is drained. After a pause it has NATS deliver what was sent
// before, and the server refuses what arrives for one more second.
func (s *Server) watch() {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-s.liveness.stop:
			return
		case <-tick.C:
		}
		pause := s.liveness.pause()
		s.liveness.stale.Store(pause >= frozenFor)
		s.liveness.last.Store(int64(time.Since(s.liveness.start)))
		if pause >= frozenFor {
			s.Log.Warn("this process did not run for a while; what it was asked meanwhile is refused",
				"pause", pause.String())
			_ = s.Conn.FlushTimeout(drainFor) // a connection that is lost delivers nothing
		}
	}
}
