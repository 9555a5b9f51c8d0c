package gateway

import (
	"context"
	"io"
	"sync"
	"time"

	"herald/gateway/authn"
	"herald/shared/fault"
)

// How many streamed requests there may be at once: each takes a few megabytes. Those of one
// caller, and of the callers of one organization, leave room for others.
const (
	mostStreams         = 16
	callerStreams       = 2
	organizationStreams = 4
)

// ErrStreams is the fault of too many streamed requests at once.
var ErrStreams = fault.New(fault.Exhausted, "IMPORTS_BUSY", "Too many imports at once; wait until one has ended").
	After(10 * time.Second)

// streams counts the streamed requests that have a place.
type streams struct {
	mu                     sync.Mutex
	callers, organizations map[string]int
	all                    int
}

// begin takes a place for a caller; the returned function gives it back.
func (s *streams) begin(p authn.Pass) (end func(), err error) {
	caller, organization := p.Holder()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == mostStreams || s.callers[caller] == callerStreams ||
		s.organizations[organization] == organizationStreams {
		return nil, ErrStreams
	}
	if s.callers == nil {
		s.callers, s.organizations = map[string]int{}, map[string]int{}
	}
	s.count(caller, organization, 1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count(caller, organization, -1)
	}, nil
}

func (s *streams) count(caller, organization string, n int) {
	s.all += n
	if s.callers[caller] += n; s.callers[caller] == 0 {
		delete(s.callers, caller)
	}
	if s.organizations[organization] += n; s.organizations[organization] == 0 {
		delete(s.organizations, organization)
	}
}

// place is the place of one streamed request. It is taken when the caller's permission is known, so
// that callers without one keep no others out.
type place struct {
	// ask returns an error if the caller has no permission in an organization, which is the
	// caller's own if it is empty.
	ask   func(ctx context.Context, organization string) error
	begin func() (end func(), err error)
	end   func()
}

// take takes the place if the caller has the permission in an organization.
func (p *place) take(ctx context.Context, organization string) error {
	if p.end != nil {
		return nil
	}
	err := p.ask(ctx, organization)
	if err == nil {
		p.end, err = p.begin()
	}
	return err
}

func (p *place) leave() {
	if p.end != nil {
		p.end()
	}
}

// entrance reads a body. As long as the request has no place, it reads no more than of other
// requests, and takes no more time. Callers who send more before they name an organization need the
// permission in their own.
type entrance struct {
	*place
	ctx  context.Context // of other requests
	from io.Reader
	read int
}

// Read implements io.Reader.
func (e *entrance) Read(b []byte) (int, error) {
	if e.end == nil {
		if e.ctx.Err() != nil {
			return 0, fault.ErrDeadline
		}
		if e.read >= maxBody {
			if err := e.take(e.ctx, ""); err != nil {
				return 0, err
			}
		}
	}
	n, err := e.from.Read(b)
	e.read += n
	return n, err
}
