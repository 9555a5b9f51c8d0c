package gateway

import (
	"context"
	"io"
	"sync"
	"time"

	"herald/gateway/authn"
	"herald/shared/fault"
)

// The maximum number of streamed requests at once, because each takes a few megabytes of memory: of
// all callers, of one caller, and of the callers of one organization.
const (
	mostStreams         = 16
	callerStreams       = 2
	organizationStreams = 4
)

// ErrStreams is returned if there are too many streamed requests at once.
var ErrStreams = fault.New(fault.Exhausted, "IMPORTS_BUSY", "Too many imports at once; wait until one has ended").
	After(10 * time.Second)

// streams counts the streamed requests that have a place.
type streams struct {
	mu                     sync.Mutex
	callers, organizations map[string]int
	all                    int
}

// begin takes a place for a caller. The returned function gives it back.
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

// place is the place of one streamed request. It is taken after the caller's permission was
// checked, so that callers without permission take no places.
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

// entrance reads a body. Until the request has a place, the body has the limits of size and time of
// other requests. Callers whose body is longer before it names an organization need the permission
// in their own.
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
