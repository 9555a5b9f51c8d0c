package rpc

import (
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"herald/shared/fault"
)

// request is a message and the method that it is for.
type request struct {
	*nats.Msg
	method *method
	// hedged means that the request was sent to all replicas, because none had answered in time. A replica that is
	// too busy ignores such a request, because other replicas have it too.
	hedged bool
}

// held is the set of requests to safe methods that a server is working on.
type held struct {
	mu  sync.Mutex
	all map[heldKey]struct{}
}

// heldKey identifies a request. If a caller uses the same id for two requests to a method, then the hedged copy of
// the second is ignored while the server works on the first.
type heldKey struct{ id, method, caller string }

func (r request) key() heldKey {
	return heldKey{r.Header.Get(headerRequestID), r.method.name, r.Header.Get(headerCaller)}
}

func (h *held) add(r request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[r.key()] = struct{}{}
}

func (h *held) remove(r request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, r.key())
}

func (h *held) has(r request) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, has := h.all[r.key()]
	return has
}

// subscribe subscribes to the requests of a method. The replicas share them in a queue group. If the method is safe,
// it also subscribes to the requests that are sent to all replicas, and ignores those that this server is already
// working on.
func (s *Server) subscribe(m *method) error {
	sub, err := s.Conn.QueueSubscribe(m.Subject(), m.Owner(), func(msg *nats.Msg) {
		s.give(request{Msg: msg, method: m})
	})
	if err != nil {
		return fmt.Errorf("subscribe %s: %w", m.Subject(), err)
	}
	s.subs = append(s.subs, sub)
	if !m.safe {
		return nil
	}
	sub, err = s.Conn.Subscribe(m.HedgeSubject(), func(msg *nats.Msg) {
		if r := (request{Msg: msg, method: m, hedged: true}); !s.held.has(r) {
			s.give(r)
		}
	})
	if err != nil {
		return fmt.Errorf("subscribe %s: %w", m.HedgeSubject(), err)
	}
	s.subs = append(s.subs, sub)
	return nil
}

func (s *Server) give(r request) {
	if !r.method.safe && !s.liveness.current() {
		s.refuse(r.Reply, fault.ErrUnavailable)
		return
	}
	if r.method.safe {
		s.held.add(r)
	}
	s.pool.Give(s.line(r.Header), r)
}

// done removes a request that was answered or left to other replicas.
func (s *Server) done(r request) {
	if r.method.safe {
		s.held.remove(r)
	}
}
