package domain

import "herald/shared/resource"

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
