package domain

import (
	"herald/shared/fault"
	"herald/shared/resource"
)

// GrantState is the state of a grant. Only active ones are effective.
type GrantState int16

// The states of a project's grant, numbered as in its contract.
const (
	GrantActive GrantState = iota + 1
	GrantInactive
)

// Faults of grants to organizations.
var (
	ErrGrantNotFound = fault.New(fault.NotFound, "PROJECT_GRANT_NOT_FOUND", "Project grant not found")
	ErrGrantExists   = fault.New(fault.Exists, "PROJECT_GRANT_EXISTS", "The project is granted to the "+
		"organization already").On("grantedOrgId", "has a grant")
	ErrGrantNotActive   = fault.New(fault.Precondition, "PROJECT_GRANT_NOT_ACTIVE", "The project grant is not active")
	ErrGrantNotInactive = fault.New(fault.Precondition, "PROJECT_GRANT_NOT_INACTIVE",
		"The project grant is not inactive")
	ErrGrantToOwner = fault.New(fault.Invalid, "PROJECT_GRANT_TO_OWNER", "grantedOrgId: the organization owns the "+
		"project").On("grantedOrgId", "owns the project")
	ErrGrantedOrg = fault.New(fault.Precondition, "GRANTED_ORG_UNKNOWN", "There is no organization to grant the "+
		"project to").On("grantedOrgId", "is not an organization")
)

// ProjectGrant is the right of another organization to grant some of a project's roles to its own
// users.
type ProjectGrant struct {
	resource.Record
	ID           string
	GrantedOrgID string
	RoleKeys     []string // sorted
	State        GrantState

	// Fields of the project.
	ProjectID    string
	OrgID        string
	ProjectName  string
	ProjectState ProjectState
}

// Assign replaces the roles. It returns false if they are the same.
func (g *ProjectGrant) Assign(keys []string) bool { return assign(&g.RoleKeys, keys) }

// Deactivate makes the grant, and users' roles by it, ineffective.
func (g *ProjectGrant) Deactivate() error {
	if g.State != GrantActive {
		return ErrGrantNotActive
	}
	g.State = GrantInactive
	return nil
}

// Reactivate makes the grant effective again.
func (g *ProjectGrant) Reactivate() error {
	if g.State != GrantInactive {
		return ErrGrantNotInactive
	}
	g.State = GrantActive
	return nil
}
