package domain

import (
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/resource"
)

// GrantState is the state of a grant. Only active ones are effective.
type GrantState int16

// The states of a project's grant, numbered as in its contract.
const (
	GrantActive GrantState = iota + 1
	GrantInactive
)

// ProjectGrant is the right of another organization to grant some of a project's roles to its own
// users.
type ProjectGrant struct {
	resource.Record
	ID           string
	GrantedOrgID string
	RoleKeys     []string // sorted
	State        GrantState
	// Generation is raised by every deactivation, so that tokens from before stay invalid.
	Generation int64
	Answered

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
		return projectsfault.ErrProjectGrantNotActive
	}
	g.State = GrantInactive
	g.Generation++
	return nil
}

// Reactivate makes the grant effective again.
func (g *ProjectGrant) Reactivate() error {
	if g.State != GrantInactive {
		return projectsfault.ErrProjectGrantNotInactive
	}
	g.State = GrantActive
	return nil
}
