package domain

import (
	"herald/shared/fault"
	"herald/shared/resource"
)

// Faults of grants to users. What a request names beside its path is told apart from
// what it addresses.
var (
	ErrUserGrantNotFound = fault.New(fault.NotFound, "USER_GRANT_NOT_FOUND", "User grant not found")
	ErrUserGrantExists   = fault.New(fault.Exists, "USER_GRANT_EXISTS",
		"The user has a grant for the project already")
	ErrUserGrantUser    = fault.New(fault.NotFound, "USER_GRANT_USER_REMOVED", "The user has just been removed")
	ErrUserGrantProject = fault.New(fault.Precondition, "USER_GRANT_PROJECT_UNKNOWN", "The organization has no "+
		"such project").On("projectId", "is not a project of the organization")
	ErrUserGrantByGrant = fault.New(fault.Precondition, "USER_GRANT_PROJECT_GRANT_UNKNOWN", "The organization has "+
		"no such grant of the project").On("projectGrantId", "is not a grant of the project to the organization")
	ErrUserGrantNotAllowed = fault.New(fault.Precondition, "USER_GRANT_OUTDATED",
		"The project's roles or its grant have just changed; read them again")
)

// UserGrant is the roles that an organization gave a user on a project.
type UserGrant struct {
	resource.Record
	ID        string
	OrgID     string // who gave them
	UserID    string
	ProjectID string
	// ProjectGrantID is the grant by which they are given; empty on an own project.
	ProjectGrantID string
	RoleKeys       []string // sorted

	ProjectName string
}

// Assign replaces the roles; false where they are the same.
func (g *UserGrant) Assign(keys []string) bool { return assign(&g.RoleKeys, keys) }
