package rpc

import (
	"sync/atomic"
	"time"
)

const (
	// frozenFor is the pause from which a process counts as frozen. It is shorter than the time that senders wait for
	// an answer (contract.Method.Limit).
	frozenFor = 5 * time.Second
	interval  = time.Second
)

// liveness detects that the process did not run for a while, because it or its machine was stopped. A write that was
// sent before the pause must be refused. Its sender already knows that the outcome is unknown, and may have changed
// the same object again.
type liveness struct {
	start time.Time
	last  atomic.Int64 // the last tick, in nanoseconds since start
	// stale is true after a pause, until the requests that were sent before its end are refused.
	stale atomic.Bool
	stop  chan struct{}
}

func newLiveness() *liveness { return &liveness{start: time.Now(), stop: make(chan struct{})} }

// pause returns how long ago the last tick was.
func (l *liveness) pause() time.Duration { return time.Since(l.start) - time.Duration(l.last.Load()) }

// current reports whether a request that arrives now was sent recently.
func (l *liveness) current() bool { return !l.stale.Load() && l.pause() < frozenFor }

// watch records the time every second until the server is drained. After a pause it makes NATS deliver the requests
// that were sent before. The server refuses writes that arrive until one second later.
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
			_ = s.Conn.FlushTimeout(drainFor) // a lost connection delivers nothing
		}
	}
}
