package domain

import (
	"time"

	"herald/shared/gen/fault/projectsfault"
	"herald/shared/resource"
)

// AcceptanceState is what the organization to which a project is granted says to the grant.
type AcceptanceState int16

// The states of an acceptance, numbered as in its contract.
const (
	AcceptancePending AcceptanceState = iota + 1
	AcceptanceAccepted
	AcceptanceEnded
)

// Acceptance is the answer of an organization to a project that is granted to it. It is the organization's own object.
type Acceptance struct {
	resource.Record
	GrantID string
	// OrgID is the organization to which the project is granted.
	OrgID     string
	ProjectID string
	State     AcceptanceState
}

// Answer sets the state. It returns false if the acceptance has that state already.
func (a *Acceptance) Answer(s AcceptanceState) bool {
	changed := a.State != s
	a.State = s
	return changed
}

// Answered is the acceptance of a grant as lists show it. The sequence and the times are zero while it is pending.
type Answered struct {
	Acceptance          AcceptanceState
	AcceptanceSequence  int64
	AcceptanceCreatedAt time.Time
	AcceptanceChangedAt time.Time
}

// Usable returns a fault if no roles can be given by the grant.
func (g ProjectGrant) Usable() error {
	switch {
	case g.State != GrantActive:
		return projectsfault.ErrProjectGrantNotActive
	case g.Acceptance == AcceptanceEnded:
		return projectsfault.ErrProjectGrantEnded
	}
	return nil
}
