package upload

import (
	"context"
	"io"
	"sync"

	"herald/gateway/imports"
	"herald/gateway/internal/authn"
	"herald/gateway/internal/dispatch"
	"herald/gateway/internal/exchange"
	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/quota"
)

// The maximum number of uploads at once, because each takes a few megabytes of memory: of
// all callers, of one caller, and of the callers of one organization.
const (
	allSlots          = 16
	callerSlots       = 2
	organizationSlots = 4
)

// streamSlots counts the uploads that have a slot.
type streamSlots struct {
	mu                     sync.Mutex
	callers, organizations map[string]int
	all                    int
}

// take takes a slot for a caller. The returned function gives it back.
func (s *streamSlots) take(p authn.Pass) (release func(), err error) {
	caller, organization := p.Holder()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == allSlots || s.callers[caller] == callerSlots || s.organizations[organization] == organizationSlots {
		return nil, gatewayfault.ErrImportsBusy
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

func (s *streamSlots) count(caller, organization string, n int) {
	s.all += n
	if s.callers[caller] += n; s.callers[caller] == 0 {
		delete(s.callers, caller)
	}
	if s.organizations[organization] += n; s.organizations[organization] == 0 {
		delete(s.organizations, organization)
	}
}

// spooledBytes counts the bytes of imports on the disk, by the organization of the caller.
type spooledBytes struct {
	mu            sync.Mutex
	organizations map[string]int64
	most          quota.Quota
}

// place returns where the imports of a caller write.
func (s *spooledBytes) place(p authn.Pass) imports.Place {
	_, organization := p.Holder()
	return imports.Place{Count: func(n int64) error { return s.count(organization, n) }}
}

func (s *spooledBytes) count(organization string, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, most := s.organizations[organization]+n, s.most.In(organization)
	if n > 0 && bytes > most {
		return fault.ErrQuotaExceeded.Say("At most %d %s are allowed (quota %q): let orgId stand before the users, "+
			"wait for other imports, or have the operator raise it in HERALD_QUOTAS", most, s.most.What, s.most.Name)
	}
	if s.organizations == nil {
		s.organizations = map[string]int64{}
	}
	if s.organizations[organization] = bytes; bytes == 0 {
		delete(s.organizations, organization)
	}
	return nil
}

// slot is the slot of one upload. It is taken after the caller's permission was
// checked, so that callers without permission take no slots.
type slot struct {
	slots *streamSlots
	pass  authn.Pass
	// permitted returns an error if the caller has no permission in an organization. The empty
	// organization is the caller's own.
	permitted func(ctx context.Context, organization string) error
	free      func() // gives the slot back; nil until it is taken
}

// slot returns the slot of an upload. It is already taken if the caller has the permission in the
// own organization. Otherwise the first organization of the body decides.
func (u *Uploads) slot(pass authn.Pass, m *dispatch.Method, call importCall) (*slot, error) {
	s := &slot{slots: &u.slots, pass: pass, permitted: func(ctx context.Context, organization string) error {
		r := &usersv1.ImportRequest{}
		if organization != "" {
			r.DataOrgs = &usersv1.ImportData{Orgs: []*usersv1.ImportOrg{{OrgId: organization}}}
		}
		_, err := call(ctx, organization, r)
		return err
	}}
	if !pass.Holds(m.Permission) {
		return s, nil
	}
	var err error
	s.free, err = s.slots.take(pass)
	return s, err
}

// take takes the slot if the caller has the permission in an organization.
func (s *slot) take(ctx context.Context, organization string) error {
	if s.free != nil {
		return nil
	}
	err := s.permitted(ctx, organization)
	if err == nil {
		s.free, err = s.slots.take(s.pass)
	}
	return err
}

func (s *slot) release() {
	if s.free != nil {
		s.free()
	}
}

// slotReader reads a body. Until the upload has a slot, the body has the limits of size and time of other requests. If
// a body exceeds them before it names an organization, the caller needs the permission in the own organization.
type slotReader struct {
	*slot
	ctx  context.Context // has the time limit of other requests
	from io.Reader
	read int
}

// Read implements io.Reader.
func (s *slotReader) Read(b []byte) (int, error) {
	if s.free == nil {
		if s.ctx.Err() != nil {
			return 0, fault.ErrDeadlineExceeded
		}
		if s.read >= exchange.MaxBody {
			if err := s.take(s.ctx, ""); err != nil {
				return 0, err
			}
		}
	}
	n, err := s.from.Read(b)
	s.read += n
	return n, err
}
